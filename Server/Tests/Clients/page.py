"""Uses the page in a real browser: page.py PROGRAM. Cuts the connection, reloads and resumes; also with an address for
one upload, as a guest."""

import subprocess
import sys
import tempfile
from pathlib import Path

from served import CLIPS, KEY, ROOT, Server, until, variant

sys.path.insert(0, str(ROOT / "Tests" / "Browser"))
from chromium import Chromium  # noqa: E402

PROGRAM = Path(sys.argv[1])


class Page:
    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        self.open()

    def open(self):
        self.browser.send("Page.navigate", url=self.url)
        until(lambda: self.value("document.readyState === 'complete' && !!document.getElementById('files')"))

    def value(self, expression):
        return self.browser.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def choose(self, *paths):
        root = self.browser.send("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.send("DOM.querySelector", nodeId=root, selector="#files")["nodeId"]
        self.browser.send("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def states(self):
        return self.value("[...document.querySelectorAll('[role=status]')].map(one => one.textContent)")

    def verdicts(self):
        return self.value("[...document.querySelectorAll('[role=status]')].map(one => one.dataset.verdict || '')")


def main():
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        folder = Path(folder)
        text = folder / "text.mp4"
        text.write_text("no video")
        large = folder / "large.mp4"
        large.write_bytes(variant(1, size=100 << 20))
        with Server(PROGRAM, folder / "one") as server:
            page = Page(browser, server.url + "/")
            page.choose(CLIPS / "captioned.mp4", text)
            until(lambda: page.verdicts() == ["published", "refused"])
            assert server.posts()[0]["caption"] == "captioned", server.posts()
            # The connection is cut in the middle, and the page is reloaded before the upload resumes. The upload is so slow
            # that it is in the middle for more than a minute, however slow all else is.
            browser.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1,
                         uploadThroughput=1 << 20)
            page.choose(large)
            until(lambda: any("upload" for _ in server.left()) and offset(server) >= 4 << 20)
            server.kill()
            until(lambda: "interrupted" in page.states()[-1])
            server.start()
            until(lambda: offset(server) >= 8 << 20)
            page.open()
            browser.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1,
                         uploadThroughput=-1)
            before = offset(server)
            assert 0 < before < large.stat().st_size, before
            page.choose(large)
            until(lambda: page.verdicts() == ["published"])
            assert len(server.posts()) == 2
        key = folder / "key"
        key.write_text(KEY)
        key.chmod(0o600)
        with Server(PROGRAM, folder / "two", "--key-file", str(key)) as server:
            assert server.ask("GET", "/").status == 404
            address = subprocess.run(
                [PROGRAM, "upload-url", "--key-file", key, "--url", server.url, "--author", "ada"],
                capture_output=True, text=True, check=True).stdout.strip()
            page = Page(browser, address)
            assert page.value("document.getElementById('files').multiple") is False
            page.choose(CLIPS / "silent.mp4")
            until(lambda: page.verdicts() == ["published"])
            page.choose(CLIPS / "captioned.mp4")
            until(lambda: "ask for another" in page.states()[-1])
            posts = server.posts(Authorization=f"Bearer {KEY}")
            assert [post["author"] for post in posts] == ["ada"], posts
        # A killed server's connections end in several ways. A 503 is a verdict that is late: the verdicts above have come
        # all the same.
        expected = ("ERR_CONNECTION", "ERR_SOCKET_NOT_CONNECTED", "ERR_EMPTY_RESPONSE", "status of 4", "status of 503")
        faults = [message for message in map(str, browser.messages) if not any(one in message for one in expected)]
        assert not faults, faults
    print("1 passed, 0 failed")


def offset(server):
    """Returns the number of bytes of the largest unfinished upload."""
    files = [file.stat().st_size for file in (server.library / "uploads").glob("*/bytes")]
    return max(files, default=0)


main()
