#!/usr/bin/env python3
"""Compares the public API in symbol graphs with a list of it; exits with 1 if it differs.

api.py [--accept] LIST COMPILER GRAPH…: with --accept, LIST is rewritten. A list that was written with another COMPILER
is not compared, because compilers print declarations differently.
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
        # Skip symbols that the compiler synthesizes or that come from another module's protocol.
        if "location" not in symbol or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        declaration = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
        # It makes no difference to callers, because apps can't subclass any class.
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
        f"The public API differs from {listed}. A removed line breaks apps. If the change is intended, describe it in "
        "CHANGELOG.md and run scripts/docs --accept."
    )
    sys.exit(1)
