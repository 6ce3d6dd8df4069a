#!/usr/bin/env python3
"""Compares how a browser plays files before and after mending.

    mended.py REEL FOLDER [FLAGS…]

Mends the videos in FOLDER with these flags of `reel mend`, opens each mended file and its source in a headless Chromium,
and checks whether it opens, whether its duration is known, and whether the browser can seek to its middle. Prints a
line for each file whose results differ, then the totals; exits with 1 if a mended file does worse.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Chromium  # noqa: E402

# Doesn't play: loads the first frame, then seeks to the middle.
LOOK = """new Promise((done) => {
  const video = document.createElement('video');
  const result = { opens: false, isTimed: false, seeks: false, why: '' };
  const end = (why) => { result.why = why; video.onerror = null; video.removeAttribute('src'); video.load(); done(result); };
  const late = setTimeout(() => end('too late'), 10000);
  video.muted = true;
  video.preload = 'auto';
  video.onerror = () => { clearTimeout(late); end(video.error?.message ?? 'an error'); };
  video.onloadedmetadata = () => { result.isTimed = Number.isFinite(video.duration); };
  video.onloadeddata = () => {
    result.opens = true;
    if (!result.isTimed) { clearTimeout(late); return end(''); }
    const target = video.duration / 2;
    video.onseeked = () => {
      clearTimeout(late);
      result.seeks = video.readyState >= 2 && Math.abs(video.currentTime - target) < 0.05;
      end('');
    };
    video.currentTime = target;
  };
  video.src = %s;
})"""
FACTS = ["opens", "isTimed", "seeks"]
LOOKS = 5


def mended(reel, source, flags, folder):
    """Returns the path of each source that was mended, and that of the mended file."""
    run = subprocess.run([reel, "mend", "--jsonl", source, "-o", folder + "/", *flags], stdout=subprocess.PIPE, check=False)
    if run.returncode not in (0, 3):
        sys.exit(f"reel mend ended with {run.returncode}")
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    return [(answer["path"], answer["file"]) for answer in answers if answer.get("file")]


def look(browser, path):
    """Returns the worst of several results: on a busy machine, a browser may have read a file to its end, and so know
    its duration, before it is asked."""
    looks = [browser.run(LOOK % json.dumps(pathlib.Path(path).resolve().as_uri())) for _ in range(LOOKS)]
    return min(looks, key=lambda one: [one[fact] for fact in FACTS])


def main(reel, source, *flags):
    worse = 0
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        page = os.path.join(folder, "page.html")
        pathlib.Path(page).write_text("<!doctype html><title>mended</title>", encoding="utf-8")
        pairs = mended(reel, source, flags, os.path.join(folder, "mended"))
        browser.open(pathlib.Path(page).as_uri())
        sums = {fact: [0, 0] for fact in FACTS}
        for before, after in pairs:
            old, new = look(browser, before), look(browser, after)
            for fact in FACTS:
                sums[fact][0] += old[fact]
                sums[fact][1] += new[fact]
            if any(old[fact] != new[fact] for fact in FACTS):
                is_worse = any(old[fact] and not new[fact] for fact in FACTS)
                worse += is_worse
                print("worse" if is_worse else "better", before, old, new)
    print(f"{len(pairs)} mended;", ", ".join(f"{fact}: {old} before, {new} after" for fact, (old, new) in sums.items()))
    sys.exit(1 if worse else 0)


main(*sys.argv[1:])
