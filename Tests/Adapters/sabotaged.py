#!/usr/bin/env python3
"""Samples/adapters/folder.py with faults that a file beside the store plans: for the tests of command uploaders.

`$REEL_ADAPTER_FOLDER/../plan.json` holds {"fault": NAME, "request": N, "reach": "once" | "always" | "alike"}. Without
it there are no faults. Beside it, `requests` gets a line for each request, and `struck` one for each with a fault.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Samples/adapters"))
import folder  # noqa: E402

PLACE = os.path.dirname(os.path.abspath(os.environ["REEL_ADAPTER_FOLDER"]))
say, link = folder.say, os.link


def die(number=signal.SIGKILL):
    sys.stdout.flush()
    os.kill(os.getpid(), number)
    time.sleep(60)


def leave(status):
    sys.stdout.flush()
    os._exit(status)


def write(text):
    os.write(1, text)


def stall():
    sys.stdout.flush()
    while True:
        time.sleep(60)


def error(code, **more):
    say(type="error", code=code, message="a test", **more)
    leave(0)


# Faults before the request is carried out.
BEFORE = {
    "exit 1": lambda: leave(1),
    "exit 0 without a word": lambda: leave(0),
    "killed": lambda: die(),
    "a crash": lambda: die(signal.SIGABRT),
    "no JSON": lambda: (write(b"hello\n"), leave(0)),
    "no UTF-8": lambda: (write(b'{"type":"result","url":"\xff\xfe"}\n'), leave(0)),
    "no object": lambda: (write(b'["result"]\n'), leave(0)),
    "no type": lambda: (write(b'{"found":true}\n'), leave(0)),
    "half a line": lambda: (write(b'{"type":"resu'), leave(0)),
    "an empty result": lambda: (write(b'{"type":"result"}\n'), leave(0)),
    "a line without an end": lambda: (write(b"x" * (4 << 20)), leave(0)),
    "a log line first": lambda: write(b"starting up\n"),
    "words on standard error": lambda: os.write(2, b"noise\n" * 50000),
    "a child that stays": lambda: subprocess.Popen(["sleep", "3"]),
    "stall": stall,
    "output closed": lambda: (os.close(1), time.sleep(0.2), os._exit(0)),
    "unavailable": lambda: error("unavailable"),
    "unavailable, retryAfter": lambda: error("unavailable", retryAfter=3),
    "unavailable, retryAfter of an hour": lambda: error("unavailable", retryAfter=3600),
    "interrupted": lambda: error("interrupted"),
    "denied": lambda: error("denied"),
    "rejected": lambda: error("rejected"),
    "tooLarge": lambda: error("tooLarge"),
    "storeFull": lambda: error("storeFull"),
    "storeUnusable": lambda: error("storeUnusable"),
    "alreadyExists": lambda: error("alreadyExists"),
    "conflict": lambda: error("conflict"),
    "verificationFailed": lambda: error("verificationFailed"),
    "an unknown code": lambda: error("whatever"),
    "no message": lambda: (write(b'{"type":"error","code":"unavailable"}\n'), leave(0)),
}


def at(kind, act):
    """Calls `act` instead of printing each line of that type."""

    def patched(**line):
        return act(line) if line["type"] == kind else say(**line)

    folder.say = patched


def before_link(act):
    def patched(staged, target):
        act(staged)
        link(staged, target)

    os.link = patched


def damage(staged):
    with open(staged, "r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))


def changed(**fields):
    return lambda line: say(**{name: value for name, value in {**line, **fields}.items() if value is not None})


# Faults while the request is carried out.
DURING = {
    "killed before it is staged": lambda: at("staged", lambda _: die()),
    "exit before it is staged": lambda: at("staged", lambda _: leave(1)),
    "stall before it is staged": lambda: at("staged", lambda _: stall()),
    "staged twice": lambda: at("staged", lambda line: (say(**line), say(**line))),
    "progress backwards": lambda: at("progress", lambda line: (say(**line), say(type="progress", sent=0))),
    "progress beyond the end": lambda: at("progress", changed(sent=1 << 40)),
    "killed before the commit": lambda: before_link(lambda _: die()),
    "killed after the commit": lambda: at("result", lambda _: die()),
    "exit 0 after the commit": lambda: at("result", lambda _: leave(0)),
    "exit 1 after the commit": lambda: at("result", lambda _: leave(1)),
    "stall after the commit": lambda: at("result", lambda _: stall()),
    "error after the commit": lambda: at("result", lambda _: error("unavailable")),
    "half a result": lambda: at("result", lambda _: (write(b'{"type":"res'), leave(0))),
    "exit 3 after the result": lambda: at("result", lambda line: (say(**line), leave(3))),
    "killed after the result": lambda: at("result", lambda line: (say(**line), die())),
    "the result twice": lambda: at("result", lambda line: (say(**line), say(**line))),
    "words after the result": lambda: at("result", lambda line: (say(**line), write(b"bye\n"))),
    "a wrong size": lambda: at("result", changed(size=3)),
    "a wrong digest": lambda: at("result", changed(digest="sha256:" + "0" * 64)),
    "no digest": lambda: at("result", changed(digest=None)),
    "no size": lambda: at("result", changed(size=None)),
    "no address": lambda: at("result", changed(url=None)),
    "damaged, no digest": lambda: (before_link(damage), at("result", changed(digest=None))),
    "cut short, told": lambda: (before_link(lambda path: os.truncate(path, 7)), at("result", changed(size=7, digest=None))),
}


def strikes(verb):
    """Counts the request, and returns the fault planned for it, or None."""
    with open(os.path.join(PLACE, "requests"), "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        verbs = file.read().split() + [verb]
        file.write(verb + "\n")
    try:
        with open(os.path.join(PLACE, "plan.json")) as file:
            plan = json.load(file)
    except FileNotFoundError:
        return None
    nth, reach = plan["request"], plan["reach"]
    if len(verbs) < nth or (reach == "once" and len(verbs) > nth) or (reach == "alike" and verb != verbs[nth - 1]):
        return None
    with open(os.path.join(PLACE, "struck"), "a") as file:
        file.write(verb + "\n")
    return plan["fault"]


class Again:
    """Standard input, which returns its first line again."""

    def __init__(self, line):
        self.line = line

    def readline(self):
        line, self.line = self.line, None
        return sys.__stdin__.readline() if line is None else line


def main():
    if sys.argv[1:] == ["--faults"]:
        print(json.dumps(list(BEFORE) + list(DURING)))
        return
    line = sys.stdin.readline()
    fault = strikes(json.loads(line)["verb"])
    sys.stdin = Again(line)
    for faults in (BEFORE, DURING):
        if fault in faults:
            faults[fault]()
    folder.main()


if __name__ == "__main__":
    main()
