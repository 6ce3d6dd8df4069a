"""Starts, kills and queries a reel-serve for tests, as a black box."""

import http.client
import json
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from tusclient.exceptions import TusCommunicationError

ROOT = Path(__file__).resolve().parents[3]
CLIPS = ROOT / "Samples" / "clips"
KEY = "0123456789abcdef0123456789abcdef-test"
# In seconds. Limits only catch what hangs: any process may stand still for a while.
LIMIT = 600


def held_port():
    """Returns a socket that reserves a port as long as it exists. It does not listen, so servers can, one after another."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class Server:
    """A server for one library; it keeps its port over restarts. It is patient unless told otherwise."""

    def __init__(self, program, folder, *options):
        self.program, self.folder = str(program), Path(folder)
        self.options = options if "--patience" in options else ("--patience", "1h", *options)
        self.library = self.folder / "library"
        self.held = held_port()
        self.port = self.held.getsockname()[1]
        self.process = None
        self.environment = {}
        self.log = []

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "--listen", f"127.0.0.1:{self.port}", "--library", str(self.library), *self.options],
            stderr=subprocess.PIPE, text=True, errors="replace", env={**os.environ, **self.environment})
        begun = queue.Queue()

        def read(stream):
            for line in stream:
                self.log.append(line)
                if re.search(r"port=\d+.*listening", line):
                    begun.put(True)
            begun.put(False)

        threading.Thread(target=read, args=[self.process.stderr], daemon=True).start()
        try:
            is_listening = begun.get(timeout=LIMIT)
        except queue.Empty:
            is_listening = False
            self.process.kill()
        if not is_listening:
            self.process.wait(LIMIT)
            raise RuntimeError("the server did not start: " + "".join(self.log[-5:]))
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stops the server as a service manager does; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT)

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
        """Sends a request on a new connection, and again for as long as the verdict is late."""
        headers = dict(headers or {})
        end = time.monotonic() + LIMIT
        while True:
            answer = self.ask_once(method, path, body, headers)
            if not answer.is_late or time.monotonic() > end:
                return answer
            answer.wait()
            if "Upload-Offset" in headers:
                # What came is kept.
                now = answer.headers["Upload-Offset"]
                body = body[int(now) - int(headers["Upload-Offset"]):]
                headers["Upload-Offset"] = now
                headers.pop("Upload-Checksum", None)

    def ask_once(self, method, path, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            try:
                connection.request(method, path, body=body, headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                # The server may have answered, and closed, before everything was sent.
                pass
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
        return self.begin_with(b"", method, path, **headers)

    def begin_with(self, body, method, path, **headers):
        """Sends the head of a request and the beginning of its body at once, and returns the socket."""
        line = socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        line.sendall(("\r\n".join(head) + "\r\n\r\n").encode() + body)
        return line

    def is_healthy(self):
        """Returns whether it says so; a server whose processor is busy may say no for a moment."""
        return self.ask("GET", "/healthz").status == 200

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

    @property
    def is_late(self):
        """Whether there is no verdict because reading the video took longer than the server allows."""
        return self.status == 503 and b'"timeout"' in self.body

    def wait(self):
        """Waits for as long as the answer says."""
        time.sleep(int(self.headers["Retry-After"]))

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:300]!r}"


def until(condition):
    """Waits for a condition."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def answer_of(line):
    """Reads the answer from a raw socket."""
    reply = http.client.HTTPResponse(line)
    reply.begin()
    return Answer(reply.status, reply.headers, reply.read())


def unless_late(answer, again):
    """Returns the answer; if the verdict is late, that to `again`."""
    if not answer.is_late:
        return answer
    answer.wait()
    return again()


def finish(uploader):
    """Lets tuspy send the rest of an upload; if the verdict is late, asks for it until it is there."""
    send = uploader.upload
    while True:
        try:
            return send()
        except TusCommunicationError as error:
            if error.status_code != 503 or b'"timeout"' not in error.response_content:
                raise
        time.sleep(10)
        uploader.offset = uploader.get_offset()
        # tuspy's `upload` sends nothing once all bytes are there.
        send = uploader.upload if uploader.offset < uploader.get_file_size() else uploader.upload_chunk


def variant(number, clip="captioned.mp4", size=0):
    """Returns a distinct video: the clip, and a `free` box of at least `size` bytes with the number in it."""
    filler = f"variant {number}".encode() + bytes(size)
    return (CLIPS / clip).read_bytes() + (8 + len(filler)).to_bytes(4, "big") + b"free" + filler
