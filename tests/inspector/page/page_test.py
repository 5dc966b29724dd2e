#!/usr/bin/env python3
"""page_test.py CANOPY CONFIGS PAGE [TEST...]: what a user does with the page of `canopy serve`, in a real browser.

$CANOPY_PICTURES names a folder for pictures of the ten questions.
"""

import base64
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from browser import Page, canopy_serve, folder_server, skip  # first: it skips where there is no selenium
import questions

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
        top = subprocess.run([CANOPY, "top", "--feed", FEED, "--once"], capture_output=True, text=True, check=True).stdout
        protected, evictable, owned, free = (int(number.replace(",", "")) for number in re.search(
            r"([\d,]+) protected, ([\d,]+) evictable, ([\d,]+) owned, ([\d,]+) free", top).groups())
        report = page.until(f"the figures of {top}", lambda now: (protected, evictable, owned, free) == tuple(
            now[f"{state}_pages"] for state in ("protected", "evictable", "owned", "free")))
        assert f"{report['nodes']:,} nodes" in top, (top, report)
        page.keys(" ")
        page.until("goes on", lambda now: now["commits"] > report["commits"] + 10)
        page.click(250, 168)
        node = page.until("a click selects a node", lambda report: report["node"] != 0)["node"]
        page.until_address(f"node={node}")
        engine.kill()
        engine.wait()
        page.until("gone", lambda report: report["state"] == "gone" and report["server_gone"] == 0)
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


def copied_text(page, folder):
    """Ctrl C copies the text of the panel under the mouse."""
    with folder_server(folder) as server:
        page.open(f"{server}/?open=run.feed#panel=R")
        page.until("shown", shown)
        page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite"], "origin": server})
        width, height = page.driver.execute_script("return [innerWidth, innerHeight]")
        ActionChains(page.driver).move_to_element(page.driver.find_element("id", "inspector")).perform()
        time.sleep(0.5)
        ActionChains(page.driver).key_down(Keys.CONTROL).send_keys("c").key_up(Keys.CONTROL).perform()
        end = time.monotonic() + 20
        while not (text := page.run("return navigator.clipboard.readText().catch(() => '')")).startswith("REQUESTS"):
            assert time.monotonic() < end, text
            time.sleep(0.1)
        rows = [line.split("\t") for line in text.split("\n")]
        assert ["id", "namespace", "prompt", "hit"] == next(row for row in rows if row[0] == "id")[:4], text[:400]
        assert any(row[0] == "3000" and row[1] == "tenant-5" for row in rows), text[:400]
        assert "TIMELINE" not in text and "hit rate" not in text, text


def links(page, folder):
    """An address leads to the tab in front, to the panel that fills the window and to the zoom of the timeline; back does
    not lead to the same place again; a file that is dropped does not get the view of another one."""
    with folder_server(folder) as server:
        for view in ("tab=8", "panel=8", "tab=9&panel=M", "at=500&time=1000-20000&tab=L"):
            page.open(f"{server}/?open=run.feed#{view}")
            page.until("shown", shown)
            time.sleep(1.5)
            assert page.driver.current_url.endswith(f"#{view}"), (view, page.driver.current_url)
        tabs = {"8": "TENANTS", "9": "LOCKS", "L": "NEXT TO EVICT"}
        page.open(f"{server}/?open=run.feed#tab=8")
        page.until("the tab of the address", lambda report: shown(report) and report["tab"] == tabs["8"])
        time.sleep(1.5)  # the view of the address has rested
        page.keys("9")
        page.until_address("tab=9")
        page.driver.back()
        page.until("the first tab again", lambda report: report["tab"] == tabs["8"])
        # The state that the browser remembers of the last visit is no step of its own.
        page.driver.execute_script("localStorage.setItem('canopy-inspector', 'colour = hits\\n')")
        page.open(f"{server}/page.css")
        page.driver.get(f"{server}/?open=run.feed")
        page.until_address("colour=hits")
        page.driver.back()
        end = time.monotonic() + 10
        while not page.driver.current_url.endswith("page.css"):
            assert time.monotonic() < end, page.driver.current_url
            time.sleep(0.1)
        page.open(f"{server}/?open=run.feed#at=7&panel=8")
        page.until("shown", lambda report: shown(report) and report["commits"] == 7)
        page.driver.execute_script("localStorage.clear()")
        with open(os.path.join(folder, "run.feed"), "rb") as file:
            drop(page, "dropped.feed", file.read())
        report = page.until("dropped", lambda report: shown(report) and report["name"] == "dropped.feed")
        assert report["commits"] == report["end"], report
        time.sleep(1)
        assert "run.feed" not in page.driver.current_url and "at=7" not in page.driver.current_url, page.driver.current_url
        page.driver.back()
        page.until("what was there before", lambda report: shown(report) and report["name"] == "run.feed"
                   and report["commits"] == 7)


def small_displays(page, folder):
    """A phone: one panel fills the page, a list leads to the others, a finger scrolls a list and opens a keyboard."""
    with folder_server(folder) as server:
        phone = Page(500, 900)
        try:
            command = phone.driver.execute_cdp_cmd
            command("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 3, "mobile": True})
            command("Emulation.setTouchEmulationEnabled", {"enabled": True})

            def finger(*places):
                command("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [dict(zip("xy", places[0]))]})
                for place in places[1:]:
                    time.sleep(0.05)
                    command("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [dict(zip("xy", place))]})
                command("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
                time.sleep(0.5)

            phone.open(f"{server}/?open=run.feed")
            phone.until("the tree", lambda report: shown(report) and report["panel"] == "T")
            finger((70, 108))  # the next panel
            phone.until("the next panel", lambda report: report["panel"] == "S")
            finger((30, 108))
            phone.until("the panel before", lambda report: report["panel"] == "T")
            finger((245, 158))  # the field of the search
            phone.until("the field has the keyboard", lambda _: phone.driver.execute_script(
                "return document.activeElement.id") == "keyboard")
            command("Input.insertText", {"text": "r 12"})
            phone.keys(Keys.ENTER)
            phone.until("the request that was searched", lambda report: report["request"] == 12)
            phone.open(f"{server}/?open=run.feed#panel=R")
            phone.until("requests", lambda report: shown(report) and report["panel"] == "R")
            time.sleep(0.5)
            before = phone.driver.get_screenshot_as_png()
            finger((200, 600), (200, 560), (200, 500), (200, 420))
            report = phone.report()
            assert report["request"] == 0, "a finger that scrolls selects nothing"
            assert phone.driver.get_screenshot_as_png() != before, "a finger scrolls the list"
            finger((200, 600))
            phone.until("a tap selects", lambda report: 0 < report["request"] < 2990)
        finally:
            phone.close()


def a_wrong_token(page, _):
    with canopy_serve(CANOPY, "--demo") as address:
        page.open(address[:-4] + "beef")
        page.until_notice("token")
        assert page.report().get("commits") is None, page.report()


def the_server_goes_and_comes(page, folder):
    """With the token in a file, a page attaches again by itself; with another token, the new address begins again."""
    token = ["--token-file", os.path.join(folder, "token")]
    with canopy_serve(CANOPY, "--demo", *token) as address:
        page.open(address)
        page.until("live", lambda report: report["state"] == "live" and report["commits"] > 50)
    page.until("gone", lambda report: report["state"] == "gone" and report["server_gone"] == 1)
    page.until_notice("does not answer")
    port = re.search(r":(\d+)/", address)[1]
    with canopy_serve(CANOPY, "--demo", *token, "--port", port) as again:
        assert again == address, (again, address)
        page.until("attached again", lambda report: report["state"] == "live" and report["again"] == 1)
        assert page.notice() == "", page.notice()
    with canopy_serve(CANOPY, "--demo", "--port", port) as other:
        page.until_notice("token", seconds=30)
        page.driver.get(other)  # only what is behind # differs
        page.until("the new address", lambda report: report["state"] == "live" and report["again"] == 0)


def until(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


def picture(page, name):
    """Keeps a picture, if a folder is named."""
    if "CANOPY_PICTURES" in os.environ:
        page.driver.save_screenshot(os.path.join(os.environ["CANOPY_PICTURES"], f"{name}.png"))


def back_in_a_live_feed(page, _):
    """Left goes back while the feed is read on, also after the engine's end; the next engine waits until End."""
    name = FEED + "-past"
    with canopy_serve(CANOPY, name, "--controls") as address:
        engine = subprocess.Popen(replay("--feed", name, "--pace", "20"), stdout=subprocess.DEVNULL)
        try:
            page.open(address)
            page.until("live", lambda report: report["state"] == "live" and report["requests"] > 30)
            page.keys(Keys.ARROW_LEFT)
            then = page.until("an earlier moment", lambda report: report["held"] == 1 and report["at"] < report["end"])
            later = page.until("the feed goes on", lambda report: report["end"] > then["end"] + 200)
            for what in ("at", "nodes", "commits", "hit_tokens"):
                assert later[what] == then[what], (what, then, later)
            assert later["drift"] == 0 and later["first"] <= then["at"], later
            picture(page, "past")
            page.keys(Keys.ARROW_LEFT)
            page.until("one more back", lambda report: report["at"] == then["at"] - 1)
            page.keys(" ")  # not a pause of the engine
            page.until("the present", lambda report: report["held"] == 0 and report["at"] == report["end"] and
                       report["paused"] == 0 and report["drift"] == 0)
            page.keys(Keys.ARROW_LEFT)
            page.until("an earlier moment again", lambda report: report["held"] == 1)
            engine.kill()
            engine.wait()
            page.until("gone", lambda report: report["state"] == "gone")
            engine = subprocess.Popen(replay("--feed", name, "--pace", "20"), stdout=subprocess.DEVNULL)
            time.sleep(2)
            report = page.report()
            assert report["held"] == 1 and report["again"] == 0 and report["nodes"] > 0, report
            page.keys(Keys.END)
            page.until("the next engine", lambda report: report["state"] == "live" and report["again"] == 1)
        finally:
            engine.kill()
            engine.wait()


def notes(page, folder):
    """A note outlives the page, is downloaded, and is added from a file; a wrong file is named with its place."""
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
    with folder_server(folder) as server:
        page.open(f"{server}/?open=run.feed#at=500")
        page.until("shown", lambda report: shown(report) and report["commits"] == 500)
        page.keys("m")
        page.until("marked", lambda report: report["notes"] == 1)
        page.run("while (!module.call.types()) await new Promise(go => setTimeout(go, 20));")
        page.keys("the sweep begins", Keys.ENTER)
        until("the browser keeps the note", lambda: "500 the sweep begins\n" in page.driver.execute_script(
            "return Object.values(localStorage).join()"))
        picture(page, "note")
        page.open(f"{server}/?open=run.feed#panel=K")
        page.until("kept by the browser", lambda report: shown(report) and report["notes"] == 1)
        picture(page, "notes")
        page.keys(":")
        page.run("while (!module.call.types()) await new Promise(go => setTimeout(go, 20));")
        page.keys("run.feed.notes")
        time.sleep(0.3)
        picture(page, "commands")
        page.keys(Keys.ENTER)
        copy = pathlib.Path(folder, "run.feed.notes")
        until("a copy is downloaded",
              lambda: copy.exists() and copy.read_text() == "canopy notes 1\n500 the sweep begins\n")
        drop(page, "more.notes", b"canopy notes 1\n500 another name\n800 here it ends\n")
        page.until("added", lambda report: report["notes"] == 2)
        drop(page, "wrong.notes", b"canopy notes 1\nnonsense\n")
        page.until_notice("wrong.notes:2:1: expected a commit, a space and a text, found 'nonsense'")
        page.driver.execute_script("localStorage.clear()")


def a_recording_dropped_on_a_live_page(page, folder):
    """It stays when the engine behind the page comes back."""
    name = FEED + "-left"
    with canopy_serve(CANOPY, name) as address:
        engine = subprocess.Popen(replay("--feed", name, "--pace", "20"), stdout=subprocess.DEVNULL)
        try:
            page.open(address)
            page.until("live", lambda report: report["state"] == "live" and report["commits"] > 10)
            with open(os.path.join(folder, "run.feed"), "rb") as file:
                drop(page, "dropped.feed", file.read())
            page.until("dropped", lambda report: shown(report) and report["name"] == "dropped.feed")
            engine.kill()
            engine.wait()
            engine = subprocess.Popen(replay("--feed", name, "--pace", "20"), stdout=subprocess.DEVNULL)
            time.sleep(3)
            report = page.report()
            assert report["name"] == "dropped.feed" and report["state"] == "recording", report
            page.driver.back()
            page.until("the live feed again", lambda report: report["state"] == "live" and report["name"] == name)
        finally:
            engine.kill()
            engine.wait()


def a_recording_by_its_server(page, folder):
    with canopy_serve(CANOPY, os.path.join(folder, "run.feed")) as address:
        page.open(address)
        report = page.until("shown", shown)
        assert report["drift"] == 0 and report["name"].endswith("run.feed"), report
        size = os.path.getsize(os.path.join(folder, "run.feed"))
        assert report["memory"] <= 2 * size + 200 * 2**20, f"{report['memory']} bytes for a recording of {size}"
        font = page.run("return (await (await fetch('/font.ttf')).arrayBuffer()).byteLength;")
        assert 20_000 < font < 60_000, f"a font of {font} bytes: it has more letters than the page draws"


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
        # The row of the panel's title, wherever the button stands in it: from the left, since others stand right of it.
        end = time.monotonic() + 90
        for x in itertools.cycle(range(350, 470, 14)):
            for y in range(int(0.35 * height), int(0.5 * height), 10):
                page.click(x, y)
            time.sleep(1)
            if os.path.exists(target):
                break
            assert time.monotonic() < end, f"no file in {os.listdir(folder)}, page {width} x {height}"
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
    """At each zoom of the browser a pixel of the canvas is one of the display."""
    with folder_server(folder) as server:
        for density in (2, 1.25, 1.1, 0.67, 0.25):
            dense = Page(1000, 800, density=density)
            try:
                dense.open(f"{server}/?open=run.feed")
                dense.until(f"shown at {density}", shown)
                sizes = dense.run("const canvas = document.getElementById('inspector');"
                                  "const box = await new Promise(go => new ResizeObserver(seen => "
                                  "go(seen[0].devicePixelContentBoxSize[0])).observe(canvas, {box: 'device-pixel-content-box'}));"
                                  "return [[canvas.width, canvas.height], [box.inlineSize, box.blockSize]];")
                assert sizes[0] == sizes[1], (density, sizes)
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
        for name in ("inspector.wasm", "font.ttf"):
            shutil.copy(os.path.join(PAGE, name), folder)
        record(folder)
        try:
            for test in (a_recording_by_its_server, notes, time_and_address, links, copied_text, downloads, touch, dense_displays,
                         small_displays, dropped_files, two_recordings, ten_questions, damaged_recordings, a_live_feed, back_in_a_live_feed,
                         a_recording_dropped_on_a_live_page, servers_of_an_events_feed, a_wrong_token,
                         the_server_goes_and_comes):
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
