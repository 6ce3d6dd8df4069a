#!/usr/bin/env python3
"""Compares the output of `reel probe --jsonl` on two systems, field by field.

compare-facts.py REFERENCE OTHER: prints each difference that is not a known one (docs/probe.md, "By the version of
FFmpeg"), and exits with 1 if there is any.
"""

import json
import re
import sys

# The version of the reader and its confinement depend on the system.
ELSEWHERE = re.compile(r"^probe\.(ffmpeg|isolation)$")
# Patterns of (field, value in the reference, value in the other). Each belongs to a line in docs/probe.md.
KNOWN = [
    # FFmpeg's figure for a stream's bit rate.
    (r"media\.video\.bitRate", r"\d+", r"\d+"),
    # Codecs that an older FFmpeg has no name for.
    (r"media\.(video|audio\[\d+\])\.codec", r"None", r"vvc|apple_apac"),
    (r"media\.video\.(bitDepth|chroma|pixelFormat)", r"None", r".+"),
    (r"media\.warnings\.count", r"2", r"1"),
    (r"media\.warnings\[\d+\]\..*", r"codecUnknown|video\.codec|vvc1|None|its video is in a codec that .*", r"nothing"),
    # Multiview HEVC streams, which a newer FFmpeg parses.
    (r"probe\.method", r"header", r"full"),
    # VVC, for which a newer FFmpeg has a decoder.
    (r"probe\.method", r"packets", r"full"),
    # The timestamps of a program stream that begins in the middle of a group of pictures.
    (r"media\.duration", r"1\.48", r"1\.46"),
    (r"media\.bitRate", r"1660541", r"1683288"),
    (r"media\.video\.frameRate", r"None", r"1000/7"),
]


def fields(value, path=""):
    if isinstance(value, dict):
        for key in sorted(value):
            yield from fields(value[key], f"{path}.{key}" if path else key)
        if not value:
            yield path, "{}"
    elif isinstance(value, list):
        yield f"{path}.count", len(value)
        for number, item in enumerate(value):
            yield from fields(item, f"{path}[{number}]")
    else:
        yield path, value


def read(path):
    found = {}
    for line in open(path):
        if line.strip():
            value = json.loads(line)
            found[value.get("path")] = dict(fields(value))
    return found


def is_known(field, before, after):
    return any(
        re.fullmatch(pattern, field) and re.fullmatch(old, str(before)) and re.fullmatch(new, str(after))
        for pattern, old, new in KNOWN
    )


def main():
    reference, other = read(sys.argv[1]), read(sys.argv[2])
    new = known = compared = 0
    for path in sorted(reference.keys() | other.keys(), key=str):
        before, after = reference.get(path, {}), other.get(path, {})
        for field in sorted(before.keys() | after.keys()):
            if ELSEWHERE.match(field):
                continue
            compared += 1
            old, now = before.get(field, "nothing"), after.get(field, "nothing")
            if old == now:
                continue
            if is_known(field, old, now):
                known += 1
                continue
            new += 1
            print(f"{path}: {field}: {old!r} in the reference, {now!r} in the other")
    print(f"{len(other)} files, {compared} fields compared: {new} differ, and {known} as docs/probe.md describes")
    sys.exit(1 if new or not compared else 0)


main()
