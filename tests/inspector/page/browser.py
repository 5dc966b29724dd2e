"""The page of `canopy serve` in a Chromium without a display, driven as a person would."""

import contextlib
import functools
import http.server
import os
import re
import subprocess
import sys
import threading
import time


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
except ImportError:
    skip("python3-selenium is not installed (scripts/install all)")
for tool in ("/usr/bin/chromium", "/usr/bin/chromedriver"):
    if not os.path.exists(tool):
        skip(f"{tool} is not installed (scripts/install all)")


class Page:
    """One tab. `report` is what the page says of itself (page.js)."""

    def __init__(self, width=1600, height=1000, density=1):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader", "--use-gl=angle",
                         "--use-angle=swiftshader", f"--window-size={width},{height}",
                         f"--force-device-scale-factor={density}"] + (["--no-sandbox"] if os.geteuid() == 0 else []):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(120)

    def open(self, address):
        self.driver.get("about:blank")  # a change behind # alone would not load the page again
        self.driver.get(address)

    def report(self):
        return self.driver.execute_script("return window.canopy ? window.canopy.report() : {}")

    def notice(self):
        """The message on the page; empty if there is none."""
        return self.driver.execute_script("const n = document.getElementById('notice');"
                                          "return n.hidden ? '' : n.innerText")

    def until(self, what, condition, seconds=30):
        """Waits until the report fulfils a condition, and returns it."""
        end = time.monotonic() + seconds
        while True:
            report = self.report()
            with contextlib.suppress(KeyError):
                if condition(report):
                    return report
            if time.monotonic() > end:
                report.pop("frame_ms", None)
                raise AssertionError(f"{what}: not within {seconds} s; report {report}, notice {self.notice()!r}, "
                                     f"console {self.driver.get_log('browser')[-5:]}")
            time.sleep(0.03)

    def until_notice(self, words, seconds=15):
        end = time.monotonic() + seconds
        while words not in self.notice():
            assert time.monotonic() < end, f"expected a notice with {words!r}, got {self.notice()!r}"
            time.sleep(0.03)

    def until_address(self, words, seconds=10):
        end = time.monotonic() + seconds
        while words not in self.driver.current_url:
            assert time.monotonic() < end, f"expected an address with {words!r}, got {self.driver.current_url!r}"
            time.sleep(0.03)

    def frame(self):
        """Waits until the page has drawn again; if it has nothing to draw, a second."""
        seen, end = self.report()["frames"], time.monotonic() + 1
        while self.report()["frames"] == seen and time.monotonic() < end:
            time.sleep(0.01)

    def click(self, x, y):
        """Clicks a place of the page, in its own pixels. The page looks at the mouse once a frame, so each step has one."""
        canvas = self.driver.find_element("id", "inspector")
        size = canvas.size
        mouse = lambda: ActionChains(self.driver)
        for step in (mouse().move_to_element_with_offset(canvas, x - size["width"] // 2, y - size["height"] // 2),
                     mouse().click_and_hold(), mouse().release()):
            step.perform()
            self.frame()

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def run(self, script, *arguments):
        """Runs a script that may wait, with the page's own modules: `module` has call, taken and returned."""
        return self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"(async () => {{ const module = await import('/module.js'); {script} }})()"
            ".then(done, error => done('error: ' + error));", *arguments)

    def close(self):
        self.driver.quit()


@contextlib.contextmanager
def folder_server(folder):
    """Any web server: a folder of files on loopback. Yields its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


@contextlib.contextmanager
def canopy_serve(program, *arguments):
    """`canopy serve`. Yields the address that it prints."""
    port = [] if "--port" in arguments else ["--port", "0"]
    process = subprocess.Popen([program, "serve", *port, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        if "scripts/install web" in line:
            skip(line.strip())
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{32}\n", line), line
        yield line.strip()
    finally:
        process.terminate()
        process.wait(10)
