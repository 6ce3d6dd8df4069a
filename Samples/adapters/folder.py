#!/usr/bin/env python3
"""An adapter for Reel that stores objects in a folder: an example of docs/command-uploader.md.

  REEL_ADAPTER_FOLDER=/srv/media reel ingest clips --to command:./folder.py

A store after '#', as in command:./folder.py#north, is a folder of that name in it.
"""

import errno
import hashlib
import json
import os
import shutil
import signal
import sys

OBJECT = 3
PIECE = 1 << 20


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def say(**line):
    print(json.dumps(line), flush=True)


def folder(request):
    root = os.environ.get("REEL_ADAPTER_FOLDER")
    if not root:
        raise Failure("storeUnusable", "set REEL_ADAPTER_FOLDER to the folder to store in")
    return os.path.join(os.path.abspath(root), request.get("store", "."))


def address(path):
    return "file://" + os.path.abspath(path)


def staging(request):
    return os.path.join(folder(request), ".staging")


def prepare(request):
    os.makedirs(staging(request), exist_ok=True)
    for name in os.listdir(staging(request)):
        # The name ends with the process id of the writer. If that process is gone, it left the file behind.
        if not is_alive(int(name.rpartition(".")[2])):
            os.unlink(os.path.join(staging(request), name))
    say(type="result", protocol=1, atomicCreate=True, durable=True)


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def upload(request):
    target = os.path.join(folder(request), request["key"])
    if os.path.lexists(target):
        raise Failure("alreadyExists", "there is an object of that name")
    staged = os.path.join(staging(request), "object.%d" % os.getpid())
    with open(staged, "xb") as file:
        try:
            stage(file, request)
            say(type="staged")
            if json.loads(sys.stdin.readline() or "{}").get("commit") is not True:
                raise Failure("interrupted", "it was not to be committed")
            os.link(staged, target)
            sync_folder(os.path.dirname(target))
        finally:
            os.unlink(staged)
    say(type="result", size=request["size"], digest=request["digest"], url=address(target))


def stage(file, request):
    """Copies the object, and verifies that it has the announced size and digest."""
    sha256 = hashlib.sha256()
    sent = 0
    with open(OBJECT, "rb", closefd=False) as source:
        while piece := source.read(PIECE):
            file.write(piece)
            sha256.update(piece)
            sent += len(piece)
            say(type="progress", sent=min(sent, request["size"]))
    file.flush()
    os.fsync(file.fileno())
    if sent != request["size"] or "sha256:" + sha256.hexdigest() != request["digest"]:
        raise Failure("verificationFailed", "the bytes are not those that were announced")


def sync_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def find(request):
    path = os.path.join(folder(request), request["key"])
    try:
        say(type="result", found=True, size=os.stat(path).st_size, url=address(path))
    except FileNotFoundError:
        say(type="result", found=False)


def remove(request):
    try:
        os.unlink(os.path.join(folder(request), request["key"]))
    except FileNotFoundError:
        pass
    # Even if it was gone already: the process that removed it may have died before that was durable.
    sync_folder(folder(request))
    say(type="result")


def read_back(request):
    try:
        source = open(os.path.join(folder(request), request["key"]), "rb")
    except FileNotFoundError:
        say(type="result", found=False)
        return
    with source, open(OBJECT, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target, PIECE)
        size = source.tell()
    say(type="result", found=True, size=size)


VERBS = {"prepare": prepare, "upload": upload, "find": find, "remove": remove, "readBack": read_back}
CODES = {
    errno.EEXIST: "alreadyExists",
    errno.ENOSPC: "storeFull",
    errno.EDQUOT: "storeFull",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ENOENT: "storeUnusable",
    errno.ENOTDIR: "storeUnusable",
    errno.EROFS: "storeUnusable",
}


def main():
    # On SIGTERM, exit through the exception handlers, so that the staged file is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    request = json.loads(sys.stdin.readline())
    try:
        VERBS[request["verb"]](request)
    except Failure as failure:
        say(type="error", code=failure.code, message=str(failure))
    except OSError as error:
        say(type="error", code=CODES.get(error.errno, "unavailable"), message=error.strerror or str(error))


if __name__ == "__main__":
    main()
