"""A headless Chromium, steered by the W3C WebDriver protocol: Debian's chromium and chromium-driver."""

import base64
import contextlib
import json
import os
import re
import subprocess
import urllib.request

from trawl_testing import Failure, program, wait_until

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in the protocol's JSON
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-quic", "--disable-dev-shm-usage", "--window-size=1280,900"]


class Browser:
    """`arguments` are more of Chromium's command line; `logs_network` is for network()."""

    def __init__(self, directory, *arguments, logs_network=False):
        chromium = program("chromium", "chromium")
        driver = program("chromedriver", "chromium-driver")
        profile = directory / "browser-profile"
        profile.mkdir(parents=True)
        self.log = directory / "chromedriver.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [driver, "--port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "HOME": str(profile)})
        self.session = None
        try:
            wait_until(self._port, "chromedriver to listen", 20)
            self.root = f"http://127.0.0.1:{self._port()}/session"
            answer = self._call("POST", "", {"capabilities": {"alwaysMatch": {
                "goog:loggingPrefs": {"browser": "ALL",
                                      **({"performance": "ALL"} if logs_network else {})},
                "goog:chromeOptions": {"binary": chromium,
                                       "args": [*OPTIONS, *arguments, f"--user-data-dir={profile}"]}}}})
            self.session = answer["sessionId"]
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _port(self):
        if self.process.poll() is not None:
            raise Failure(f"chromedriver ended\n{self.log.read_text()}")
        found = re.search(r"successfully on port (\d+)", self.log.read_text(errors="replace"))
        return found and found[1]

    def _call(self, method, path, body=None):
        session = f"/{self.session}" if self.session else ""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + session + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failure(f"the browser: {error.read().decode(errors='replace')[:500]}") from None

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What the body of a JavaScript function returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        """The text of the first such element; None if there is none."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def click(self, selector):
        """As a person clicks: the element must be visible, and nothing above it."""
        element = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{element[ELEMENT]}/click", {})

    def write(self, selector, text):
        element = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{element[ELEMENT]}/clear", {})
        self._call("POST", f"/element/{element[ELEMENT]}/value", {"text": text})

    def devtools(self, command, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def colours(self, scheme):
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def width(self, pixels, height=900):
        self.devtools("Emulation.setDeviceMetricsOverride", width=pixels, height=height,
                      deviceScaleFactor=1, mobile=False)

    def console(self):
        """The messages on the console since the last call."""
        return [f"{entry['level']}: {entry['message']}"
                for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def network(self):
        """The events of DevTools' domain Network since the last call: method and parameters."""
        messages = [json.loads(entry["message"])["message"]
                    for entry in self._call("POST", "/se/log", {"type": "performance"})]
        return [(message["method"], message["params"]) for message in messages
                if message["method"].startswith("Network.")]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def stop(self):
        if self.session:
            with contextlib.suppress(Failure, OSError):
                self._call("DELETE", "")
        self.process.terminate()
        self.process.wait(20)
