#!/usr/bin/env python3
"""page_test.py CANOPY CONFIGS PAGE [TEST...]: what a user does with the page of `canopy serve`, in a real browser.

$CANOPY_PICTURES names a folder for pictures of the ten questions.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import questions
from browser import Page, canopy_serve, folder_server, skip

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

CANOPY, CONFIGS, PAGE = sys.argv[1:4]
FEED = f"page-test-{os.getpid()}"


def replay(*arguments):
    return [CANOPY, "replay", f"{CONFIGS}/engines/lru.yaml", "--workload", f"{CONFIGS}/workloads/mixed.yaml",
            "--capacity", "60k", "--no-content", *arguments]


def record(folder):
    path = os.path.join(folder, "run.feed")
    subprocess.run(replay("--record", path), check=True, stdout=subprocess.DEVNULL)
    return path


def shown(report):
    return report["state"] == "recording" and not report["loading"] and report["frames"] > 3


def a_live_feed(page, _):
    """Attach, compare with canopy top, select, kill the engine, start it again."""
    with canopy_serve(CANOPY, FEED, "--controls") as address:
        page.open(address)
        page.until("waiting", lambda report: report is not None)
        engine = subprocess.Popen(replay("--feed", FEED, "--pace", "20"), stdout=subprocess.DEVNULL)
        report = page.until("live", lambda report: report["state"] == "live" and report["requests"] > 20)
        assert report["drift"] == 0 and report["nodes"] > 0, report
        page.keys(" ")  # nothing moves while two readers are compared
        page.until("paused", lambda report: report["paused"] == 1)
        time.sleep(0.3)
        report = page.report()
        top = subprocess.run([CANOPY, "top", "--feed", FEED, "--once"], capture_output=True, text=True, check=True).stdout
        protected, evictable, owned, free = (int(number.replace(",", "")) for number in re.search(
            r"([\d,]+) protected, ([\d,]+) evictable, ([\d,]+) owned, ([\d,]+) free", top).groups())
        assert (protected, evictable, owned, free) == tuple(
            report[f"{state}_pages"] for state in ("protected", "evictable", "owned", "free")), (top, report)
        assert f"{report['nodes']:,} nodes" in top, (top, report)
        page.keys(" ")
        page.until("goes on", lambda now: now["commits"] > report["commits"] + 10)
        page.click(250, 168)
        node = page.until("a click selects a node", lambda report: report["node"] != 0)["node"]
        page.until_address(f"node={node}")
        engine.kill()
        engine.wait()
        page.until("gone", lambda report: report["state"] == "gone")
        commits = page.report()["commits"]
        assert commits > 0, "the last picture stays"
        engine = subprocess.Popen(replay("--feed", FEED, "--pace", "20"), stdout=subprocess.DEVNULL)
        try:
            page.until("attached again", lambda report: report["state"] == "live" and report["again"] == 1)
        finally:
            engine.kill()
            engine.wait()


def servers_of_an_events_feed(page, folder):
    """Their events come through `canopy events attach`: the page says which server has gone, and that it is there again."""
    endpoint = f"ipc://{folder}/events"
    attach = subprocess.Popen([CANOPY, "events", "attach", endpoint, "--feed", FEED + "-events"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = None
    try:
        with canopy_serve(CANOPY, FEED + "-events") as address:
            page.open(address)
            for _ in range(2):
                server = subprocess.Popen(replay("--publish", endpoint, "--await", "--pace", "20"), stdout=subprocess.DEVNULL)
                page.until("live", lambda report: report["state"] == "live" and report["servers_lost"] == 0
                           and report["nodes"] > 3)
                server.kill()
                server.wait()
                page.until("the server has gone", lambda report: report["servers_lost"] == 1)
                assert page.report()["nodes"] > 3, "the last state stays"
    finally:
        for process in (attach, server):
            if process:
                process.kill()
                process.wait()


def a_wrong_token(page, _):
    with canopy_serve(CANOPY, "--demo") as address:
        page.open(address[:-4] + "beef")
        page.until_notice("token")
        assert page.report().get("commits") is None, page.report()


def the_server_goes_and_comes(page, _):
    with canopy_serve(CANOPY, "--demo") as address:
        page.open(address)
        page.until("live", lambda report: report["state"] == "live" and report["commits"] > 50)
    page.until("gone", lambda report: report["state"] == "gone")
    page.until_notice("does not answer")


def a_recording_by_its_server(page, folder):
    with canopy_serve(CANOPY, os.path.join(folder, "run.feed")) as address:
        page.open(address)
        report = page.until("shown", shown)
        assert report["drift"] == 0 and report["name"].endswith("run.feed"), report
        size = os.path.getsize(os.path.join(folder, "run.feed"))
        assert report["memory"] <= 2 * size + 200 * 2**20, f"{report['memory']} bytes for a recording of {size}"


def time_and_address(page, folder):
    """The keyboard, the wheel, and an address that leads to the same view."""
    with folder_server(folder) as server:
        page.open(f"{server}/?open=run.feed#at=500&colour=hits&panel=R")
        report = page.until("the moment of the address", lambda report: shown(report) and report["commits"] == 500)
        page.keys(Keys.ARROW_LEFT)
        page.until("one commit back", lambda report: report["commits"] == 499)
        page.until_address("at=499")
        page.keys(Keys.HOME)
        page.until("the first commit", lambda report: report["commits"] == 1)
        page.until_address("at=1&")
        page.driver.back()
        page.until("back", lambda report: report["commits"] == 499)
        page.driver.forward()
        page.until("forward", lambda report: report["commits"] == 1)
        page.keys(Keys.END)
        page.until("the end", lambda report: report["commits"] == report["end"])
        page.keys(Keys.ESCAPE)  # all panels
        # A search with the keyboard, and one whose words are pasted.
        page.keys("/")
        page.keys("r 12")
        page.keys(Keys.ENTER)
        page.until("the request that was searched", lambda report: report["request"] == 12)
        page.until_address("request=12")
        link = page.driver.current_url
        page.open(link)
        page.until("a colleague's view", lambda report: shown(report) and report["request"] == 12)
        page.keys("/")
        page.run("while (!module.call.types()) await new Promise(go => setTimeout(go, 20));"
                 "const data = new DataTransfer(); data.setData('text', 'r 13');"
                 "dispatchEvent(new ClipboardEvent('paste', {clipboardData: data}));")
        page.keys(Keys.ENTER)
        page.until("the request that was pasted", lambda report: report["request"] == 13)
        page.keys(Keys.ESCAPE)
        page.until("nothing is selected", lambda report: report["request"] == 0)
        canvas = page.driver.find_element("id", "inspector")
        # A range, dragged on the timeline, is in the address too.
        ActionChains(page.driver).move_to_element_with_offset(canvas, -200, 20).click_and_hold().move_by_offset(
            50, 0).move_by_offset(150, 0).release().perform()
        page.until_address("range=")
        page.open(page.driver.current_url)
        page.until("shown again", shown)
        time.sleep(1)
        assert "range=" in page.driver.current_url, page.driver.current_url
        page.keys(Keys.ESCAPE)
        before = page.driver.get_screenshot_as_png()
        canvas = page.driver.find_element("id", "inspector")
        ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(canvas, -300, -250), 0, -400).perform()
        time.sleep(0.5)
        assert page.driver.get_screenshot_as_png() != before, "the wheel zooms the tree"


def downloads(page, folder):
    """The button CSV of the timeline gives a file, and the key s a picture."""
    with folder_server(folder) as server:
        page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
        page.open(f"{server}/?open=run.feed")
        page.until("shown", shown)
        time.sleep(0.5)
        target = os.path.join(folder, "canopy-timeline.csv")
        width, height = page.driver.execute_script("return [innerWidth, innerHeight]")
        # The row of the panel's title, wherever the button stands in it. On a busy machine two clicks may come in one frame,
        # which sees the place of the second one: then more slowly again.
        end = time.monotonic() + 90
        pause = 0.05
        while not os.path.exists(target):
            assert time.monotonic() < end, f"no file in {os.listdir(folder)}, page {width} x {height}"
            for y in range(int(0.35 * height), int(0.5 * height), 10):
                page.click(362, y)
                time.sleep(pause)
            time.sleep(1)
            pause *= 4
        with open(target) as file:
            assert "," in file.readline()
        page.keys("s")
        picture = os.path.join(folder, "canopy-picture.png")
        while not os.path.exists(picture):
            assert time.monotonic() < end + 30, f"no picture in {os.listdir(folder)}"
            time.sleep(0.05)
        with open(picture, "rb") as file:
            head = file.read(24)
        size = page.driver.execute_script("const c = document.getElementById('inspector'); return [c.width, c.height];")
        assert head[:8] == b"\x89PNG\r\n\x1a\n", head
        assert [int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")] == size, (head, size)


def touch(page, folder):
    """Two fingers zoom the tree."""
    with folder_server(folder) as server:
        page.open(f"{server}/?open=run.feed")
        page.until("shown", shown)
        time.sleep(0.5)
        before = page.driver.get_screenshot_as_png()

        def fingers(kind, *places):
            page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {
                "type": kind, "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]})

        fingers("touchStart", (400, 200))
        fingers("touchStart", (400, 200), (440, 200))
        for step in range(1, 8):
            fingers("touchMove", (400 - 20 * step, 200), (440 + 20 * step, 200))
        fingers("touchEnd")
        time.sleep(0.5)
        assert page.driver.get_screenshot_as_png() != before, "a pinch zooms the tree"
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart",
                                                                 "touchPoints": [{"x": 250, "y": 168}]})
        fingers("touchEnd")
        page.until("a tap selects", lambda report: report["node"] != 0)


def dense_displays(page, folder):
    with folder_server(folder) as server:
        dense = Page(900, 700, density=2)
        try:
            dense.open(f"{server}/?open=run.feed")
            dense.until("shown", shown)
            width, css = dense.driver.execute_script(
                "const c = document.getElementById('inspector'); return [c.width, c.clientWidth];")
            assert width == 2 * css, (width, css)
        finally:
            dense.close()


def drop(page, name, content, shift=False):
    """Drops a file onto the page."""
    page.run("const bytes = Uint8Array.from(atob(arguments[1]), c => c.charCodeAt(0)), data = new DataTransfer();"
             "data.items.add(new File([bytes], arguments[0]));"
             "dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true, shiftKey: arguments[2]}));".replace(
                 "arguments[2]", json.dumps(shift)).replace(
                 "arguments[1]", json.dumps(base64.b64encode(content).decode())).replace("arguments[0]", json.dumps(name)))


def dropped_files(page, folder):
    with open(os.path.join(folder, "run.feed"), "rb") as file:
        whole = file.read()
    with folder_server(folder) as server:
        page.open(server)
        page.until_notice("Drop a recording")
        drop(page, "notes.txt", b"hello" * 2000)
        page.until_notice("this is not a recording of a feed")
        drop(page, "header.feed", whole[:3000])
        page.until_notice("too short")
        drop(page, "run.feed", whole)
        commits = page.until("a dropped recording", shown)["commits"]
        assert page.notice() == "", page.notice()
        drop(page, "<b>old</b>.feed", whole[:7] + b"2" + whole[8:])
        page.until_notice("<b>old</b>.feed: it is a feed of another version")
        assert page.report()["commits"] == commits, "what was shown stays"
        page.open(f"{server}/?open=nothing.feed")
        page.until_notice("404")
        page.open(f"{server}/?open=https://example.org/x.feed")
        page.until_notice("must be on the server of the page")


def two_recordings(page, folder):
    """Beside each other, by the address and by a second drop; a second one that is none leaves the first as it is."""
    other = os.path.join(folder, "other.feed")
    subprocess.run(replay("--set", "groups.full.eviction=fifo", "--record", other), check=True, stdout=subprocess.DEVNULL)
    with folder_server(folder) as server:
        page.open(f"{server}/?open=run.feed&beside=other.feed")
        assert page.until("both", lambda report: shown(report) and report["beside"] != "")["beside"] == "other.feed"
        assert page.notice() == "", page.notice()
        page.until_address("panel=0")
        page.open(f"{server}/?open=run.feed&beside=nothing.feed")
        page.until_notice("404")
        page.until("the first stays", lambda report: shown(report) and report["beside"] == "")
        with open(other, "rb") as file:
            whole = file.read()
        drop(page, "header.feed", whole[:4096], shift=True)
        page.until_notice("no whole operation")
        assert page.report()["name"] == "run.feed"
        drop(page, "dropped.feed", whole, shift=True)
        page.until("a second drop", lambda report: report["beside"] == "dropped.feed" and report["name"] == "run.feed")
        drop(page, "alone.feed", whole)
        page.until("a drop without Shift", lambda report: shown(report) and report["name"] == "alone.feed")


def ten_questions(page, folder):
    """Each is answered after the keys of the document."""
    document, pictures = os.path.join(CONFIGS, "..", "docs", "inspector.md"), os.environ.get("CANOPY_PICTURES")
    with canopy_serve(CANOPY, os.path.join(folder, "run.feed")) as address:
        answers = list(questions.ask(page, address, document, pictures))
    assert len(answers) == 10, answers
    for question, first, then in answers:
        print(f"  {first:.1f} s + {then:.1f} s  {question}")


def damaged_recordings(page, folder):
    """Cut at each byte around a commit, and with each byte of some events changed: never a trap, always a sentence or a
    picture."""
    with folder_server(folder) as server:
        page.open(f"{server}/?open=run.feed")
        page.until("shown", shown)
        result = page.run("""
            const {call, returned, taken} = module;
            const whole = new Uint8Array(await (await fetch('/run.feed')).arrayBuffer()).slice(0, 4096 + 32 * 3000);
            let shown = 0, refused = 0, now = 1000;
            const look = bytes => {
              const why = returned(call.open(...taken(bytes), ...taken('damaged')));
              if (why !== null) { ++refused; return; }
              for (let i = 0; i < 2; ++i) call.frame(1200, 800, 1, ++now);
              ++shown;
            };
            for (let size = 4000; size < 4096 + 12 * 32; ++size) look(whole.slice(0, size));
            let random = 12345;
            const next = () => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) / 2 ** 32;
            for (let round = 0; round < 120; ++round) {
              const bytes = whole.slice();
              for (let i = 0; i < 4; ++i) bytes[Math.floor(4096 * (next() < 0.2 ? 0.02 : 1) + next() * (whole.length - 4096))] = next() * 256;
              look(bytes);
            }
            return [shown, refused];""")
        assert isinstance(result, list), result
        assert result[0] > 400 and result[1] > 90, result
        page.open(f"{server}/?open=run.feed")
        page.until("shown again", shown)


def main():
    if not os.path.exists(os.path.join(PAGE, "inspector.wasm")):
        skip("this build has no page (scripts/install web)")
    page = Page()
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(os.environ["CANOPY_PAGE_SCRIPTS"]):
            if name.endswith((".js", ".css", ".html")):
                shutil.copy(os.path.join(os.environ["CANOPY_PAGE_SCRIPTS"], name), folder)
        shutil.copy(os.path.join(PAGE, "inspector.wasm"), folder)
        shutil.copy(os.environ["CANOPY_PAGE_FONT"], os.path.join(folder, "font.ttf"))
        record(folder)
        try:
            for test in (a_recording_by_its_server, time_and_address, downloads, touch, dense_displays, dropped_files,
                         two_recordings, ten_questions, damaged_recordings, a_live_feed, servers_of_an_events_feed, a_wrong_token, the_server_goes_and_comes):
                if len(sys.argv) > 4 and test.__name__ not in sys.argv[4:]:
                    continue
                began = time.monotonic()
                test(page, folder)
                print(f"{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)
            severe = [line for line in page.driver.get_log("browser") if line["level"] == "SEVERE"
                      and "404" not in line["message"] and "WebSocket" not in line["message"]]
            assert not severe, severe
        finally:
            page.close()


main()
