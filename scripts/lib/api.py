#!/usr/bin/env python3
"""Compares the public API in symbol graphs with a list of it; ends with 1 if it differs.

api.py [--accept] LIST COMPILER GRAPH…: with --accept, LIST is written anew. A list that another COMPILER's graphs were
written into is not compared: compilers print declarations in ways of their own.
"""

import json
import sys
from pathlib import Path

arguments = sys.argv[1:]
accept = arguments[0] == "--accept"
listed, compiler, *graphs = arguments[accept:]
listed, heading = Path(listed), f"# Swift {compiler}\n"


def lines(graph):
    for symbol in graph["symbols"]:
        # What the compiler makes up, or another module's protocol brings, has no place or is a copy.
        if "location" not in symbol or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        declaration = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
        # Callers can't tell, as no class may be subclassed by an app.
        declaration = declaration.removeprefix("convenience ")
        owner = ".".join(symbol["pathComponents"][:-1])
        yield f"{owner}: {' '.join(declaration.split())}\n"


found = {line for path in graphs for line in lines(json.loads(Path(path).read_text(encoding="utf-8")))}
if accept:
    listed.write_text(heading + "".join(sorted(found)), encoding="utf-8")
first, *rest = listed.read_text(encoding="utf-8").splitlines(keepends=True)
if first != heading:
    print(f"The public API was not compared: {listed} was written with {first[2:].strip()}, and this is Swift {compiler}.")
    sys.exit(0)
known = set(rest)
for mark, some in [("-", known - found), ("+", found - known)]:
    sys.stdout.writelines(f"{mark} {line}" for line in sorted(some))
if known != found:
    print(
        f"The public API is not what {listed} lists: a line that is gone breaks apps. If that is meant, say so in "
        "CHANGELOG.md and run scripts/docs --accept."
    )
    sys.exit(1)
