#!/usr/bin/env python3
"""compose.py SITE PICTURE.png: makes a picture of a site's player in a wide window and on a phone, side by side."""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Chromium  # noqa: E402

PAGE = """<!doctype html><style>
body {{ margin: 0; width: 1240px; height: 620px; background: #dedad3; position: relative; overflow: hidden }}
img {{ position: absolute; border-radius: 12px; box-shadow: 0 6px 28px #0004 }}
</style><img src="{wide}" style="left: 24px; top: 36px; width: 880px"><img src="{phone}" style="right: 24px; top: 24px; height: 572px">"""


def main(site, picture):
    address = "file://" + os.path.abspath(site) + "/index.html"
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        files = {}
        for name, width, height, scheme, fragment in [
            ("wide", 1200, 748, "light", "#p3"), ("phone", 330, 688, "dark", "#p2"),
        ]:
            browser.media(prefers_color_scheme=scheme)
            browser.size(width, height)
            browser.open(address + fragment)
            browser.until("document.querySelector('.slide:not([inert]) video.here')")
            browser.run(
                "(async () => { const video = document.querySelector('.slide:not([inert]) video');"
                " video.ontimeupdate = () => video.currentTime > 1.2 && video.pause();"
                " while (!video.paused) await new Promise((done) => setTimeout(done, 20));"
                " document.querySelector('.paused')?.classList.remove('paused');"
                " await new Promise((done) => setTimeout(done, 400)); })()")
            files[name] = os.path.join(folder, name + ".png")
            browser.picture(files[name])
        page = os.path.join(folder, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(PAGE.format(wide=files["wide"], phone=files["phone"]))
        browser.media()
        browser.size(1240, 620)
        browser.open("file://" + page)
        browser.picture(picture)


main(*sys.argv[1:])
