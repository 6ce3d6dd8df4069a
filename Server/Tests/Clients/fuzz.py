"""Sends requests of each protocol with malformed fields, chunks and paths: fuzz.py PROGRAM [--requests N] [--seed S]

The server must answer each with a client error or a temporary server error, never with a 500 or not at all. It must
keep running, leak no descriptors, and publish only complete videos."""

import argparse
import base64
import hashlib
import os
import random
import re
import socket
import sys
import tempfile
import threading
import time
from collections import Counter

from served import KEY, LIMIT, Server, until, variant

VIDEO = variant("fuzz")
META = "author " + base64.b64encode(b"ada").decode()
TUS = [("Tus-Resumable", "1.0.0")]
SUM = "sha256 " + base64.b64encode(hashlib.sha256(VIDEO).digest()).decode()
FORM = b"--b\r\nContent-Disposition: form-data; name=video; filename=a.mp4\r\n\r\n" + VIDEO + b"\r\n--b--\r\n"


def chunked(body, size=4_096):
    pieces = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def templates(path, ticket):
    """Returns well-formed requests: method, path, fields, body."""
    length = ("Content-Length", str(len(VIDEO)))
    octets = ("Content-Type", "application/offset+octet-stream")
    return [
        ("PUT", "/videos?author=ada&caption=a", [length], VIDEO),
        ("POST", "/videos", [("Transfer-Encoding", "chunked")], chunked(VIDEO)),
        ("POST", "/videos", [("Content-Type", "multipart/form-data; boundary=b"), ("Content-Length", str(len(FORM)))], FORM),
        ("PUT", "/videos", [length, ("Prefer", "respond-async"), ("Expect", "100-continue")], VIDEO),
        ("POST", "/uploads", TUS + [("Upload-Length", str(len(VIDEO))), ("Upload-Metadata", META), ("Content-Length", "0")], b""),
        ("POST", "/uploads", TUS + [("Upload-Length", str(len(VIDEO))), octets, length, ("Upload-Checksum", SUM)], VIDEO),
        ("POST", "/uploads", [("Upload-Complete", "?1"), ("Upload-Draft-Interop-Version", "6"), length], VIDEO),
        ("PATCH", path, TUS + [("Upload-Offset", "0"), octets, length, ("Upload-Checksum", SUM)], VIDEO),
        ("PATCH", path, [("Upload-Offset", "0"), ("Upload-Complete", "?1"), ("Upload-Draft-Interop-Version", "6"), length], VIDEO),
        ("HEAD", path, TUS, b""), ("GET", path, [], b""), ("DELETE", path, TUS, b""),
        ("OPTIONS", "/uploads", TUS, b""), ("PUT", ticket, [length], VIDEO),
        ("POST", "/uploads?author=ada&maxSize=5MB&expires=1h", [("Content-Length", "0")], b""),
        ("GET", "/posts?size=5&before=x&author=a&search=b", [], b""), ("GET", "/metrics", [], b""), ("GET", "/", [], b""),
    ]


NUMBERS = ["0", "-1", "1", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e3", "0x10", "+5", " 5", "", "NaN", "٣"]
ODD = ["", "\t", "a" * 9_000, "é", "\x7f", "../..", "%00", "?1", ";", ",,", "=", '"', "a=b;c", "sha256 !", "md5 ", "chunked, gzip",
       "identity", "1.0.0, 1.0.0", "multipart/form-data", "multipart/form-data; boundary=", "bytes 0-1/2", "return=representation"]
CHUNKS = [b"ffffffffffffffff\r\n", b"-1\r\n", b"g\r\n", b"5;ext=" + b"a" * 5_000 + b"\r\nhello\r\n", b"5\nhello\n", b"\r\n", b"0\r\nTrailer: x\r\n\r\n",
          b"00000000000000000000005\r\nhello\r\n", b"5\r\nhell"]


class Fuzzer(threading.Thread):
    def __init__(self, server, seed, count):
        super().__init__(daemon=True)
        self.server, self.random, self.count = server, random.Random(seed), count
        self.seen, self.faults = Counter(), []

    def run(self):
        for number in range(self.count):
            request = b"none yet"
            try:
                request = self.request()
                status = self.answer(request)
            except Exception as error:
                status = repr(error)
            self.seen[status if isinstance(status, int) else "closed" if status is None else status] += 1
            if isinstance(status, str) or status is not None and not (status < 500 or status in (501, 503, 505, 507)):
                self.faults.append(f"{status}: {request[:600]!r}")

    def request(self):
        roll = self.random
        method, path, fields, body = roll.choice(templates(self.place(), self.ticket()))
        fields = [("Host", f"127.0.0.1:{self.server.port}"), ("Authorization", f"Bearer {KEY}"), *fields]
        for _ in range(roll.choice([0, 1, 1, 2, 3])):
            twist = roll.randrange(9)
            if twist < 3 and fields:
                at = roll.randrange(len(fields))
                fields[at] = (fields[at][0], roll.choice(NUMBERS if fields[at][1][:1].isdigit() and roll.random() < 0.8 else ODD))
            elif twist == 3 and fields:
                fields.append(roll.choice(fields))
            elif twist == 4 and fields:
                fields.pop(roll.randrange(len(fields)))
            elif twist == 5:
                method = roll.choice(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "X" * 40, ""])
            elif twist == 6:
                path = roll.choice([path + "/..", "/" + path, path + "%00", path + "?" + "a" * 5_000, "*", "http://other/", "/u/", "/u/a.b",
                                    "/uploads/" + "0" * 32, "/uploads/%2e%2e", path + "#x", ""])
            elif twist == 7 and body:
                at = roll.randrange(len(body))
                body = roll.choice([body[:at], body + os.urandom(20), body[:at] + roll.choice(CHUNKS) + body[at:]])
            else:
                fields.append((roll.choice(["Content-Length", "Transfer-Encoding", "Upload-Offset", "Upload-Defer-Length", "Upload-Concat",
                                            "X-HTTP-Method-Override", "Expect", "Range", "Content-Encoding"]), roll.choice(NUMBERS + ODD)))
        head = f"{method} {path} HTTP/1.{roll.choice('1110')}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
        return head.encode("utf-8", "replace") + body

    def place(self):
        """Returns the path of a real upload, mostly."""
        if self.random.random() < 0.2:
            return "/uploads/" + "".join(self.random.choices("0123456789abcdefg", k=32))
        return self.server.create(len(VIDEO), Authorization=f"Bearer {KEY}")

    def ticket(self):
        answer = self.server.ask("POST", "/uploads?expires=1h", headers={"Authorization": f"Bearer {KEY}"})
        assert answer.status == 201, answer
        return answer.json["url"]

    def answer(self, request):
        """Sends a request; returns the last status that is not 1xx; None if the connection was closed without one."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=LIMIT) as line:
            try:
                line.sendall(request)
                line.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            reply = b""
            try:
                while piece := line.recv(65_536):
                    reply += piece
            except ConnectionResetError:
                pass
        found = [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", reply)]
        return next((status for status in reversed(found) if status >= 200), None)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--requests", type=int, default=2_000)
    options.add_argument("--seed", default=str(random.randrange(1 << 32)))
    options = options.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(KEY)
        with Server(options.program, folder, "--key-file", key, "--patience", "10s", "--max-size", "5MB") as server:
            open_before = len(os.listdir(f"/proc/{server.process.pid}/fd"))
            fuzzers = [Fuzzer(server, f"{options.seed} {number}", options.requests // 4) for number in range(4)]
            for fuzzer in fuzzers:
                fuzzer.start()
            for fuzzer in fuzzers:
                fuzzer.join()
            faults = [fault for fuzzer in fuzzers for fault in fuzzer.faults]
            seen = sum((fuzzer.seen for fuzzer in fuzzers), Counter())
            wanted = sum(fuzzer.count for fuzzer in fuzzers)
            # Most are malformed, but some are not.
            if sum(seen.values()) != wanted or not any(status in seen for status in (200, 201, 204)):
                faults.append(f"{sum(seen.values())} of {wanted} requests were sent: {dict(seen)}")
            if server.process.poll() is not None:
                faults.append(f"the server ended with {server.process.returncode}: {''.join(server.log[-20:])}")
            else:
                end = time.monotonic() + LIMIT
                # Allows for two workers, and for what libraries open once.
                while (left := len(os.listdir(f"/proc/{server.process.pid}/fd"))) > open_before + 40 and time.monotonic() < end:
                    time.sleep(0.5)
                if left > open_before + 40:
                    faults.append(f"{left} descriptors, {open_before} before")
                whole = "sha256:" + hashlib.sha256(VIDEO).hexdigest()
                posts = server.posts(Authorization=f"Bearer {KEY}")
                # A video with extra bytes after its last box, or with fewer bytes in that, is complete, too.
                odd = [post["digest"] for post in posts if post["digest"] != whole and post["size"] > len(VIDEO) + 10_000]
                if odd or not posts:
                    faults.append(f"{len(posts)} posts, {odd}")
                until(server.is_healthy)
                print(f"{sum(seen.values())} requests: {dict(sorted(seen.items(), key=str))}; {len(posts)} posts, {server.memory() >> 20} MiB")
                server.stop()
    for fault in faults[:20]:
        print(fault)
    print(f"{int(not faults)} passed, {int(bool(faults))} failed")
    sys.exit(1 if faults else 0)


main()
