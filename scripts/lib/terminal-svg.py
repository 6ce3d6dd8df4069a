#!/usr/bin/env python3
"""Draws what a terminal shows: `tmux capture-pane -e -p` on stdin, an SVG on stdout.

Usage: terminal-svg.py COLUMNS. Understands the escape sequences that reel writes: bold, dim and six colours.
"""
import html
import re
import sys

COLOURS = {31: "#e06c75", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2"}
CELL, LINE, MARGIN = 8.4, 19, 16
# SVG collapses ordinary spaces.
NO_BREAK = "\u00a0"


def spans(line):
    """Yields runs of text with the same attributes, and the attributes."""
    bold = dim = False
    colour = None
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            if part:
                yield part, bold, dim, colour
            continue
        for code in (int(number or 0) for number in part[2:-1].split(";")):
            if code in (0, 39):
                colour = None
            if code in (0, 22):
                bold = dim = False
            bold, dim = bold or code == 1, dim or code == 2
            colour = COLOURS.get(code, colour)


def drawn(line, row):
    column, parts = 0, []
    for text, bold, dim, colour in spans(line):
        style = "".join(
            [
                ' font-weight="bold"' if bold else "",
                ' fill-opacity="0.6"' if dim else "",
                f' fill="{colour}"' if colour else "",
            ]
        )
        x, width = MARGIN + column * CELL, len(text) * CELL
        if text.strip():
            parts.append(
                f'<text x="{x:.1f}" y="{MARGIN + (row + 1) * LINE - 5}" textLength="{width:.1f}" '
                f'lengthAdjust="spacingAndGlyphs"{style}>{html.escape(text).replace(" ", NO_BREAK)}</text>'
            )
        column += len(text)
    return parts


def main():
    columns = int(sys.argv[1])
    lines = sys.stdin.read().rstrip("\n").split("\n")
    width, height = 2 * MARGIN + columns * CELL, 2 * MARGIN + len(lines) * LINE
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" font-family="ui-monospace, Menlo, DejaVu Sans Mono, monospace" font-size="14" '
        'fill="#d7dae0">'
    )
    print('<rect width="100%" height="100%" rx="8" fill="#1e2127"/>')
    for row, line in enumerate(lines):
        print("\n".join(drawn(line, row)))
    print("</svg>")


main()
