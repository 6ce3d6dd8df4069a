#!/usr/bin/env python3
"""Prints what a site of `reel page` shows, as JSON: the place at which it opens, the titles in the player and in the
grid, in their order, and what the address of a post shows.

    shown.py SITE [ADDRESS…]
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Chromium  # noqa: E402

CURRENT = "document.querySelector('.slide:not([inert])')"
ENDED = f"{CURRENT}.querySelector('.caption') || {CURRENT}.querySelector('.failed')"


def total(browser):
    browser.until(f"{CURRENT} || document.body.matches('.nothing')", "the feed is there")
    return int(browser.run(f"{CURRENT}?.getAttribute('aria-setsize') ?? 0"))


def caption(browser, place):
    browser.until(f"{CURRENT}?.getAttribute('aria-posinset') === '{place}' && ({ENDED})", f"post {place} is shown")
    return browser.run(f"{CURRENT}.querySelector('.caption')?.textContent ?? null")


def opening(browser):
    if not total(browser):
        return None
    browser.until(f"{CURRENT} && ({ENDED})", "a post is shown")
    return int(browser.run(f"{CURRENT}.getAttribute('aria-posinset')"))


def player(browser):
    browser.key("Home", 36)
    captions = []
    for place in range(1, total(browser) + 1):
        if place > 1:
            browser.key("ArrowDown", 40)
        captions.append(caption(browser, place))
    return captions


def main(site, *addresses):
    page = "file://" + os.path.abspath(site) + "/index.html"
    with Chromium() as browser:
        browser.size(1024, 700)
        browser.open(page)
        shown = {"opening": opening(browser), "player": player(browser)}
        browser.key("g")
        browser.until(f"document.querySelectorAll('.tile canvas').length === {len(shown['player'])}", "the grid is there")
        shown["grid"] = browser.run(
            "[...document.querySelectorAll('.tile')].map((tile) => tile.querySelector('.name').innerText)")
        shown["addresses"] = {}
        for address in addresses:
            browser.open("about:blank")
            browser.open(page + address)
            shown["addresses"][address] = {
                "caption": caption(browser, opening(browser)) if total(browser) else None,
                "number": int(browser.run("document.getElementById('position').value")),
                "says": browser.run("document.getElementById('gone').checkVisibility() ? document.getElementById('gone').innerText : ''"),
            }
        shown["requests"] = [os.path.basename(request) for request in browser.requests]
        shown["messages"] = browser.messages
    print(json.dumps(shown))


main(*sys.argv[1:])
