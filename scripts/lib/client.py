#!/usr/bin/env python3
"""Writes a client package that consists of what the documentation shows, and of nothing else.

client.py ROOT FOLDER: writes a package to FOLDER whose targets are the pages' Swift code blocks.

- The manifest's dependencies are those that docs/library.md shows, plus swift-log for the pages that import it.
- Each page's blocks, in their order, are one target. The blocks from the first test on are its tests, with the page's
  imports.
- Each step of the DocC tutorial is a program, and so is Examples/watch.
- For each product there is a target that imports only that product.
"""

import re
import sys
from pathlib import Path

root, folder = Path(sys.argv[1]), Path(sys.argv[2])
catalog = root / "Sources/Products/Reel/Reel.docc"
pages = [root / "docs/library.md", root / "docs/adding-an-uploader.md", *sorted((catalog / "Articles").glob("*.md"))]
steps = sorted((catalog / "Resources").glob("*-[0-9][0-9].swift"))
manifest_mark = "// Package.swift"


def blocks(page):
    return re.findall(r"^```swift\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def is_test(block):
    return re.search(r"^import Testing$|@Test|@Suite", block, re.MULTILINE) is not None


def name_of(page):
    return "".join(word.capitalize() if word.islower() else word for word in page.stem.split("-"))


products = re.findall(r'\.library\(name: "(\w+)"', (root / "Package.swift").read_text(encoding="utf-8"))
shown = next(block for page in pages for block in blocks(page) if block.startswith(manifest_mark))
# Everything before the targets; these are replaced by the pages.
dependencies = shown.removeprefix(manifest_mark).split("targets:")[0].strip()

# What a page may import besides the products, and the package that has it, by address and version.
others = {"Logging": ("swift-log", "https://github.com/apple/swift-log", "1.6.0")}
targets = []


def imported(code):
    return [one for one in others if re.search(rf"^import {one}$", "\n".join(code), re.MULTILINE)]


def dependency(name):
    package = others[name][0] if name in others else "reel"
    return f'.product(name: "{name}", package: "{package}")'


def add(kind, name, depends, path):
    words = ", ".join(
        f'"{one}"' if one in pages_made else dependency(one) for one in depends
    )
    targets.append(
        f'    .{kind}(name: "{name}", dependencies: [{words}], path: "{path}", swiftSettings: settings),'
    )


pages_made = set()
used = set()
for product in products:
    write(folder / f"Only{product}/Import.swift", f"import {product}\n")
    add("target", f"Only{product}", [product], f"Only{product}")
for page in pages:
    name, code = name_of(page), [one for one in blocks(page) if not one.startswith(manifest_mark)]
    first_test = next((number for number, one in enumerate(code) if is_test(one)), len(code))
    write(folder / f"{name}/Page.swift", "\n".join(code[:first_test]))
    depends = imported(code[:first_test])
    used.update(depends)
    add("target", name, ["Reel", *depends], name)
    if first_test < len(code):
        pages_made.add(name)
        imports = re.findall(r"^import .*\n", "\n".join(code[:first_test]), re.MULTILINE)
        write(
            folder / f"{name}Tests/Page.swift",
            "".join([f"@testable import {name}\n", *imports, "\n".join(code[first_test:])]),
        )
        add("testTarget", f"{name}Tests", [name, *products, *depends], f"{name}Tests")
for step in steps:
    write(folder / f"{step.stem}/main.swift", step.read_text(encoding="utf-8"))
    add("executableTarget", step.stem, ["Reel", "reel-probe-worker"], step.stem)
for program in sorted((root / "Examples/watch/Sources").iterdir()):
    for file in sorted(program.glob("*.swift")):
        write(folder / program.name / file.name, file.read_text(encoding="utf-8"))
    add("executableTarget", program.name, ["Reel", "reel-probe-worker"], program.name)

lines = [
    "// swift-tools-version: 6.2",
    "import PackageDescription",
    "",
    "let settings: [SwiftSetting] = [",
    '  .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("InternalImportsByDefault"),',
    "]",
    "let package = Package(",
    '  name: "client",',
    dependencies.removesuffix("],"),
    *[f'    , .package(url: "{address}", from: "{version}")' for _, address, version in map(others.get, sorted(used))],
    "  ],",
    "  targets: [",
    *targets,
    "  ],",
    "  swiftLanguageModes: [.v6]",
    ")",
    "",
]
write(folder / "Package.swift", "\n".join(lines))
