"""A Chromium without a window, which is driven as people do: by keys, the mouse and their eyes."""

import base64
import contextlib
import fcntl
import json
import os
import subprocess
import time

# Keys that are not characters: their numbers in Windows, and what they type.
KEYS = {
    "Backspace": (8, ""),
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "PageUp": (33, ""),
    "PageDown": (34, ""),
    "End": (35, ""),
    "Home": (36, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
}
CONTROL, SHIFT = 2, 8  # bits of what is held
# The middle of an element, once it is in view.
PLACE = """(() => {{
  const element = document.querySelector({selector});
  element.scrollIntoView({{ block: "nearest", inline: "nearest" }});
  const box = element.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}})()"""


class Browser(contextlib.ExitStack):
    """One page of Chromium, which speaks its protocol of development over pipes.

    Parameters
    ----------
    command : list of str
        That starts it.
    """

    def __init__(self, command):
        super().__init__()
        self._n_calls, self._session, self._rest = 0, {}, b""
        self.problems = []  # uncaught errors of the page, and what its policy forbids
        (read, out), (into, write) = os.pipe(), os.pipe()
        # It reads what has number 3, and writes to number 4.
        pipes = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (into, out)]
        shell = ["bash", "-c", 'exec "${@:3}" 3<&$1 4>&$2', "bash", *map(str, pipes)]
        process = subprocess.Popen(
            [*shell, *command, "--remote-debugging-pipe"],
            pass_fds=pipes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.enter_context(process)
        self.callback(process.terminate)
        for pipe in (into, out, *pipes):
            os.close(pipe)
        self._read, self._write = read, write
        for pipe in (read, write):
            self.callback(os.close, pipe)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": answer["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Call a method of the protocol, and return its result."""
        number = self._send(method, params)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _send(self, method, params):
        self._n_calls += 1
        message = {"id": self._n_calls, "method": method, "params": params} | self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._n_calls

    def _receive(self):
        while b"\0" not in self._rest:
            read = os.read(self._read, 2**20)
            if not read:
                raise RuntimeError("The browser has ended.")
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def _note(self, event):
        """Note an error of the page, and leave it if it asks whether it may be left."""
        params = event.get("params", {})
        if event.get("method") == "Page.javascriptDialogOpening":
            self._send("Page.handleJavaScriptDialog", {"accept": True})
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"]["exception"]["description"])
        if event.get("method") == "Log.entryAdded" and params["entry"]["source"] != "network":
            self.problems.append(params["entry"]["text"])

    def show(self, width, height, scheme="light"):
        """Make the window as large as given, with light or dark colours."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def ask(self, code):
        """Evaluate JavaScript on the page, and return its value."""
        options = {"awaitPromise": True, "returnByValue": True}
        answer = self.call("Runtime.evaluate", expression=code, **options)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, code, seconds=100):
        """Wait until JavaScript is true on the page."""
        end = time.monotonic() + seconds
        while not self.ask(f"Boolean({code})"):
            if time.monotonic() > end:
                text = self.ask("document.body.innerText")
                raise TimeoutError(f"It is never true: {code}. The page says: {text}")
            time.sleep(0.005)

    def press(self, *names):
        """Press keys, such as "a", "Enter" or "Ctrl+Enter"."""
        for name in names:
            *held, key = name.split("+") if len(name) > 1 else [name]
            number, text = KEYS.get(key, (ord(key[0].upper()), key))
            code = f"Key{key.upper()}" if key.isalpha() and key not in KEYS else key
            bits = CONTROL * ("Ctrl" in held) + SHIFT * ("Shift" in held or key.isupper())
            keys = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": bits}
            typed = {"text": text} if text and "Ctrl" not in held else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", **keys, **typed)
            self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def click(self, selector):
        """Click the middle of the first element that a selector finds."""
        x, y = self.ask(PLACE.format(selector=json.dumps(selector)))
        for kind in ("mousePressed", "mouseReleased"):
            mouse = {"type": kind, "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", x=x, y=y, **mouse)

    def picture(self):
        """Return a picture of the window, as a PNG file has it."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])
