#!/usr/bin/env python3
"""Uses a site of `reel page` as a person would, in a headless Chromium.

    page.py SITE [--way file|web] [--pictures FOLDER] [--axe axe.min.js]

Opens it with file: and from a plain web server on the loopback interface. Scrolls, types, plays, goes to the last post,
and checks that the page makes no other requests and logs no errors. Prints a line for each check that failed, and exits
with 1 if any did.
"""

import argparse
import functools
import http.server
import json
import math
import os
import sys
import threading
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Chromium  # noqa: E402

failures = []
FIELD = "Number(document.getElementById('position').value)"
# The place of the post, counted from the newest, which is 1.
SHOWN = f"(Number(document.getElementById('position').max) + 1 - {FIELD})"
CURRENT = "document.querySelector('.slide:not([inert])')"


def check(is_true, what):
    if not is_true:
        failures.append(what)
        print("failed: " + what, flush=True)


class Server(http.server.ThreadingHTTPServer):
    """Serves the files in a folder on a free port, without logging."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def handle(self):
            try:
                super().handle()
            except ConnectionError:
                pass

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), functools.partial(self.Handler, directory=folder))
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def is_played(post):
    return post["videoFileExtension"] in ("m4v", "mov", "mp4", "webm") and \
        post.get("videoCodec") in (None, "av1", "h264", "vp8", "vp9")


def opened(browser, address, count, feed):
    """Checks that the page opens at the newest post that browsers can play, then goes to the newest of all."""
    browser.open(address)
    played = [count + 1 - post["pageNumber"] for post in feed if is_played(post)]
    place = min((place for place in played if place <= 100), default=1)
    settled(browser, place)
    browser.key("Home", 36)
    settled(browser, 1)


def settled(browser, place):
    browser.until(f"{SHOWN} === {place} && {CURRENT}?.getAttribute('aria-posinset') === '{place}'",
                  f"post {place} is shown")
    browser.until(f"{CURRENT}.getAttribute('aria-label') !== 'Loading'", f"post {place} is loaded")
    browser.until(f"Math.abs({CURRENT}.getBoundingClientRect().top) < 1", f"post {place} has come to rest")


def is_bounded(browser):
    """Checks that the page holds only the posts near the current one."""
    slides = browser.run("document.querySelectorAll('.slide').length")
    loaded = browser.run("document.querySelectorAll('video[src]').length")
    playing = browser.run("[...document.querySelectorAll('video')].filter((video) => !video.paused).length")
    scripts = browser.run("document.querySelectorAll('script').length")
    check(slides <= 5 and loaded <= 3 and playing <= 1 and scripts <= 3,
          f"too much: {slides} slides, {loaded} videos loaded, {playing} playing, {scripts} scripts")


def plays(browser, count):
    """Finds a video that this browser can play, and checks that it starts by itself, muted."""
    for place in range(1, min(count, 30) + 1):
        settled(browser, place)
        video = CURRENT + ".querySelector('video')"
        browser.until(f"{video}?.readyState >= 2 || {CURRENT}.querySelector('.failed')", f"post {place} loads or fails")
        if browser.run(f"{video}.readyState >= 2"):
            browser.until(f"{video}.currentTime > 0", f"post {place} plays")
            check(browser.run(f"{video}.muted"), "sound is on before it was turned on")
            browser.key("m")
            check(not browser.run(f"{video}.muted"), "m does not turn sound on")
            browser.key("m")
            browser.key(" ", 32)
            browser.until(f"{video}.paused", "space pauses")
            browser.click(f".slide[aria-posinset='{place}'] .tap")
            browser.until(f"!{video}.paused", "a click plays")
            return True
        if place < count:
            browser.key("ArrowDown", 40)
    check(False, "no video plays")
    return False


def walk(browser, address, count, feed):
    browser.size(1024, 700)
    opened(browser, address, count, feed)
    browser.until(f"document.getElementById('total').textContent === {json.dumps(f'{count:,}')}", "the feed is there")
    if count == 1:
        return plays(browser, count)
    browser.key("ArrowDown", 40)
    settled(browser, 2)
    browser.key("k")
    settled(browser, 1)
    check(browser.run("document.getElementById('newer').disabled"), "there is nothing newer than the newest")
    plays(browser, count)
    is_bounded(browser)

    browser.key("Home", 36)
    settled(browser, 1)
    browser.wheel(300, 300, 500)
    settled(browser, 2)
    browser.click("#older")
    settled(browser, min(3, count))
    browser.key("End", 35)
    settled(browser, count)
    check(browser.run("document.getElementById('older').disabled"), "there is nothing older than the oldest")
    is_bounded(browser)
    # The address has the post's number, counted from the oldest, which stays the same when newer posts come.
    browser.until("location.hash === '#p1'", "the address names the oldest post")
    browser.open(address + "#p2")
    settled(browser, count - 1)

    middle = max(1, count // 2)
    browser.run("document.getElementById('position').select()")
    browser.click("#position")
    browser.run(f"document.getElementById('position').value = {middle}")
    browser.run("document.getElementById('go').requestSubmit()")
    # The field takes the same number as the address.
    settled(browser, count + 1 - middle)
    browser.until(f"location.hash === '#p{middle}'", f"the address has the number of post {middle}")
    # A text that is not the number of a post changes nothing, or the page says that there is no such post.
    for text, is_told in [("", False), ("-5", False), ("1e21", False), (str(count + 7), True), (str(count + 7), True)]:
        browser.run("document.getElementById('position').focus()")
        browser.run(f"document.getElementById('position').value = '{text}'")
        browser.run("document.getElementById('go').requestSubmit()")
        if is_told:
            browser.until("document.getElementById('gone').checkVisibility()", f"the page says that there is no {text}")
            settled(browser, 1)
        else:
            check(browser.run("location.hash") == f"#p{middle}", f"'{text}' leads to {browser.run('location.hash')}")
            browser.run("document.getElementById('position').blur()")
    browser.run("document.getElementById('position').focus()")
    browser.run(f"document.getElementById('position').value = {middle}")
    browser.run("document.getElementById('go').requestSubmit()")
    settled(browser, count + 1 - middle)
    browser.until(f"location.hash === '#p{middle}'", f"the address has the number of post {middle} again")
    check(not browser.run("document.getElementById('gone').checkVisibility()"), "it says that an existing post is gone")
    is_bounded(browser)

    browser.size(390, 780, touch=True)
    opened(browser, address, count, feed)
    # Across most of the window, so that it counts as a swipe at any speed.
    browser.swipe(180, 660, -560)
    settled(browser, 2)
    browser.swipe(180, 100, 560)
    settled(browser, 1)


def walk_grid(browser, address, count, feed):
    browser.size(1024, 700)
    opened(browser, address, count, feed)
    browser.key("g")
    browser.until("document.querySelector('.tile canvas')", "the grid is there")
    check(browser.run("document.querySelectorAll('.slide').length") == 0, "the player stays behind the grid")
    browser.wheel(400, 400, 100_000)
    browser.run("document.getElementById('grid').scrollTo(0, 1e9)")
    if count <= 20_000:
        browser.until("document.querySelector('.tile[href=\"#p1\"] canvas')", "the grid goes down to the oldest post")
    tiles = browser.run("document.querySelectorAll('.tile').length")
    check(tiles <= 80, f"{tiles} tiles are in the page")
    browser.until("document.querySelector('.tile .name')", "tiles have titles")
    covered = browser.run(
        "[...document.querySelectorAll('.tile .name')].filter((name) => name.getBoundingClientRect().top <"
        " name.parentElement.querySelector('.picture').getBoundingClientRect().bottom || !name.innerText).length")
    check(covered == 0, f"{covered} titles are not below their pictures")
    browser.run("document.getElementById('grid').scrollTo(0, 0)")
    browser.until("document.querySelector('.tile[data-place=\"0\"] canvas')" if count <= 20_000
                  else "document.getElementById('grid').scrollTop > 10_000 && document.querySelector('.tile canvas')")
    if count > 1:
        browser.run("document.querySelector('.tile').focus()")
        browser.key("Tab", 9)
        check(browser.run("document.activeElement.matches('.tile')"), "Tab goes from tile to tile")
    number = browser.run("document.querySelector('.tile').getAttribute('href')")
    browser.run("document.querySelector('.tile').click()")
    settled(browser, count + 1 - int(number[2:]))
    browser.run("history.back()")
    browser.until("document.body.classList.contains('gridding')", "back leads to the grid again")


def blurred(blur_hash, x, y, width=24, height=32):
    """Returns the color of a pixel of a blurHash (https://github.com/woltapp/blurhash, Algorithm.md)."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"

    def number(start, end):
        value = 0
        for character in blur_hash[start:end]:
            value = value * 83 + digits.index(character)
        return value

    def to_linear(value):
        part = value / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    def to_srgb(value):
        part = min(1, max(0, value))
        return round(255 * (part * 12.92 if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055))

    columns, rows, most = number(0, 1) % 9 + 1, number(0, 1) // 9 + 1, (number(1, 2) + 1) / 166
    average = number(2, 6)
    sums = [to_linear(average >> shift & 255) for shift in (16, 8, 0)]
    for index in range(1, columns * rows):
        value = number(4 + 2 * index, 6 + 2 * index)
        basis = math.cos(math.pi * x * (index % columns) / width) * math.cos(math.pi * y * (index // columns) / height)
        for part, digit in enumerate((value // 361, value // 19 % 19, value % 19)):
            sums[part] += math.copysign(((digit - 9) / 9) ** 2, digit - 9) * most * basis
    return [to_srgb(value) for value in sums]


def posters(browser, address, count, feed):
    """Checks that a post's poster is shown; and its blurHash before that, or if there is no poster."""
    browser.size(1024, 700)
    with_poster = [post for post in feed if post.get("posterURL")][:2]
    without = [post for post in feed if post.get("blurHash") and not post.get("posterURL")][:1]
    for post in with_poster + without:
        number, place = post["pageNumber"], count + 1 - post["pageNumber"]
        browser.open(f"{address}#p{number}")
        settled(browser, place)
        pixels = browser.run(
            f"[...{CURRENT}.querySelector('canvas.blur').getContext('2d').getImageData(0, 0, 24, 32).data]")
        for x, y in [(0, 0), (12, 16), (23, 31)]:
            drawn, wanted = pixels[4 * (24 * y + x):], blurred(post["blurHash"], x, y)
            check(max(abs(one - other) for one, other in zip(drawn, wanted)) <= 2,
                  f"post {number}: the blurHash is {wanted} at {x}, {y}, and {drawn[:3]} is drawn")
        tile = f".tile[href='#p{number}']"
        if post in with_poster:
            browser.until(f"{CURRENT}.querySelector('img.poster.here')", f"post {number} shows its poster")
            size = browser.run(
                f"(({{naturalWidth, naturalHeight}}) => [naturalWidth, naturalHeight])({CURRENT}.querySelector('img.poster'))")
            check(size == [post["posterWidth"], post["posterHeight"]], f"post {number}: its poster measures {size}")
            shown = browser.run(f"[{CURRENT}.querySelector('video').poster, {CURRENT}.querySelector('img.poster').src]")
            check(shown[0] == shown[1] and shown[0].endswith(post["posterURL"]), f"post {number}: its poster is {shown}")
            browser.key("g")
            browser.until(f"document.querySelector(\"{tile} img.poster.here\")", f"the grid shows the poster of {number}")
            check(browser.run(f"document.querySelector(\"{tile} img.poster\").loading") == "lazy",
                  "the grid requests posters that are out of sight")
        else:
            check(not browser.run(f"{CURRENT}.querySelector('.poster[src], video[poster]') !== null"),
                  f"post {number} requests a poster that it does not have")
            browser.key("g")
            browser.until(f"document.querySelector(\"{tile} canvas\")", f"the grid shows the blurHash of {number}")


def tells_codecs(browser, address, count, feed):
    """Checks that codecs are shown by their common names."""
    names = {"h264": "H.264", "hevc": "HEVC", "vp9": "VP9", "mpeg4": "MPEG-4"}
    found = {post.get("videoCodec"): post for post in feed}
    for codec in found.keys() & {*names, None}:
        post = found[codec]
        browser.open(f"{address}#p{post['pageNumber']}")
        settled(browser, count + 1 - post["pageNumber"])
        told = browser.run(
            f"[...{CURRENT}.querySelectorAll('.facts div')].filter((fact) => fact.firstChild.textContent === 'Codec')"
            ".map((fact) => fact.lastChild.textContent)")
        check(told == ([names[codec]] if codec else []), f"a post in {codec} is said to be in {told}")


def calm(browser, address, count, feed):
    """Checks that videos don't start by themselves if the user prefers reduced motion."""
    browser.media(prefers_reduced_motion="reduce")
    browser.size(1024, 700)
    opened(browser, address, count, feed)
    check(browser.run(f"{CURRENT}.querySelector('video')?.paused ?? true"), "a video plays despite reduced motion")
    if browser.run(f"{CURRENT}.querySelector('video')?.readyState >= 1"):
        browser.key(" ", 32)
        browser.until(f"!{CURRENT}.querySelector('video').paused", "space plays despite reduced motion")
    browser.media()


def is_accessible(browser, address, axe):
    with open(axe, encoding="utf-8") as file:
        source = file.read()
    browser.size(1024, 700)
    for fragment, scheme in [("", "light"), ("", "dark"), ("#grid", "light"), ("#grid", "dark")]:
        browser.media(prefers_color_scheme=scheme)
        browser.open(address + fragment)
        browser.until("document.querySelector('.tile canvas')" if fragment else CURRENT + "?.querySelector('.caption')")
        browser.run(source + "; undefined")
        found = browser.run(
            "axe.run(document, {resultTypes: ['violations'], preload: false}).then(({violations}) => violations.map((one) =>"
            " `${one.id}: ${one.help} (${one.nodes.map((node) => node.target + ' ' + (node.any[0]?.message ?? ''))"
            ".slice(0, 3).join('; ')})`))")
        for violation in found:
            check(False, f"axe, {scheme}, {fragment or 'player'}: {violation}")
    browser.media()


def take_pictures(browser, address, folder):
    os.makedirs(folder, exist_ok=True)
    for scheme in ["light", "dark"]:
        browser.media(prefers_color_scheme=scheme)
        for width, height in [(320, 640), (360, 740), (768, 1024), (1440, 900)]:
            browser.size(width, height, touch=width < 900)
            for name, fragment, ready in [
                ("player", "", f"{CURRENT}?.querySelector('video.here, .trouble')"),
                ("grid", "#grid", "document.querySelector('.tile canvas')"),
            ]:
                browser.open(address + fragment)
                browser.until(ready)
                browser.run("new Promise((done) => setTimeout(done, 700))")
                browser.picture(os.path.join(folder, f"{name}-{scheme}-{width}.png"))
    browser.media()


def fits(browser, address):
    """Checks that nothing is wider than the window."""
    for width in [320, 360, 768, 1440]:
        browser.size(width, 740, touch=width < 900)
        for fragment in ["", "#grid"]:
            browser.open(address + fragment)
            browser.until(".querySelector".join(["document", "('.tile canvas, .slide .caption')"]))
            wide = browser.run("document.documentElement.scrollWidth")
            check(wide <= width, f"at {width} pixels the page is {wide} wide {fragment}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site")
    parser.add_argument("--way", choices=["file", "web"], help="how to open it (default: both ways)")
    parser.add_argument("--pictures", help="a folder for screenshots")
    parser.add_argument("--axe", default=os.environ.get("REEL_AXE"), help="axe.min.js of axe-core")
    options = parser.parse_args()
    site = os.path.abspath(options.site)
    with open(os.path.join(site, "feed", "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    count, some = index["count"], []
    for number in range(1, min(index["pages"], 50) + 1):
        with open(os.path.join(site, "feed", f"{number}.json"), encoding="utf-8") as file:
            some += json.load(file)["posts"]
    server = Server(site)
    with Chromium() as browser:
        ways = {"file": "file://" + site + "/index.html", "web": server.address + "index.html"}
        for address in [ways[options.way]] if options.way else ways.values():
            begun = len(browser.requests), len(browser.messages)
            steps = [(walk, (count, some)), (walk_grid, (count, some)), (posters, (count, some)),
                     (tells_codecs, (count, some)), (calm, (count, some)), (fits, ())]
            if options.axe:
                steps.append((is_accessible, (options.axe,)))
            for step, arguments in steps:
                try:
                    step(browser, address, *arguments)
                except Exception:  # The next steps still run.
                    check(False, f"{address}: {step.__name__}: {traceback.format_exc(limit=-4)}")
            own = address[:-len("index.html")]
            for request in browser.requests[begun[0]:]:
                check(request.startswith((own, "about:", "file:")), "a foreign request: " + request)
            for message in browser.messages[begun[1]:]:
                check(False, f"{address}: {message}")
        if options.pictures:
            take_pictures(browser, server.address + "index.html", options.pictures)
    print(f"{count} posts, {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
