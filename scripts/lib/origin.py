#!/usr/bin/env python3
"""Updates the passages of the pages that depend on packaging/origin (scripts/origin).

origin.py ROOT RELEASE [--check]

A passage is the text between `<!-- origin: NAME -->` and `<!-- origin: end -->`. In Swift code, the address of Reel's
package is in `.package(url: …)`.
"""

import re
import sys
from pathlib import Path
from urllib.parse import urlparse

PAGES = ["README.md", "docs/install.md", "docs/validate.md", "docs/library.md"]
MANIFESTS = ["docs/library.md", "Sources/Products/Reel/Reel.docc/Resources/FolderToFeed-Package.swift"]


class Origin:
    def __init__(self, text, release):
        values = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
        self.repository = values["repository"].rstrip("/").removesuffix(".git")
        self.key = values["public_key"]
        self.release = release
        address = urlparse(self.repository)
        if address.scheme != "https" or not address.path.strip("/"):
            sys.exit(f"origin: packaging/origin: the repository is not an https address: {self.repository}")
        if self.key and not re.fullmatch(r"RW[A-Za-z0-9+/]{54}", self.key):
            sys.exit(f"origin: packaging/origin: this is not a minisign public key: {self.key}")
        self.is_published = address.hostname != "example.org"
        self.slug = address.path.strip("/")
        self.is_on_github = address.hostname == "github.com"
        place = "releases" if self.is_on_github else "-/releases"
        self.releases = f"{self.repository}/{place}"

    # Passages.

    def download(self):
        if not self.is_published:
            return (
                "On Debian 12 or 13, with a package ([docs/install.md](docs/install.md) covers other systems, the container "
                "image, the tarball and completions). No release is published yet: `scripts/package deb` makes one from the "
                "sources, for the system it runs on, in `.build/package`."
            )
        return (
            f"On Debian 12 or 13, with the package of your system from [the release]({self.releases}) "
            "([docs/install.md](docs/install.md) covers other systems, the container image, the tarball, signatures and "
            "completions):"
        )

    def clone(self):
        where = f"git clone {self.repository}.git && cd reel" if self.is_published else "cd reel   # your copy of the source"
        return (
            f"```\n{where}\n"
            "scripts/reel ingest Samples/clips      # builds what is missing, then runs it\n"
            "sudo scripts/install /usr/local        # /usr/local/bin/reel and its worker\n"
            "scripts/package deb                    # or tar, image, sbom, sums: into .build/package, for this system\n"
            "sudo scripts/check-package             # tries them on a bare Debian of the same release\n```"
        )

    def signature(self):
        if not (self.is_published and self.key):
            return (
                "No release is published yet. Its files will be listed with their checksums in `SHA256SUMS`, and that is "
                "signed with [minisign](https://jedisct1.github.io/minisign/); the public key will stand here. What you "
                "make yourself needs no signature."
            )
        return (
            f"The files of [a release]({self.releases}) are listed with their checksums in `SHA256SUMS`, which is signed "
            "with [minisign](https://jedisct1.github.io/minisign/):\n\n```\n"
            f"minisign -V -P {self.key} -m SHA256SUMS\n"
            "sha256sum --check --ignore-missing SHA256SUMS\n```"
        )

    def action(self, paths):
        words = f"paths: {paths}, lock: {paths}/reel.lock"
        if self.is_published and self.is_on_github and self.key:
            return f"      - uses: {self.slug}@v{self.release}\n        with: {{{words}}}"
        return (
            "      - uses: ./reel  # Reel's source, copied or as a submodule\n"
            f"        with: {{{words}, package: reel.deb}}  # a package for the runner's system"
        )

    def continuous(self):
        return (
            "```yaml\njobs:\n  fixtures:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n"
            f"{self.action('fixtures')}\n```"
        )

    def github(self):
        return (
            "```yaml\nname: fixtures\non: [push, pull_request]\njobs:\n  fixtures:\n    runs-on: ubuntu-latest\n    steps:\n"
            "      - uses: actions/checkout@v4\n        with: {lfs: true}\n"
            f"{self.action('Samples')}\n```"
        )

    def gitlab(self):
        source = f"git clone --depth 1 {self.repository}.git /tmp/reel" if self.is_published else "cp -r reel /tmp/reel"
        note = "" if self.is_published else "  # Reel's source, copied or as a submodule"
        return (
            "```yaml\nfixtures:\n  image: swift:6.2-bookworm\n  script:\n"
            f"    - {source}{note}\n"
            "    - /tmp/reel/scripts/install --yes /usr/local\n"
            "    - reel validate Samples --lock Samples/reel.lock --report junit=reel.xml\n"
            "  artifacts:\n    when: always\n    reports: {junit: reel.xml}\n```"
        )

    PASSAGES = {
        "download": download, "clone": clone, "signature": signature, "continuous": continuous, "github": github,
        "gitlab": gitlab,
    }

    def passages(self, text):
        def written(match):
            name = match[1]
            if name not in self.PASSAGES:
                sys.exit(f"origin: there is no passage {name}")
            return f"<!-- origin: {name} -->\n{self.PASSAGES[name](self)}\n<!-- origin: end -->"

        return re.sub(r"<!-- origin: (\w+) -->\n.*?<!-- origin: end -->", written, text, flags=re.DOTALL)

    def dependency(self, text):
        note = "" if self.is_published else "  // Where your copy of Reel is."
        line = f'.package(url: "{self.repository}.git", from: "{self.release}"){note}'
        text = re.sub(r'\.package\(url: "[^"]*/reel\.git", from: "[^"]*"\)(  // Where your copy of Reel is\.)?', line, text)
        return re.sub(r'`from: "\d[^"]*"`', f'`from: "{self.release}"`', text)


def main():
    root, release = Path(sys.argv[1]), sys.argv[2]
    origin = Origin((root / "packaging/origin").read_text(encoding="utf-8"), release)
    stale = []
    for name in dict.fromkeys(PAGES + MANIFESTS):
        path = root / name
        before = after = path.read_text(encoding="utf-8")
        if name in PAGES:
            after = origin.passages(after)
        if name in MANIFESTS:
            after = origin.dependency(after)
        if after != before:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
                print(f"origin: wrote {name}", file=sys.stderr)
    if stale and "--check" in sys.argv:
        sys.exit(f"origin: out of date with packaging/origin or the version: {', '.join(stale)}; run scripts/origin")


main()
