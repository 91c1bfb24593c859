"""chrome.py - a headless Chromium driven over its DevTools websocket, with the standard library only.

Chrome starts and ends the browser; Page is one tab: evaluate, click, type, keys, screenshots, and records of what a test
wants to count: requests, console errors, dialogs, violations of the content policy.
"""
import base64
import json
import os
import queue
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request


def find():
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        path = name and shutil.which(name)
        if path:
            return path
    return None


#: Seconds, against hanging only: a machine may be slow, and busy.
PATIENCE = 600


class Chrome:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ascribe-browser-")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
             "--no-proxy-server", "--disable-extensions", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", "--disable-features=Translate,OptimizationHints,MediaRouter", "--mute-audio",
             "--force-color-profile=srgb", "--remote-debugging-port=0", "--user-data-dir=" + self.folder, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = os.path.join(self.folder, "DevToolsActivePort")
        end = time.time() + PATIENCE
        while not (os.path.exists(port_file) and open(port_file).read().count("\n") >= 1):
            if time.time() > end or self.process.poll() is not None:
                self.close()
                raise RuntimeError("chromium did not start")
            time.sleep(0.05)
        self.port = int(open(port_file).read().split()[0])

    def page(self):
        request = urllib.request.Request("http://127.0.0.1:%d/json/new?about:blank" % self.port, method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as r:
            return Page(json.load(r)["webSocketDebuggerUrl"])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Socket:
    """The client's side of RFC 6455, as far as DevTools needs it: text frames."""

    def __init__(self, url):
        host, path = url.split("//", 1)[1].split("/", 1)
        name, port = host.split(":")
        self.s = socket.create_connection((name, int(port)), timeout=PATIENCE)
        self.s.settimeout(None)
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall(("GET /%s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n" % (path, host, key)).encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.s.recv(4096)
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError("no websocket: " + head.decode())

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        head = b"\x81" + (struct.pack("!B", 0x80 | n) if n < 126 else struct.pack("!BH", 0xFE, n) if n < 65536
                          else struct.pack("!BQ", 0xFF, n))
        pad = (mask * (n // 4 + 1))[:n]
        body = (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(n, "big")
        self.s.sendall(head + mask + body)

    def _take(self, n):
        parts = [self.rest]
        have = len(self.rest)
        while have < n:
            more = self.s.recv(65536)
            if not more:
                raise EOFError
            parts.append(more)
            have += len(more)
        data = b"".join(parts)
        self.rest = data[n:]
        return data[:n]

    def receive(self):
        whole = b""
        while True:
            a, b = self._take(2)
            n = b & 127
            if n == 126:
                n = struct.unpack("!H", self._take(2))[0]
            elif n == 127:
                n = struct.unpack("!Q", self._take(8))[0]
            data = self._take(n)
            if a & 15 in (0, 1):
                whole += data
                if a & 128:
                    return whole.decode()
            elif a & 15 == 8:
                raise EOFError


class Page:
    def __init__(self, url):
        self.socket = Socket(url)
        self.n = 0
        self.replies = {}
        self.requests, self.responses, self.errors, self.dialogs = [], {}, [], []
        self.loads = queue.Queue()
        self.lock = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.cmd(domain + ".enable")
        # Violations are counted by the page's own event, from before its first script on.
        self.cmd("Page.addScriptToEvaluateOnNewDocument", source="""
            window.__csp = [];
            addEventListener('securitypolicyviolation', (e) => window.__csp.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));
            for (const name of ['alert', 'confirm', 'prompt'])
                window[name] = (...a) => { (window.__alerts ||= []).push(name + ' ' + a.join(' ')); };""")

    def _read(self):
        try:
            while True:
                m = json.loads(self.socket.receive())
                with self.lock:
                    if "id" in m:
                        self.replies[m["id"]] = m
                    else:
                        self._event(m["method"], m["params"])
                    self.lock.notify_all()
        except (EOFError, OSError):
            with self.lock:
                self.replies = None
                self.lock.notify_all()

    def _event(self, name, p):
        if name == "Network.requestWillBeSent":
            self.requests.append({"url": p["request"]["url"], "method": p["request"]["method"], "id": p["requestId"],
                                  "body": p["request"].get("postData", ""), "headers": p["request"]["headers"]})
        elif name == "Network.responseReceived":
            self.responses[p["requestId"]] = p["response"]
        elif name == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.errors.append("exception: " + d.get("exception", {}).get("description", d["text"]))
        elif name == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert"):
            self.errors.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif name == "Log.entryAdded" and p["entry"]["level"] == "error":
            self.errors.append("log: %s %s" % (p["entry"]["text"], p["entry"].get("url", "")))
        elif name == "Page.javascriptDialogOpening":
            self.dialogs.append(p["message"])
            threading.Thread(target=lambda: self.cmd("Page.handleJavaScriptDialog", accept=False), daemon=True).start()
        elif name == "Page.loadEventFired":
            self.loads.put(p)

    def cmd(self, name, **params):
        with self.lock:
            self.n += 1
            n = self.n
            self.socket.send(json.dumps({"id": n, "method": name, "params": params}))
            end = time.time() + PATIENCE
            while self.replies is not None and n not in self.replies:
                if not self.lock.wait(end - time.time()):
                    raise TimeoutError(name)
            if self.replies is None:
                raise EOFError("the tab is gone")
            m = self.replies.pop(n)
        if "error" in m:
            raise RuntimeError("%s: %s" % (name, m["error"]["message"]))
        return m["result"]

    def js(self, text):
        """The value of an expression; promises are awaited."""
        r = self.cmd("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True, userGesture=True,
                     allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in r:
            d = r["exceptionDetails"]
            raise RuntimeError(d.get("exception", {}).get("description", d["text"]) + " in " + text)
        return r["result"].get("value")

    def wait(self, text):
        """Until the expression is true."""
        end = time.time() + PATIENCE
        while True:
            try:
                value = self.js("!!(%s)" % text)
            except RuntimeError as e:  # between two documents there is nothing to ask
                value = None
                if "TypeError" not in str(e) and "context" not in str(e):
                    raise
            if value:
                return value
            if time.time() > end:
                raise AssertionError("waited %d s for: %s" % (PATIENCE, text))
            time.sleep(0.03)

    def goto(self, url):
        while not self.loads.empty():
            self.loads.get()
        r = self.cmd("Page.navigate", url=url)
        if r.get("errorText"):
            raise RuntimeError(url + ": " + r["errorText"])
        self.loads.get(timeout=PATIENCE)

    def size(self, width, height, mobile=False):
        self.cmd("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def media(self, **features):
        self.cmd("Emulation.setEmulatedMedia", media=features.pop("media", ""),
                 features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def scripts(self, on):
        self.cmd("Emulation.setScriptExecutionDisabled", value=not on)

    def click(self, selector, index=0):
        """With the mouse, where the element's first box is."""
        box = self.js("""(() => { const e = document.querySelectorAll(%s)[%d]; e.scrollIntoView({block: 'center'});
            const b = e.getClientRects()[0]; return [b.left + b.width / 2, b.top + b.height / 2]; })()""" % (json.dumps(selector), index))
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.cmd("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="none" if kind == "mouseMoved" else "left",
                     clickCount=0 if kind == "mouseMoved" else 1)

    def type(self, text):
        self.cmd("Input.insertText", text=text)

    def fill(self, selector, text):
        self.js("(() => { const e = document.querySelector(%s); e.focus(); e.select?.(); })()" % json.dumps(selector))
        self.cmd("Input.insertText", text=text) if text else self.key("Delete")

    def key(self, name, modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40, "Delete": 46}
        text = {"Enter": "\r", " ": " "}.get(name)
        p = dict(key=name, code={" ": "Space"}.get(name, name), windowsVirtualKeyCode=codes[name], modifiers=modifiers)
        self.cmd("Input.dispatchKeyEvent", type="keyDown", **p, **({"text": text} if text else {}))
        self.cmd("Input.dispatchKeyEvent", type="keyUp", **p)

    def files(self, selector, *paths):
        root = self.cmd("DOM.getDocument")["root"]["nodeId"]
        node = self.cmd("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.cmd("DOM.setFileInputFiles", nodeId=node, files=[os.path.abspath(p) for p in paths])

    def shot(self, path, full=False):
        p = {"format": "png", "captureBeyondViewport": full}
        if full:
            s = self.cmd("Page.getLayoutMetrics")["cssContentSize"]
            p["clip"] = {"x": 0, "y": 0, "width": s["width"], "height": min(s["height"], 6000), "scale": 1}
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.cmd("Page.captureScreenshot", **p)["data"]))
        return path

    # ---- where the page's scripts are switched off: by the mouse, the keyboard and the document tree -----------------

    def node(self, selector):
        root = self.cmd("DOM.getDocument")["root"]["nodeId"]
        return self.cmd("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]

    def js_off_fill(self, selector, text):
        node = self.node(selector)
        self._open_details(node)
        self.cmd("DOM.focus", nodeId=node)
        self.cmd("Input.insertText", text=text)

    def _open_details(self, node):
        """DevTools' own calls run although the page's scripts do not."""
        o = self.cmd("DOM.resolveNode", nodeId=node)["object"]["objectId"]
        self.cmd("Runtime.callFunctionOn", objectId=o, functionDeclaration="function () { const d = this.closest('details'); if (d) d.open = true; }")

    def js_off_choose(self, selector, value):
        o = self.cmd("DOM.resolveNode", nodeId=self.node(selector))["object"]["objectId"]
        self.cmd("Runtime.callFunctionOn", objectId=o, functionDeclaration="function (v) { this.value = v; }", arguments=[{"value": value}])

    def js_off_submit(self, selector):
        while not self.loads.empty():
            self.loads.get()
        self.cmd("DOM.focus", nodeId=self.node(selector))
        self.key("Enter")
        self.loads.get(timeout=PATIENCE)

    def html(self):
        root = self.cmd("DOM.getDocument")["root"]["nodeId"]
        return self.cmd("DOM.getOuterHTML", nodeId=root)["outerHTML"]

    def close(self):
        try:
            self.cmd("Page.close")
        except (EOFError, RuntimeError):
            pass
