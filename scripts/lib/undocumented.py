#!/usr/bin/env python3
"""Prints the public symbols in symbol graphs that have no documentation of their own; exits with 1 if there are any."""

import json
import sys
from urllib.parse import unquote, urlparse


def undocumented(graph):
    for symbol in graph["symbols"]:
        # Skip symbols that the compiler synthesizes or that come from another module's protocol.
        if "docComment" in symbol or "location" not in symbol or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        place = symbol["location"]
        yield (
            unquote(urlparse(place["uri"]).path),
            place["position"]["line"] + 1,
            ".".join(symbol["pathComponents"]),
        )


found, count = [], 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    count += len(graph["symbols"])
    found += undocumented(graph)
for place, line, name in sorted(found):
    print(f"{place}:{line}: {name} is public and has no documentation")
if not count:
    print("there are no symbols at all")
sys.exit(1 if found or not count else 0)
