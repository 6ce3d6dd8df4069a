"""Makes the files that `scripts/bench ingest` reads.

    make_intake.py small FOLDER COUNT BYTES CLIP…   videos of BYTES in all, no two alike
    make_intake.py large FILE BYTES CLIP            one video
    make_intake.py many FOLDER COUNT CLIP           a tree of small files; one in a thousand is a video
    make_intake.py posts LIBRARY COUNT              extends a library with one post to COUNT posts

A clip is enlarged with a `free` box after its last box, which every MP4 reader skips. Its content is random, but the
same each time.
"""

import base64
import json
import os
import random
import sqlite3
import sys
import uuid

CHUNK = 8 << 20
IN_A_FOLDER = 1000


def free_box(size, generator, out):
    """Writes a box of `size` bytes, including 16 bytes of header."""
    out.write((1).to_bytes(4, "big") + b"free" + size.to_bytes(8, "big"))
    left = size - 16
    while left > 0:
        count = min(left, CHUNK)
        out.write(generator.randbytes(count))
        left -= count


def make_video(path, clip, size, seed):
    with open(path, "wb") as out:
        out.write(clip)
        free_box(max(32, size - len(clip)), random.Random(seed), out)


def read(path):
    with open(path, "rb") as clip:
        return clip.read()


def small(folder, count, size, *clips):
    clips = [(os.path.splitext(clip)[1], read(clip)) for clip in clips]
    os.makedirs(folder)
    for number in range(int(count)):
        extension, clip = clips[number % len(clips)]
        make_video(f"{folder}/clip-{number:05}{extension}", clip, int(size) // int(count), number)


def large(path, size, clip):
    make_video(path, read(clip), int(size), 1)


def many(folder, count, clip):
    clip = read(clip)
    for number in range(int(count)):
        place = f"{folder}/{number // IN_A_FOLDER:04}"
        if number % IN_A_FOLDER == 0:
            os.makedirs(place)
        path = f"{place}/clip-{number % IN_A_FOLDER:03}.mp4"
        if number % 1000 == 500:
            make_video(path, clip, 0, number)
        else:
            with open(path, "wb", buffering=0) as out:
                out.write(b"Number %d is named like a video and is none.\n" % number)


def names(generator):
    """Returns the id, the first part of the key, and the digest of a post."""
    letters = base64.b32encode(generator.randbytes(14)).decode().rstrip("=")
    return uuid.UUID(bytes=generator.randbytes(16)), letters[:22], generator.randbytes(32)


def posts(library, count):
    count = int(count)
    catalog = sqlite3.connect(f"{library}/catalog.sqlite", isolation_level=None)
    run = catalog.execute
    created, text = run("SELECT createdAt, document FROM post").fetchone()
    document = json.loads(text)
    size, destination, old_key = run("SELECT size, destination, objectKey FROM intent").fetchone()
    generator = random.Random(1)

    def rows():
        for number in range(2, count + 1):
            post, name, digest = names(generator)
            key = name + old_key[old_key.index("."):]
            changed = dict(document, id=str(post).upper(), video=key)
            changed["videoURL"] = document["videoURL"].replace(old_key, key)
            yield number, post.bytes, key, digest, created + number, json.dumps(changed, separators=(",", ":"))

    run("BEGIN")
    for number, post, key, digest, at, changed in rows():
        run(
            "INSERT INTO intent (number, postID, destination, objectKey, digest, author, ordinal, size, state,"
            " createdAt, changedAt) VALUES (?, ?, ?, ?, ?, x'', 0, ?, 1, ?, ?)",
            (number, post, destination, key, digest, size, at, at))
        run(
            "INSERT INTO post (pageNumber, id, intent, createdAt, document) VALUES (?, ?, ?, ?, ?)",
            (number, post, number, at, changed))
    run("UPDATE feed SET lastPageNumber = ?", (count,))
    run("UPDATE destination SET posts = ?, bytes = ?", (count, count * size))
    run("COMMIT")
    run("PRAGMA wal_checkpoint(TRUNCATE)")


kinds = {"small": small, "large": large, "many": many, "posts": posts}
kinds[sys.argv[1]](*sys.argv[2:])
