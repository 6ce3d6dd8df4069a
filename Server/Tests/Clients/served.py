"""Starts, kills and queries a reel-serve for tests, as a black box."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CLIPS = ROOT / "Samples" / "clips"
KEY = "0123456789abcdef0123456789abcdef-test"


class Server:
    """A server for one library; it keeps its port over restarts."""

    def __init__(self, program, folder, *options):
        self.program, self.folder, self.options = str(program), Path(folder), options
        self.library = self.folder / "library"
        self.port = 0
        self.process = None
        self.environment = {}
        self.log = []

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "--listen", f"127.0.0.1:{self.port}", "--library", str(self.library), *self.options],
            stderr=subprocess.PIPE, text=True, errors="replace", env={**os.environ, **self.environment})
        listening = threading.Event()

        def read(stream):
            for line in stream:
                self.log.append(line)
                found = re.search(r"port=(\d+).*listening", line)
                if found:
                    self.port = int(found[1])
                    listening.set()
            listening.set()

        threading.Thread(target=read, args=[self.process.stderr], daemon=True).start()
        if listening.wait(120) and not any("listening" in line for line in self.log):
            # Its log has ended, so the server is about to exit.
            self.process.wait(60)
        if not listening.is_set() or self.process.poll() is not None:
            raise RuntimeError("the server did not start: " + "".join(self.log[-5:]))
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stops the server as a service manager does; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(300)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def memory(self):
        """Returns its resident memory, in bytes."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("no VmRSS")

    def ask(self, method, path, body=None, headers=None):
        """Sends a request on a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def tus(self, method, path, body=None, **headers):
        names = {"Tus-Resumable": "1.0.0"}
        if method == "PATCH":
            names["Content-Type"] = "application/offset+octet-stream"
        names.update({name.replace("_", "-"): str(value) for name, value in headers.items()})
        return self.ask(method, path, body, {name: value for name, value in names.items() if value != "None"})

    def create(self, length, path="/uploads", **headers):
        """Creates an upload, and returns its path."""
        answer = self.tus("POST", path, Upload_Length=length, **headers)
        assert answer.status == 201, answer
        return self.path(answer)

    def path(self, answer):
        """Returns the path in a Location header, whose address must be this server's."""
        place = answer.headers["Location"]
        assert place.startswith((self.url + "/", "/")), place
        return place.removeprefix(self.url)

    def begin(self, method, path, **headers):
        """Sends the head of a request, and returns the socket."""
        line = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        line.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        return line

    def posts(self, **headers):
        found, before = [], None
        while True:
            path = "/posts?size=100" + (f"&before={before}" if before else "")
            page = self.ask("GET", path, headers=headers).json
            found += page["posts"]
            before = page["next"]
            if before is None:
                return found

    def left(self):
        """Returns the names in the folder of uploads."""
        return sorted(name for name in os.listdir(self.library / "uploads") if not name.startswith("."))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["problems"][0]["code"]

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:300]!r}"


def until(condition):
    """Waits for a condition, for up to two minutes."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def answer_of(line):
    """Reads the answer from a raw socket."""
    reply = http.client.HTTPResponse(line)
    reply.begin()
    return Answer(reply.status, reply.headers, reply.read())


def variant(number, clip="captioned.mp4", size=0):
    """Returns a distinct video: the clip, and a `free` box of at least `size` bytes with the number in it."""
    filler = f"variant {number}".encode() + bytes(size)
    return (CLIPS / clip).read_bytes() + (8 + len(filler)).to_bytes(4, "big") + b"free" + filler
