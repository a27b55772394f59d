"""Chromium without a window, spoken to over its pipe: the DevTools protocol, as much of it as the tests need."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Page", "browser", "executable"]

PATIENCE = 60.0  # [s] for any one answer; a machine that is busy is slow, not wrong
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# no sandbox: containers do not offer what it needs, and the only page opened is our own
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
)  # fmt: skip


def executable() -> str | None:
    """Where Chromium is, if it is anywhere."""
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path), None)


class Browser:
    """Requests and answers, each JSON and a zero byte, over file descriptors 3 and 4 of the browser."""

    def __init__(self, path: str, profile: str) -> None:
        requests, self._send = os.pipe()
        self._receive, answers = os.pipe()

        def pipes() -> None:
            kept = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (requests, answers)]  # they may be 3 or 4 themselves
            for end, number in zip(kept, (3, 4), strict=True):
                os.dup2(end, number)

        self._process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={profile}"], preexec_fn=pipes, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(requests)
        os.close(answers)
        self._rest = b""
        self._number = 0
        self.pages: dict[str, Page] = {}

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """The answer to one request; events that come before it go to their pages."""
        self._number += 1
        request = {
            "id": self._number,
            "method": method,
            "params": params,
            **({"sessionId": session} if session else {}),
        }
        left = memoryview(json.dumps(request).encode() + b"\0")
        while left:
            left = left[os.write(self._send, left) :]
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            page = self.pages.get(answer.get("sessionId", ""))
            if page and "method" in answer:
                page.heard(answer["method"], answer["params"])

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._receive], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium has not answered for {PATIENCE:g} s")
            piece = os.read(self._receive, 1 << 20)
            if not piece:
                raise ConnectionError("Chromium has ended")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def close(self) -> None:
        os.close(self._send)  # what ends it
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._receive)


class Page:
    """One tab: ``errors`` it reported, ``addresses`` it asked for."""

    def __init__(self, browser: Browser, width: int, height: int, *, dark: bool = False) -> None:
        self._browser = browser
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        browser.pages[self._session] = self
        self.errors: list[str] = []
        self.addresses: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.scheme(dark)
        self.resize(width, height)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def heard(self, event: str, params: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.addresses.append(params["request"]["url"])

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)  # fmt: skip

    def scheme(self, dark: bool) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[feature])

    def paper(self) -> None:
        """Show the page as it is printed."""
        self.call("Emulation.setEmulatedMedia", media="print")

    def open(self, path: Path) -> None:
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, script: str) -> Any:
        """The value of an expression, awaited where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"not true after {PATIENCE:g} s: {condition}; errors: {self.errors}")
            time.sleep(0.02)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at one place of the window, move to another, release."""
        points = [start, tuple(0.5 * (a + b) for a, b in zip(start, end, strict=True)), end]
        for kind, (x, y) in zip(("mousePressed", "mouseMoved", "mouseMoved"), points, strict=True):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """A PNG of the page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """The printed page."""
        shot = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    """Chromium with a profile of its own, ended afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        found = Browser(path, profile)
        try:
            yield found
        finally:
            found.close()
