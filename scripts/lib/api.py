#!/usr/bin/env python3
"""Compares the public API in symbol graphs with a list of it; ends with 1 if it differs.

api.py [--accept] LIST GRAPH…: with --accept, LIST is written anew.
"""

import json
import sys
from pathlib import Path

arguments = sys.argv[1:]
accept = arguments[0] == "--accept"
listed, *graphs = map(Path, arguments[accept:])


def lines(graph):
    for symbol in graph["symbols"]:
        # What the compiler makes up, or another module's protocol brings, has no place or is a copy.
        if "location" not in symbol or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        declaration = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
        owner = ".".join(symbol["pathComponents"][:-1])
        yield f"{owner}: {' '.join(declaration.split())}\n"


found = {line for path in graphs for line in lines(json.loads(path.read_text(encoding="utf-8")))}
if accept:
    listed.write_text("".join(sorted(found)), encoding="utf-8")
known = set(listed.read_text(encoding="utf-8").splitlines(keepends=True))
for mark, some in [("-", known - found), ("+", found - known)]:
    sys.stdout.writelines(f"{mark} {line}" for line in sorted(some))
if known != found:
    print(
        f"The public API is not what {listed} lists: a line that is gone breaks apps. If that is meant, say so in "
        "CHANGELOG.md and run scripts/docs --accept."
    )
    sys.exit(1)
