#!/usr/bin/env python3
"""A tus 1.0.0 server for tests, in memory, on 127.0.0.1: as strict as the protocol, and broken where a test says so.

  fake.py [--extensions a,b,c] [--no-get] [--no-offset] [--token T] [--max-size N]

Prints "ready PORT", and ends when its standard input ends. The uploads are below /files/; besides, there are:
  GET  /stats    the requests it has seen and the uploads it holds, as JSON
  POST /faults   a list of {"method": M, "nth": N, "do": D, …}: what to do with the Nth request of a method from now on
    reset        close after "after" bytes of the body, and keep these
    swallow      carry out the request, and close without a reply
    status       answer with "status" instead, and do nothing
    proxy        the same, as a proxy before the server would: without the Tus-Resumable header
    corrupt      change a byte of the body before it is checked
    lag          acknowledge all bytes, but keep only the first "after" of them
    hang         read the body, discard it, and send nothing until the client is gone
  POST /expire   forgets every incomplete upload; with {"all": true} also the complete ones, the faults and the
                 requests seen
"""

import argparse
import base64
import email.utils
import hashlib
import http.server
import json
import select
import sys
import threading
import time
import uuid

CHECKSUMS = {"sha1": hashlib.sha1, "md5": hashlib.md5, "sha256": hashlib.sha256}
ALL = "creation,creation-with-upload,termination,checksum,expiration,concatenation"


class Store:
    def __init__(self, options):
        self.options = options
        self.extensions = [name for name in options.extensions.split(",") if name]
        self.lock = threading.Lock()
        self.uploads = {}
        self.requests = []
        self.faults = []
        self.counts = {}
        self.received = 0
        self.hanging = 0

    def fault(self, method):
        with self.lock:
            self.counts[method] = self.counts.get(method, 0) + 1
            for fault in self.faults:
                if fault["method"] == method and fault["nth"] == self.counts[method]:
                    return fault
        return {}


class Refusal(Exception):
    def __init__(self, status, text="", marked=True):
        super().__init__(text)
        self.status = status
        self.marked = marked


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store: Store

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b"", marked=True):
        self.send_response(status)
        if marked and self.path.startswith("/files"):
            self.send_header("Tus-Resumable", "1.0.0")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(2)

    def body(self, limit=None):
        left = int(self.headers.get("Content-Length") or 0)
        pieces = []
        while left > 0:
            want = min(left, 65536 if limit is None else max(0, min(65536, limit)))
            if want == 0:
                break
            piece = self.rfile.read1(want)
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
            limit = None if limit is None else limit - len(piece)
            with self.store.lock:
                self.store.received += len(piece)
        return b"".join(pieces), left == 0

    def hang(self):
        # Read all of it: the end of the connection is not visible while data before it is unread.
        self.body()
        with self.store.lock:
            self.store.hanging += 1
        gone = select.poll()
        gone.register(self.connection, select.POLLRDHUP)
        gone.poll()
        raise ConnectionResetError

    def handle_one(self, action):
        fault = {}
        try:
            if self.path in ("/stats", "/faults", "/expire"):
                return self.control()
            fault = self.store.fault(self.command)
            with self.store.lock:
                self.store.requests.append([self.command, self.path, dict(self.headers.items())])
            if fault.get("do") in ("status", "proxy"):
                self.body()
                raise Refusal(fault["status"], marked=fault["do"] == "status")
            token = self.store.options.token
            if token and self.path.startswith("/files/") and self.headers.get("Authorization") != "Bearer " + token:
                self.body()
                raise Refusal(401)
            if self.command not in ("OPTIONS", "GET") and self.headers.get("Tus-Resumable") != "1.0.0":
                self.body()
                raise Refusal(412)
            reply = action(fault)
            if fault.get("do") in ("reset", "swallow"):
                return self.hang_up()
            self.answer(*reply)
        except Refusal as refusal:
            if fault.get("do") in ("reset", "swallow"):
                return self.hang_up()
            self.answer(refusal.status, marked=refusal.marked)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_OPTIONS(self):
        self.handle_one(self.options)

    def do_POST(self):
        self.handle_one(self.create)

    def do_HEAD(self):
        self.handle_one(self.head)

    def do_PATCH(self):
        self.handle_one(self.patch)

    def do_DELETE(self):
        self.handle_one(self.terminate)

    def do_GET(self):
        self.handle_one(self.get)

    # MARK: tus

    def options(self, _):
        if not self.path.startswith("/files/"):
            raise Refusal(404)
        headers = [("Tus-Version", "1.0.0,0.2.2"), ("Tus-Extension", ",".join(self.store.extensions))]
        if "checksum" in self.store.extensions:
            headers.append(("Tus-Checksum-Algorithm", ",".join(CHECKSUMS)))
        if self.store.options.max_size:
            headers.append(("Tus-Max-Size", str(self.store.options.max_size)))
        return 204, headers

    def upload(self):
        with self.store.lock:
            upload = self.store.uploads.get(self.path.partition("?")[0].removeprefix("/files/"))
        if upload is None:
            raise Refusal(404)
        return upload

    def expiry(self, upload):
        if "expiration" not in self.store.extensions or len(upload["bytes"]) == upload["length"]:
            return []
        return [("Upload-Expires", email.utils.formatdate(time.time() + 3600, usegmt=True))]

    def create(self, fault):
        if self.path != "/files/" or "creation" not in self.store.extensions:
            raise Refusal(404)
        bytes_, whole = self.body(fault.get("after") if fault.get("do") == "reset" else None)
        concat = self.headers.get("Upload-Concat", "")
        if concat.startswith("final;"):
            parts = [self.store.uploads.get(url.rpartition("/")[2]) for url in concat[6:].split()]
            if any(part is None or len(part["bytes"]) != part["length"] for part in parts):
                raise Refusal(404)
            bytes_ = b"".join(bytes(part["bytes"]) for part in parts)
            length = len(bytes_)
        else:
            length = int(self.headers["Upload-Length"])
            if self.store.options.max_size and length > self.store.options.max_size:
                raise Refusal(413)
            if bytes_ and "creation-with-upload" not in self.store.extensions:
                raise Refusal(400)
        metadata = {}
        for pair in filter(None, self.headers.get("Upload-Metadata", "").split(",")):
            name, _, value = pair.strip().partition(" ")
            metadata[name] = base64.b64decode(value, validate=True).decode()
        upload = {"length": length, "bytes": bytearray(bytes_), "metadata": metadata, "concat": concat,
                  "lock": threading.Lock()}
        name = uuid.uuid4().hex
        with self.store.lock:
            self.store.uploads[name] = upload
        headers = [("Location", "http://%s/files/%s" % (self.headers["Host"], name))]
        if bytes_:
            headers.append(("Upload-Offset", str(len(bytes_))))
        return 201, headers + self.expiry(upload)

    def head(self, _):
        upload = self.upload()
        return 200, [
            ("Upload-Offset", str(len(upload["bytes"]))), ("Upload-Length", str(upload["length"])),
            ("Cache-Control", "no-store"),
        ]

    def patch(self, fault):
        upload = self.upload()
        if self.headers.get("Content-Type") != "application/offset+octet-stream":
            raise Refusal(415)
        # Wait for the lock, as tusd does: the request that holds it may not have noticed yet that its client is gone.
        if not upload["lock"].acquire(timeout=60):
            raise Refusal(423)
        try:
            if int(self.headers["Upload-Offset"]) != len(upload["bytes"]):
                self.body()
                raise Refusal(409)
            if fault.get("do") == "hang":
                self.hang()
            bytes_, whole = self.body(fault.get("after") if fault.get("do") == "reset" else None)
            if fault.get("do") == "corrupt":
                bytes_ = bytes([bytes_[0] ^ 1]) + bytes_[1:]
            self.check(bytes_, whole)
            if len(upload["bytes"]) + len(bytes_) > upload["length"]:
                raise Refusal(413)
            kept = bytes_[: fault["after"]] if fault.get("do") == "lag" else bytes_
            upload["bytes"] += kept
            offset = len(upload["bytes"]) + len(bytes_) - len(kept)
            told = [] if self.store.options.no_offset else [("Upload-Offset", str(offset))]
            return 204, told + self.expiry(upload)
        finally:
            upload["lock"].release()

    def check(self, bytes_, whole):
        """Checks the checksum: a part that has one is kept whole or not at all."""
        wanted = self.headers.get("Upload-Checksum")
        if not wanted:
            return
        if "checksum" not in self.store.extensions:
            raise Refusal(400)
        if not whole:
            raise Refusal(460)
        name, _, value = wanted.partition(" ")
        if name not in CHECKSUMS:
            raise Refusal(400)
        if CHECKSUMS[name](bytes_).digest() != base64.b64decode(value, validate=True):
            raise Refusal(460)

    def terminate(self, _):
        if "termination" not in self.store.extensions:
            raise Refusal(405)
        self.upload()
        with self.store.lock:
            del self.store.uploads[self.path.removeprefix("/files/")]
        return 204, []

    def get(self, _):
        if self.store.options.no_get:
            raise Refusal(405)
        upload = self.upload()
        if len(upload["bytes"]) != upload["length"]:
            raise Refusal(404)
        return 200, [], bytes(upload["bytes"])

    # MARK: for tests

    def control(self):
        store = self.store
        text, _ = self.body() if self.command == "POST" else (b"", True)
        with store.lock:
            store.received -= len(text)
            if self.path == "/faults":
                store.faults, store.counts = json.loads(text), {}
            if self.path == "/expire":
                every = json.loads(text or "{}").get("all", False)
                if every:
                    store.requests, store.faults, store.counts, store.received = [], [], {}, 0
                store.uploads = {
                    name: upload for name, upload in store.uploads.items()
                    if not every and len(upload["bytes"]) == upload["length"]
                }
            seen = {
                "received": store.received,
                "hanging": store.hanging,
                "requests": store.requests,
                "uploads": [
                    {
                        "id": name, "length": upload["length"], "offset": len(upload["bytes"]),
                        "metadata": upload["metadata"], "concat": upload["concat"],
                        # Hash a copy: a bytearray can't be extended while it is being read.
                        "sha256": hashlib.sha256(bytes(upload["bytes"])).hexdigest(),
                    }
                    for name, upload in store.uploads.items()
                ],
            }
        self.answer(200, [("Content-Type", "application/json")], json.dumps(seen).encode())


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that disconnects is not worth a message.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--extensions", default=ALL)
    parser.add_argument("--no-get", action="store_true")
    parser.add_argument("--no-offset", action="store_true")
    parser.add_argument("--token")
    parser.add_argument("--max-size", type=int)
    Handler.store = Store(parser.parse_args())
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
