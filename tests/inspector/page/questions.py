"""The ten questions of docs/inspector.md, asked of the page: presses the keys that the document names, and measures."""

import os
import re
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


def questions_of(document):
    """Yields each question with its keys."""
    with open(document) as file:
        section = file.read().split("\n## Ten questions\n")[1].split("\n## ")[0]
    for question, keys in re.findall(r"^\| ([^|]+\?) \|([^|]*)\|", section, re.MULTILINE):
        yield question, re.findall(r"`([^`]+)`", keys)


def press(page, key):
    if key == "drag":  # over the timeline
        canvas = page.driver.find_element("id", "inspector")
        ActionChains(page.driver).move_to_element_with_offset(canvas, -200, 20).click_and_hold().move_by_offset(
            50, 0).move_by_offset(150, 0).release().perform()
    else:
        page.keys(getattr(Keys, key.upper()) if len(key) > 1 and key.isalpha() else key)


def is_answered(keys, report):
    """Returns true if the page is where the keys lead."""
    tabs = {"8": "TENANTS", "9": "LOCKS", "L": "NEXT TO EVICT"}
    if "/" in keys:
        return report["request"] == int(keys[1].split()[1])
    if "drag" in keys:
        return report["range"] > 0
    if keys == ["S"] or len(keys) == 2:  # the panel fills the window
        return str(report["panel"]) == keys[0]
    return report["tab"] == tabs.get(keys[0] if keys else "", "POOL")


def ask(page, address, document, pictures=None):
    """Asks each question of a page that is opened for it. Yields the question, the seconds to the first picture, and from
    there to the answer's."""
    for number, (question, keys) in enumerate(questions_of(document), 1):
        began = time.monotonic()
        page.open(address)
        page.until("the first picture", lambda report: report["state"] in ("live", "recording") and not report["loading"]
                   and report["frames"] > 1)
        shown = time.monotonic()
        for key in keys:
            press(page, key)
        page.until(question, lambda report: is_answered(keys, report))
        answered = time.monotonic()
        if pictures:
            time.sleep(0.3)
            page.driver.save_screenshot(os.path.join(pictures, f"question-{number}.png"))
        yield question, shown - began, answered - shown
