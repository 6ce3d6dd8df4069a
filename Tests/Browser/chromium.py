"""Drives a headless Chromium with its DevTools protocol over a pipe; needs only Python and Chromium."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

# Chromium reads the protocol from descriptor 3 and writes it to 4; each message ends with a NUL.
READS, WRITES = 3, 4


class Chromium:
    """A browser with one page. `requests` has what it loaded, `messages` its console messages, errors and dialogs."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.mkdtemp(prefix="reel-chromium-")
        (to_read, self.output), (self.input, to_write) = os.pipe(), os.pipe()
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio", "--hide-scrollbars",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--autoplay-policy=no-user-gesture-required", "--remote-debugging-pipe",
            "--force-color-profile=srgb", "--disable-dev-shm-usage", "--user-data-dir=" + self.profile,
        ]

        def give_pipes():
            # Duplicate both first, because one may have the number that the other needs.
            reads, writes = os.dup(to_read), os.dup(to_write)
            os.dup2(reads, READS)
            os.dup2(writes, WRITES)

        self.process = subprocess.Popen(
            [program, *arguments], preexec_fn=give_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.next, self.session = b"", 1, None
        self.requests, self.messages = [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.send(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    # The protocol

    def send(self, method, **parameters):
        number, self.next = self.next, self.next + 1
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.input, 1 << 16)
            if not part:
                raise RuntimeError("chromium has ended")
            self.buffer += part
        data, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(data)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, facts):
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.messages.append(" ".join(str(part.get("value", part.get("description"))) for part in facts["args"]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(facts["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.messages.append(facts["entry"]["text"] + " " + facts["entry"].get("url", ""))
        elif method == "Page.javascriptDialogOpening":
            self.messages.append("a dialog: " + facts["message"])

    # The page

    def size(self, width, height, touch=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.send("Emulation.setTouchEmulationEnabled", enabled=touch)

    def media(self, **features):
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=named)

    def open(self, address):
        # Through about:blank, because a change of the fragment alone does not reload a page.
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)
        self.until("document.readyState === 'complete'", address)

    def run(self, script):
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", script))
        return result["result"].get("value")

    def until(self, condition, what=None, seconds=40):
        """Waits until a condition in the page is true; raises if it does not become true in time."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what or condition}")
            time.sleep(0.02)

    def key(self, key, code=0):
        text = key if len(key) == 1 else ""
        for kind in ["keyDown", "keyUp"]:
            facts = {"type": kind, "key": key, "windowsVirtualKeyCode": code}
            if text and kind == "keyDown":
                facts["text"] = text
            self.send("Input.dispatchKeyEvent", **facts)

    def wheel(self, x, y, amount):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=amount)

    def swipe(self, x, y, amount):
        """Moves a finger `amount` pixels down, in sixteen steps."""
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        for step in range(1, 17):
            points = [{"x": x, "y": y + amount * step / 16}]
            self.send("Input.dispatchTouchEvent", type="touchMove", touchPoints=points)
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def click(self, selector):
        place = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        for kind in ["mousePressed", "mouseReleased"]:
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def picture(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
