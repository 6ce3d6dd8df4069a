"""Prints the test targets that a change can break: those of the changed targets, and of all that depend on them.

  swift package describe --type json | python3 dependent-tests.py FILE…

A file outside all targets, such as Package.swift, affects all of them; documents and scripts affect none.
"""

import json
import sys

ELSEWHERE = ("docs/", "scripts/", ".ci/")


def changed(files, targets):
    for file in files:
        owners = [target["name"] for target in targets if file.startswith(target["path"] + "/")]
        if not owners and (file.startswith(ELSEWHERE) or file.endswith(".md")):
            continue
        yield from owners or [target["name"] for target in targets]


def main():
    targets = json.load(sys.stdin)["targets"]
    reached = set(changed(sys.argv[1:], targets))
    while True:
        more = {
            target["name"]
            for target in targets
            if target["name"] not in reached and reached.intersection(target.get("target_dependencies", []))
        }
        if not more:
            break
        reached |= more
    print(*sorted(target["name"] for target in targets if target["type"] == "test" and target["name"] in reached), sep="\n")


if __name__ == "__main__":
    main()
