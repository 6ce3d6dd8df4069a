"""Checks a server behind nginx and Caddy, with the settings and the app that docs/serve.md shows. proxies.py PROGRAM"""

import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from tusclient import client as tus_client

from served import KEY, LIMIT, ROOT, Server, answer_of, finish, held_port, unless_late, until, variant

PROGRAM = Path(sys.argv[1])
OWNER = {"Authorization": f"Bearer {KEY}"}
PAGE = (ROOT / "docs" / "serve.md").read_text()


def block(heading, language, holding=""):
    """Returns the first block of this language below a heading of the page that contains `holding`."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE[PAGE.index(f"\n## {heading}\n"):], re.M | re.S)
    return next(text for tongue, text in blocks if tongue == language and holding in text)


class Nginx:
    def __init__(self, folder, port, upstream, location):
        for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
            (folder / name).mkdir()
        temporary = "".join(
            f"{key}_temp_path {folder}/{name};"
            for key, name in [("client_body", "body")] + [(name, name) for name in ("proxy", "fastcgi", "uwsgi", "scgi")])
        configuration = folder / "nginx.conf"
        configuration.write_text(
            f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/log;\nevents {{}}\n"
            f"http {{ access_log off; {temporary}\nlimit_conn_zone $binary_remote_addr zone=uploads:10m;\n"
            f"server {{ listen 127.0.0.1:{port};\n{location.replace('127.0.0.1:8080', upstream)} }} }}\n")
        # If this is root, nginx's workers would otherwise run as a user who may not read the folder.
        self.command = ["nginx", "-c", str(configuration), "-p", str(folder), "-e", f"{folder}/log", "-g", "user root;"]


class NginxOfThePage(Nginx):
    def __init__(self, folder, port, upstream):
        super().__init__(folder, port, upstream, block("Behind nginx or Caddy", "nginx"))


class NginxByDefault(Nginx):
    """nginx's defaults: it speaks HTTP/1.0 to the server, and passes a body on only when it is complete."""
    collects = True

    def __init__(self, folder, port, upstream):
        super().__init__(
            folder, port, upstream,
            "location / { proxy_pass http://127.0.0.1:8080; client_max_body_size 0; proxy_set_header Host $http_host; }")


class Caddy:
    def __init__(self, folder, port, upstream):
        site = block("Behind nginx or Caddy", "", "reverse_proxy")
        configuration = folder / "Caddyfile"
        configuration.write_text(
            "{\n admin off\n auto_https off\n grace_period 1s\n}\n"
            + site.replace("upload.example", f"http://127.0.0.1:{port}").replace("127.0.0.1:8080", upstream))
        self.command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(configuration)]


class Proxied:
    """A server with a proxy in front of it; requests go to the proxy."""

    def __init__(self, proxy, folder):
        key = folder / "key"
        key.write_text(KEY)
        key.chmod(0o600)
        self.held = held_port()
        self.port = self.held.getsockname()[1]
        self.server = Server(
            PROGRAM, folder, "--key-file", str(key), "--max-size", "50MB", "--url", f"http://127.0.0.1:{self.port}")
        self.kind, self.folder, self.process = proxy, folder / "proxy", None

    def __enter__(self):
        self.server.start()
        try:
            self.begin_proxy()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin_proxy(self):
        self.folder.mkdir()
        command = self.kind(self.folder, self.port, f"127.0.0.1:{self.server.port}").command
        self.log = open(self.folder / "said", "w")
        # Caddy keeps files in its home folder.
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, "HOME": str(self.folder)})

        def listens():
            assert self.process.poll() is None, (self.folder / "said").read_text()[-2000:]
            with socket.socket() as line:
                return line.connect_ex(("127.0.0.1", self.port)) == 0
        until(listens)

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(LIMIT)
        self.server.kill()

    url = Server.url
    ask, ask_once, tus, create = Server.ask, Server.ask_once, Server.tus, Server.create
    path, begin, begin_with = Server.path, Server.begin, Server.begin_with

    def address(self, query="author=ada&expires=1h"):
        return self.ask("POST", "/uploads?" + query, headers=OWNER).json["url"]

    def posts(self):
        return self.server.posts(**OWNER)


def a_video_is_a_post_and_sent_again_the_same(proxy):
    video = variant(1, size=5_000_000)
    for status in (201, 200):
        answer = proxy.ask("PUT", "/videos?author=ada", video, OWNER)
        assert answer.status == status, answer
    answer = proxy.ask("PUT", "/videos", [variant(2)[:700], variant(2)[700:]], OWNER)
    assert answer.status == 201, answer
    assert proxy.ask("PUT", "/videos", variant(3)).status == 401
    assert len(proxy.posts()) == 2


def a_refusal_comes_through(proxy):
    answer = proxy.ask("PUT", "/videos", b"<html>" + bytes(100), OWNER)
    assert (answer.status, answer.code) == (422, "notMedia"), answer
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(60_000_000)
        said = subprocess.run(
            ["curl", "--silent", "--show-error", "--noproxy", "*", "--upload-file", file.name, "--output", "/dev/null",
             "--header", f"Authorization: Bearer {KEY}", "--write-out", "%{http_code}", proxy.url + "/videos"],
            capture_output=True, text=True).stdout
    # How much curl had sent by then depends on timing.
    assert said == "413", said
    assert proxy.posts() == []


def answer_meanwhile(line):
    """Returns the answer to an incomplete request. Go's HTTP/1 server (Caddy) does not answer while it waits for bytes,
    so this keeps sending some."""
    for _ in range(1000):
        if select.select([line], [], [], 0.05)[0]:
            break
        try:
            line.sendall(bytes(1000))
        except OSError:
            # It has been answered and closed since.
            break
    return answer_of(line)


def what_is_too_large_is_refused_before_it_comes(proxy):
    if getattr(proxy.kind, "collects", False):
        return
    answer = answer_meanwhile(proxy.begin("PUT", "/videos", Content_Length=60_000_000, **OWNER))
    assert (answer.status, answer.code) == (413, "tooLarge"), answer


def a_video_is_judged_as_it_comes(proxy):
    if getattr(proxy.kind, "collects", False):
        return
    line = proxy.begin("PUT", "/videos", Content_Length=40_000_000, **OWNER)
    line.sendall(b"<html>" + b" " * 70_000)
    answer = answer_meanwhile(line)
    assert (answer.status, answer.code) == (422, "notMedia"), answer
    video = variant(1, size=1_000_000)
    line = proxy.begin("PUT", "/videos", Content_Length=len(video), **OWNER)
    line.sendall(video[:600_000])
    uploads = proxy.server.library / "uploads"
    until(lambda: any(file.stat().st_size > 300_000 for file in uploads.glob("*/bytes")))
    line.sendall(video[600_000:])
    answer = unless_late(answer_of(line), lambda: proxy.ask("PUT", "/videos", video, OWNER))
    assert answer.status == 201, answer


def tus_goes_on(proxy):
    video = variant(1, size=1_000_000)
    path = proxy.create(len(video), **OWNER)
    line = proxy.begin(
        "PATCH", path, Tus_Resumable="1.0.0", Upload_Offset=0, Content_Length=len(video),
        Content_Type="application/offset+octet-stream")
    line.sendall(video[:700_000])
    if not getattr(proxy.kind, "collects", False):
        until(lambda: proxy.ask("GET", path).json["upload"]["offset"] > 300_000)
    line.close()
    offset = int(proxy.tus("HEAD", path).headers["Upload-Offset"])
    answer = proxy.tus("PATCH", path, video[offset:], Upload_Offset=offset)
    assert (answer.status, answer.headers["Reel-Verdict"]) == (204, "published"), answer
    with tempfile.NamedTemporaryFile() as file:
        file.write(variant(2, size=300_000))
        file.flush()
        uploader = tus_client.TusClient(proxy.address()).uploader(file.name, chunk_size=100_000)
        finish(uploader)
        assert uploader.url.startswith(proxy.url + "/"), uploader.url
        assert uploader.request.response_headers["reel-verdict"] == "published"
    assert len(proxy.posts()) == 2


def the_draft_is_answered_once(proxy):
    """Checks that there is no 104, which some proxies would take for the final answer."""
    for version in (3, 6):
        answer = proxy.ask("POST", "/videos", variant(version), OWNER | {
            "Upload-Draft-Interop-Version": str(version),
            **({"Upload-Incomplete": "?0"} if version == 3 else {"Upload-Complete": "?1"})})
        assert (answer.status, answer.json["verdict"]) == (201, "published"), answer


def many_share_a_line(proxy):
    """Checks that answers belong to their requests on connections that the proxy reuses."""
    for number in range(30):
        assert proxy.ask("PUT", "/videos", b"no video", OWNER).status == 422
        assert proxy.ask("GET", "/posts?size=1", headers=OWNER).status == 200
        assert proxy.ask("PUT", "/videos", variant(number), OWNER).status == 201
    assert len(proxy.posts()) == 30


APP = None


def the_app_of_the_page_sends(proxy):
    if APP is None:
        return
    file = proxy.folder / "clip.mp4"
    file.write_bytes(variant(1, size=3_000_000))
    said = subprocess.run([APP, file, proxy.address()], capture_output=True, text=True)
    assert said.stdout.split()[:1] == ["published"], (said.stdout, said.stderr)
    file.write_bytes(b"no video")
    said = subprocess.run([APP, file, proxy.address()], capture_output=True, text=True)
    assert said.stdout.split() == ["refused", "notMedia"], (said.stdout, said.stderr)
    assert len(proxy.posts()) == 1


def app(folder):
    """Builds the page's app, with a main for the test. On Linux, URLSession is in FoundationNetworking."""
    source = folder / "main.swift"
    source.write_text(
        "import FoundationNetworking\n" + block("From an app", "swift") + """
let arguments = CommandLine.arguments
guard let address = URL(string: arguments[2]) else { fatalError("no address") }
let verdict = try await upload(URL(fileURLWithPath: arguments[1]), to: address)
print(verdict.verdict ?? "none", verdict.problems.first?.code ?? verdict.post?.id ?? "")
""")
    subprocess.run(["swiftc", "-swift-version", "6", source, "-o", folder / "app"], check=True, cwd=folder)
    return folder / "app"


def runs(program):
    """Returns whether the program runs: it may be unpacked, but not installed, and lack libraries."""
    return shutil.which(program) and subprocess.run(
        [program, "version" if program == "caddy" else "-v"], capture_output=True).returncode == 0


CHECKS = [
    a_video_is_a_post_and_sent_again_the_same, a_refusal_comes_through,
    what_is_too_large_is_refused_before_it_comes, a_video_is_judged_as_it_comes, tus_goes_on,
    the_draft_is_answered_once, many_share_a_line, the_app_of_the_page_sends,
]


def main():
    global APP
    # All requests go to this machine.
    os.environ["no_proxy"] = "*"
    passed, failed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        APP = app(Path(folder))
        for kind, program in [(NginxOfThePage, "nginx"), (NginxByDefault, "nginx"), (Caddy, "caddy")]:
            if not runs(program):
                print(f"SKIPPED: {kind.__name__}, because {program} does not run here")
                continue
            for check in CHECKS:
                with tempfile.TemporaryDirectory() as place:
                    try:
                        with Proxied(kind, Path(place)) as proxy:
                            check(proxy)
                        passed += 1
                    except Exception:
                        failed.append(f"{kind.__name__}: {check.__name__}")
                        traceback.print_exc()
    if failed:
        print("failed:", ", ".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
