"""Kills a server again and again while clients upload: kills.py PROGRAM [--kills N] [--seed N]

First once at each failpoint from the upload to its post (docs/publish.md, REEL_FAILPOINT; a release build ignores them),
then at random times. Every video must become one post, and be reported as published however often a client asks. No
client may have to send a byte twice, except those of the request that was cut off. Nothing may be left over.
"""

import argparse
import base64
import contextlib
import hashlib
import http.client
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from receiver import Receiver, make_secret
from served import LIMIT, Server, until, variant

PART = 32_768


class Sender(threading.Thread):
    """Uploads videos by tus, one after the other, until told to stop. Resumes after every interruption."""

    def __init__(self, number, server, seed, ending):
        super().__init__(daemon=True)
        self.number, self.server, self.ending = number, server, ending
        self.random = random.Random(f"{seed} {number}")
        self.verdicts, self.faults, self.retries = {}, [], 0

    def insist(self, *arguments, **headers):
        """Repeats the request until the answer is neither a lost connection nor a 423 or 503."""
        while True:
            try:
                answer = self.server.tus(*arguments, **headers)
                if answer.status not in (423, 503):
                    return answer
            except (OSError, http.client.HTTPException):
                pass
            self.retries += 1
            time.sleep(0.05)

    def run(self):
        count = 0
        # Uploads at least one, however late this thread begins.
        while count == 0 or not self.ending.is_set():
            count += 1
            try:
                self.upload(variant(f"{self.number}.{count}", size=self.random.randrange(1, 400_000)))
            except Exception as error:
                self.faults.append(repr(error))
                return

    def upload(self, video):
        created = self.insist("POST", "/uploads", Upload_Length=len(video))
        assert created.status == 201, created
        path, offset, last = self.server.path(created), 0, None
        while offset < len(video):
            part = video[offset:offset + PART]
            more = {}
            if self.random.random() < 0.5:
                more["Upload_Checksum"] = "sha256 " + base64.b64encode(hashlib.sha256(part).digest()).decode()
            try:
                last = self.server.tus("PATCH", path, part, Upload_Offset=offset, Prefer="return=representation", **more)
                assert last.status in (200, 201, 204, 409, 423, 503), last
                if last.status in (200, 201, 204):
                    offset += len(part)
                    assert last.headers["Upload-Offset"] == str(offset), last
                    continue
            except (OSError, http.client.HTTPException):
                self.retries += 1
                time.sleep(0.05)
            last = None
            head = self.insist("HEAD", path)
            assert head.status == 200, head
            now = int(head.headers["Upload-Offset"])
            # No acknowledged byte is lost, and the offset is not beyond what was sent.
            assert offset <= now <= offset + len(part), (offset, now)
            assert "Upload_Checksum" not in more or now in (offset, offset + len(part)), (offset, now)
            offset = now
        if last is None:
            last = self.insist("PATCH", path, b"", Upload_Offset=offset, Prefer="return=representation")
        assert last.status == 201 and last.json["verdict"] == "published", last
        post = last.json["post"]
        assert post["digest"] == "sha256:" + hashlib.sha256(video).hexdigest(), post
        self.verdicts[path] = post


# The failpoints between the names that a file has on its way from an upload to an object.
PLACES = ["claimCommitted", "uploadBegun", "temporaryCreated", "temporarySynced", "objectNamed", "folderSynced",
          "postInserted", "completeCommitted"]


def die_at(program, place):
    """Returns whether a server died there, and what is wrong afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        server.environment = {"REEL_FAILPOINT": f"{place}=crash"}
        with server:
            video = variant(place, size=100_000)
            path = server.create(len(video))
            try:
                server.tus("PATCH", path, video, Upload_Offset=0)
                died = ""
            except (OSError, http.client.HTTPException):
                server.process.wait(LIMIT)
                died = ", where it died"
                server.environment = {}
                server.start()
            print(f"{place}{died}")
            # It waits for the verdict; 423 is that it is late.
            until(lambda: server.tus("HEAD", path).status != 423)
            answer, posts = server.ask("GET", path).json, server.posts()
            media = [file for file in (server.library / "media").iterdir() if not file.name.startswith(".")]
            server.stop()
        faults = []
        if answer["verdict"] != "published" or [post["id"] for post in posts] != [answer["post"]["id"]]:
            faults.append(f"{answer}, {posts}")
        if [file.read_bytes() for file in media] != [video] or any(file.stat().st_nlink != 1 for file in media):
            faults.append(f"{media}")
        left = [*(server.library / "uploads").glob("*/bytes"), *(server.library / "uploads").glob("*/whole"),
                *(server.library / "tmp").glob("*.part")]
        if left:
            faults.append(f"left over: {left}")
        return bool(died), [f"{place}: {fault}" for fault in faults]


# Simulates a disk that lost what a killed server had written: the next server's first sync of the file fails, although
# reads still get the bytes from the page cache.
LOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fdatasync(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  static int told;
  if (count > 6 && !memcmp(path + count - 6, "/bytes", 6) && !told++) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
"""


def lost_on_disk(program):
    """Returns what is wrong after the disk has lost a killed server's bytes: they must not become a post."""
    with tempfile.TemporaryDirectory() as folder:
        shim = f"{folder}/lost.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", shim, "-", "-ldl"], input=LOST, text=True, check=True)
        with Server(program, folder) as server:
            video = variant("lost", size=100_000)
            path = server.create(len(video))
            server.tus("PATCH", path, video[:PART], Upload_Offset=0)
            server.kill()
            server.environment = {"LD_PRELOAD": shim}
            server.start()
            refused = server.tus("PATCH", path, video[PART:], Upload_Offset=PART)
            head = server.tus("HEAD", path)
            server.stop()
            server.environment = {}
            server.start()
            again, posts = server.tus("HEAD", path), server.posts()
            server.stop()
        seen = (refused.status, head.status, again.status, len(posts))
        return [] if seen[0] == 503 and seen[1:] == (404, 404, 0) else [f"lost on disk: {seen}"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--kills", type=int, default=60)
    options.add_argument("--senders", type=int, default=4)
    options.add_argument("--seed", default=str(random.randrange(1 << 32)))
    options = options.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    tried = [die_at(options.program, place) for place in PLACES]
    at_places = [fault for _, faults in tried for fault in faults]
    if b"REEL_FAILPOINT" not in Path(options.program).read_bytes():
        print("SKIPPED: the failpoints, which a release build does not have")
    else:
        at_places += [f"{place} was not reached" for place, (died, _) in zip(PLACES, tried) if not died]
    at_places += lost_on_disk(options.program)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        secret_file, secret = make_secret(options.program, folder)
        # One in five events is answered with 503, as by a busy receiver.
        receiver = Receiver(secret)
        receiver.status = lambda _: 503 if chance.random() < 0.2 else 204
        webhook = ("--webhook", f"http://127.0.0.1:{receiver.port}/", "--webhook-secret-file", str(secret_file))
        server = stack.enter_context(Server(options.program, folder, *webhook))
        ending = threading.Event()
        senders = [Sender(number, server, options.seed, ending) for number in range(options.senders)]
        for sender in senders:
            sender.start()
        for _ in range(options.kills):
            # From the very start, so that it is also killed while it recovers what the last one left.
            time.sleep(chance.random() ** 2 * 1.5)
            server.kill()
            server.start()
            if any(sender.faults for sender in senders):
                break
        ending.set()
        for sender in senders:
            sender.join(LIMIT)
            assert not sender.is_alive(), "a sender does not finish"
        faults = at_places + [fault for sender in senders for fault in sender.faults]
        verdicts = {path: post for sender in senders for path, post in sender.verdicts.items()}
        posts = {post["id"]: post for post in server.posts()}
        if len(verdicts) < len(senders) or sum(sender.retries for sender in senders) == 0:
            faults.append(f"{len(verdicts)} videos, of which no kill interrupted any")
        if set(posts) != {post["id"] for post in verdicts.values()} or len(posts) != len(verdicts):
            faults.append(f"{len(posts)} posts of {len(verdicts)} videos")
        for path, post in verdicts.items():
            said = server.ask("GET", path).json
            if (said["verdict"], said["post"]) != ("published", post):
                faults.append(f"{path}: {said}")
        # Each post has its event, and there are no others.
        receiver.status = 204
        told = {f"post_published_{post}" for post in posts}
        end = time.monotonic() + LIMIT
        while receiver.ids() != told and time.monotonic() < end:
            time.sleep(0.1)
        if receiver.ids() != told or receiver.bad:
            faults.append(f"{len(receiver.ids())} events of {len(told)} posts; {receiver.bad[:3]}")
        print(f"{len(receiver.events)} events of {len(told)} posts were accepted")
        # An upload whose creation was never acknowledged, because the answer was lost, may leave an empty file.
        left = [file for name in ("bytes", "whole") for file in (server.library / "uploads").glob(f"*/{name}")
                if file.stat().st_size > 0]
        if left:
            faults.append(f"left over: {left}")
        server.stop()
        server.options = ("--keep", "1s", *webhook)
        server.start()
        end = time.monotonic() + LIMIT
        while server.left() and time.monotonic() < end:
            time.sleep(0.1)
        if server.left():
            faults.append(f"left over after --keep: {server.left()}")
        receiver.close()
        media = list((server.library / "media").iterdir())
        # A published file has no other hard links.
        faults += [f"{file} has {file.stat().st_nlink} names" for file in media
                   if file.is_file() and file.stat().st_nlink != 1]
        if len([file for file in media if not file.name.startswith(".")]) != len(posts):
            faults.append(f"{len(media)} objects of {len(posts)} posts")
        retries = sum(sender.retries for sender in senders)
        print(f"{options.kills} kills, {len(verdicts)} videos, {len(posts)} posts, {retries} retries")
        for fault in faults:
            print(fault)
        print(f"{int(not faults)} passed, {int(bool(faults))} failed")
        sys.exit(1 if faults else 0)


main()
