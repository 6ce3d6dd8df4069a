"""Checks a server with third-party clients (curl, tuspy, aiotus) and sockets: checks.py PROGRAM [HOSTILE FILES [CHECK...]]"""

import asyncio
import base64
import hashlib
import http.client
import io
import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import aiotus
from prometheus_client.parser import text_string_to_metric_families
from tusclient import client as tus_client
from tusclient.exceptions import TusCommunicationError

from served import CLIPS, KEY, LIMIT, ROOT, Server, answer_of, finish, unless_late, until, variant

PROGRAM = Path(sys.argv[1])
HOSTILE = Path(sys.argv[2]) if len(sys.argv) > 2 else None
CHECKS = []
with_key = ("--key-file", "KEY")
OWNER = {"Authorization": f"Bearer {KEY}"}
FORM = b"--b\r\nContent-Disposition: form-data; name=v; filename=a.mp4\r\n\r\n" + variant("form") + b"\r\n--b--\r\n"


def check(*options):
    """Registers a check, which gets a server with these options."""

    def add(function):
        CHECKS.append((function, options))
        return function

    return add


def curl(url, *options, body=None):
    """Sends a request with curl; returns the status, the JSON, and the number of bytes sent."""
    with tempfile.NamedTemporaryFile() as answer:
        said = subprocess.run(
            ["curl", "--silent", "--show-error", "--noproxy", "*", "--output", answer.name,
             "--write-out", "%{http_code} %{size_upload}", *options, url],
            input=body, capture_output=True, check=True).stdout.split()
        return int(said[0]), json.load(answer), int(said[1])


def is_late(status, answer):
    return status == 503 and answer["problems"][0]["code"] == "timeout"


def insistently(*arguments, is_open=is_late, **more):
    """The same, but sends the request again for as long as the verdict is late."""
    end = time.monotonic() + LIMIT
    while True:
        said = curl(*arguments, **more)
        if not is_open(*said[:2]) or time.monotonic() > end:
            return said
        time.sleep(10)


def sent(body, method="PUT", path="/videos", *more, server, **how):
    """Sends a body with curl; returns the status, the JSON, and the number of bytes sent."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        return insistently(server.url + path, "--request", method, "--upload-file", file.name, *more, **how)


# Plain uploads


@check()
def a_video_is_a_post_once(server):
    clip = (CLIPS / "captioned.mp4").read_bytes()
    status, first, _ = sent(clip, path="/videos?author=ada&caption=First%20light", server=server)
    assert (status, first["v"], first["ok"], first["verdict"], first["problems"]) == (201, 1, True, "published", [])
    post = first["post"]
    assert (post["author"], post["caption"], post["sourceName"]) == ("ada", "First light", None)
    assert post["digest"] == "sha256:" + hashlib.sha256(clip).hexdigest()
    assert (server.library / "media" / post["video"]).read_bytes() == clip
    status, again, _ = sent(clip, "POST", "/videos?author=ada", server=server)
    assert (status, again["verdict"], again["post"]) == (200, "duplicate", post)
    assert sent(clip, path="/videos?author=bob", server=server)[0] == 201
    assert len(server.posts()) == 2
    assert not list((server.library / "uploads").glob("*/bytes"))


@check("--to", "STORE", "--public-base-url", "https://cdn.example/v/", "--posters")
def videos_go_where_they_are_to(server):
    answer = server.ask("PUT", "/videos", variant(1))
    assert answer.status == 201, answer
    post = answer.json["post"]
    assert post["videoURL"] == "https://cdn.example/v/" + post["video"], post
    assert post["posterURL"] == "https://cdn.example/v/" + post["poster"], post
    assert (server.folder / "store" / post["video"]).read_bytes() == variant(1)


@check()
def curl_may_send_it_in_chunks(server):
    _, answer, _ = insistently(server.url + "/videos", "--upload-file", "-", body=(CLIPS / "silent.mp4").read_bytes())
    assert answer["verdict"] == "published", answer


@check()
def what_is_no_video_is_refused(server):
    paths = sorted((ROOT / "Samples" / "broken").iterdir())
    assert len(paths) > 10, paths
    for path in paths:
        status, answer, _ = sent(path.read_bytes(), server=server)
        if path.stat().st_size == 0:
            assert (status, answer["problems"][0]["code"]) == (400, "badRequest"), (path, status, answer)
            continue
        assert status == 422 and answer["ok"] is False and answer["post"] is None, (path, status, answer)
        assert answer["problems"][0]["code"] and answer["problems"][0]["message"], (path, answer)
    assert server.posts() == []


@check()
def the_first_bytes_are_enough(server):
    line = server.begin("PUT", "/videos", Content_Length=1 << 30)
    line.sendall(b"<html>" + b" " * (65_536 + 16 - 6))
    answer = answer_of(line)
    assert (answer.status, answer.code) == (422, "notMedia"), answer


@check("--max-size", "100kB")
def what_is_too_large_is_refused_before_its_first_byte(server):
    status, answer, bytes_sent = sent(bytes(2_000_000), "PUT", "/videos", "--expect100-timeout", str(LIMIT), server=server)
    assert (status, answer["problems"][0]["code"], bytes_sent) == (413, "tooLarge", 0)
    # Without a length, the server notices while it receives the body.
    line = server.begin("PUT", "/videos", Transfer_Encoding="chunked")
    line.sendall(b"186A1\r\n" + variant(1, size=100_001)[:100_001] + b"\r\n")
    answer = answer_of(line)
    assert (answer.status, answer.code) == (413, "tooLarge"), answer
    assert server.tus("POST", "/uploads", Upload_Length=100_001).status == 413
    # A form has a few more bytes than its video.
    line = server.begin("POST", "/videos", Content_Type="multipart/form-data; boundary=b", Content_Length=100_000 + 65_537,
                        Expect="100-continue")
    answer = answer_of(line)
    assert (answer.status, answer.code) == (413, "tooLarge"), answer
    until(lambda: server.left() == [])


@check()
def a_plain_upload_that_is_cut_leaves_nothing(server):
    line = server.begin("PUT", "/videos", Content_Length=1000)
    line.sendall(variant(1)[:500])
    until(lambda: server.left() != [])
    line.close()
    until(lambda: server.left() == [])


@check()
def curl_may_fill_in_a_form(server):
    def form(*parts):
        words = [word for part in parts for word in ("--form" if "=@" in part else "--form-string", part)]
        return insistently(server.url + "/videos?author=ada", *words)[1]

    clip = CLIPS / "phone-portrait.mov"
    answer = form(f"video=@{clip}", "caption=At the end; \"ü\"")
    assert answer["verdict"] == "published", answer
    post = answer["post"]
    assert (post["caption"], post["author"]) == ('At the end; "ü"', "ada"), post
    assert post["digest"] == "sha256:" + hashlib.sha256(clip.read_bytes()).hexdigest()
    for parts in [["caption=Nothing"], [f"a=@{clip}", f"b=@{clip}"]]:
        answer = form(*parts)
        assert answer["problems"][0]["code"] == "badRequest", answer
    # A form ends with its last boundary and is limited in its parts, so these are refused.
    def part(name, value):
        return b"--b\r\nContent-Disposition: form-data; name=" + name + b"\r\n\r\n" + value + b"\r\n"
    whole = part(b"video; filename=a.mp4", variant(9)) + b"--b--\r\n"
    for text in [whole + bytes(1_000_000), part(b"x", b"") * 3000 + whole, part(b"x" * 60_000, bytes(20_000)) + whole]:
        answer = server.ask("POST", "/videos", text, {"Content-Type": "multipart/form-data; boundary=b"})
        assert (answer.status, answer.code) == (400, "badRequest"), answer
    assert not list((server.library / "uploads").glob("*/bytes"))


@check("--url", "https://upload.example/")
def who_does_not_wait_asks_later(server):
    answer = server.ask("PUT", "/videos", variant(1), {"Prefer": "respond-async"})
    assert (answer.status, answer.json["verdict"]) == (202, None), answer
    place = answer.headers["Location"]
    assert place.startswith("https://upload.example/uploads/"), place
    until(lambda: server.ask("GET", place.removeprefix("https://upload.example")).json["verdict"] == "published")


@check("--to", "STORE")
def a_store_that_is_gone_is_no_verdict(server):
    video, store = variant(1), server.folder / "store"
    assert server.ask("PUT", "/videos", variant(0)).status == 201
    store.rename(server.folder / "away")
    store.write_text("not a folder")
    answer = server.ask("PUT", "/videos", video)
    assert answer.status == 503 and answer.headers["Retry-After"] and str(store) not in str(answer), answer
    assert not list((server.library / "uploads").glob("*/bytes"))
    path = server.create(len(video))
    assert server.tus("PATCH", path, video, Upload_Offset=0).status == 503
    # No answer that a client could take for a verdict, or for a reason to start over.
    head = server.tus("HEAD", path)
    assert (head.status, head.headers["Upload-Offset"]) == (423, str(len(video))), head
    assert head.headers["Retry-After"] and "Reel-Verdict" not in head.headers, head
    store.unlink()
    (server.folder / "away").rename(store)
    answer = server.tus("PATCH", path, b"", Upload_Offset=len(video))
    assert (answer.status, answer.headers["Reel-Verdict"]) == (204, "published"), answer


# tus, with tuspy


def tuspy(server, video, path="/uploads", headers=None, **options):
    file = tempfile.NamedTemporaryFile()
    file.write(video)
    file.flush()
    uploader = tus_client.TusClient(server.url + path, headers=headers or {}).uploader(file.name, **options)
    uploader.kept = file
    return uploader


@check()
def tuspy_uploads(server):
    for number, checksum in enumerate([False, True]):
        video = variant(number, size=100_000)
        uploader = tuspy(
            server, video, chunk_size=30_000, upload_checksum=checksum,
            metadata={"filename": "a.mp4", "author": "ada", "caption": "Über"})
        finish(uploader)
        path = uploader.url[len(server.url):]
        answer = server.ask("GET", path)
        assert (answer.json["verdict"], answer.json["upload"]["offset"]) == ("published", len(video)), answer
        assert answer.json["post"]["caption"] == "Über"
        assert server.tus("HEAD", path).headers["Reel-Post"] == answer.json["post"]["id"]
    assert len(server.posts()) == 2


@check()
def tuspy_goes_on_after_the_server_was_killed(server):
    video = variant(1, size=300_000)
    uploader = tuspy(server, video, chunk_size=50_000)
    uploader.upload(stop_at=100_000)
    server.kill()
    server.start()
    again = tuspy(server, video, chunk_size=50_000, url=uploader.url)
    assert again.offset == 100_000
    finish(again)
    assert server.ask("GET", again.url[len(server.url):]).json["verdict"] == "published"


@check()
def tuspy_is_told_of_a_refusal(server):
    uploader = tuspy(server, b"no video at all")
    try:
        finish(uploader)
        raise AssertionError("a text was taken")
    except TusCommunicationError as error:
        assert error.status_code == 422 and b"notMedia" in error.response_content, error


# tus, with aiotus


def aiotus_upload(server, file, chunk=65_536):
    """Uploads with aiotus, and returns the path of the upload; None if it failed."""
    configuration = aiotus.RetryConfiguration(max_retry_period_seconds=0.2, retry_attempts=5 * LIMIT)
    place = asyncio.run(aiotus.upload(
        server.url + "/uploads", file, {"author": b"ada", "caption": "Über".encode()}, config=configuration, chunksize=chunk))
    return place and place.path


@check()
def aiotus_uploads(server):
    video = variant(1, size=300_000)
    answer = server.ask("GET", aiotus_upload(server, io.BytesIO(video)))
    assert answer.json["verdict"] == "published", answer
    assert (answer.json["post"]["caption"], answer.json["post"]["author"]) == ("Über", "ada")
    assert answer.json["post"]["digest"] == "sha256:" + hashlib.sha256(video).hexdigest()


@check()
def aiotus_goes_on_when_the_server_is_killed(server):
    begun, killed = threading.Event(), threading.Event()

    class Pausing(io.BytesIO):
        """A file that waits in the middle until the server has been killed."""

        def read(self, *size):
            if self.tell() > 100_000:
                begun.set()
                killed.wait(LIMIT)
            return super().read(*size)

    video, paths = variant(1, size=300_000), []
    sender = threading.Thread(target=lambda: paths.append(aiotus_upload(server, Pausing(video), 8_192)))
    sender.start()
    assert begun.wait(LIMIT)
    server.kill()
    server.start()
    killed.set()
    sender.join(LIMIT)
    assert paths and paths[0], "aiotus gave up, or does not finish"
    assert server.ask("GET", paths[0]).json["verdict"] == "published"
    assert [post["digest"] for post in server.posts()] == ["sha256:" + hashlib.sha256(video).hexdigest()]


# tus, request by request


@check()
def tus_says_what_it_can(server):
    answer = server.ask("OPTIONS", "/uploads")
    assert answer.status == 204 and answer.headers["Tus-Version"] == "1.0.0"
    assert answer.headers["Tus-Resumable"] == "1.0.0" and answer.headers["Tus-Max-Size"] == "4000000000"
    assert "sha1" in answer.headers["Tus-Checksum-Algorithm"].split(",")
    for name in ["creation", "creation-with-upload", "expiration", "termination", "checksum"]:
        assert name in answer.headers["Tus-Extension"].split(",")


@check()
def tus_refuses_what_does_not_fit(server):
    video = variant(1)
    path = server.create(len(video), Upload_Metadata="filename YS5tcDQ=")
    head = server.tus("HEAD", path)
    assert (head.status, head.headers["Upload-Offset"], head.headers["Upload-Length"]) == (200, "0", str(len(video)))
    assert head.headers["Upload-Metadata"] == "filename YS5tcDQ=" and "no-store" in head.headers["Cache-Control"]
    assert head.headers["Upload-Expires"].endswith(" GMT")
    answer = server.tus("PATCH", path, b"x", Upload_Offset=1)
    assert (answer.status, answer.headers["Upload-Offset"]) == (409, "0"), answer
    assert server.tus("PATCH", path, b"x", Upload_Offset=0, Content_Type="video/mp4").status == 415
    for version in ["0.2.2", None]:
        answer = server.tus("PATCH", path, b"x", Upload_Offset=0, Tus_Resumable=version)
        assert (answer.status, answer.headers["Tus-Version"]) == (412, "1.0.0"), answer
    before = server.left()
    answer = server.tus(
        "POST", "/uploads", b"hello!", Upload_Length=5, Content_Type="application/offset+octet-stream")
    assert answer.status == 413 and server.left() == before, answer
    assert server.tus("PATCH", path, b"x", Upload_Offset=-1).status == 400
    answer = server.tus("PATCH", path, video + b"x", Upload_Offset=0)
    assert (answer.status, answer.headers["Upload-Offset"]) == (413, "0"), answer
    answer = server.tus("PATCH", "/uploads/" + "0" * 32, b"x", Upload_Offset=0)
    assert answer.status == 404 and "Upload-Offset" not in answer.headers, answer
    assert server.tus("PATCH", "/uploads/../../etc/passwd", b"x", Upload_Offset=0).status == 404
    assert server.tus("HEAD", path).headers["Upload-Offset"] == "0"
    wrong = "sha1 " + base64.b64encode(hashlib.sha1(b"other").digest()).decode()
    answer = server.tus("PATCH", path, video[:100], Upload_Offset=0, Upload_Checksum=wrong)
    assert (answer.status, answer.code, answer.headers["Upload-Offset"]) == (460, "checksum", "0"), answer
    assert server.tus("HEAD", path).headers["Upload-Offset"] == "0"
    right = "sha256 " + base64.b64encode(hashlib.sha256(video[:100]).digest()).decode()
    answer = server.tus("PATCH", path, video[:100], Upload_Offset=0, Upload_Checksum=right)
    assert (answer.status, answer.headers["Upload-Offset"]) == (204, "100"), answer
    # Some clients can't send PATCH.
    answer = server.ask("POST", path, video[100:200], {
        "Tus-Resumable": "1.0.0", "X-HTTP-Method-Override": "PATCH", "Upload-Offset": "100",
        "Content-Type": "application/offset+octet-stream"})
    assert (answer.status, answer.headers["Upload-Offset"]) == (204, "200"), answer
    assert server.tus("DELETE", path).status == 204
    assert server.tus("HEAD", path).status == 404
    assert server.left() == []


@check()
def the_last_byte_is_answered_with_the_verdict(server):
    video = variant(1)
    answer = server.tus(
        "POST", "/uploads", video, Upload_Length=len(video), Content_Type="application/offset+octet-stream")
    assert (answer.status, answer.headers["Reel-Verdict"]) == (201, "published"), answer
    path = server.create(len(video))
    answer = server.tus("PATCH", path, video, Upload_Offset=0)
    assert (answer.status, answer.body, answer.headers["Reel-Verdict"]) == (204, b"", "duplicate"), answer
    # A client that missed the answer asks again.
    again = server.tus("PATCH", path, b"", Upload_Offset=len(video), Prefer="return=representation")
    assert (again.status, again.json["verdict"]) == (200, "duplicate"), again
    path = server.create(5)
    for _ in range(2):
        answer = server.tus("PATCH", path, b"hello" if _ == 0 else b"", Upload_Offset=5 * _)
        assert (answer.status, answer.code, answer.headers["Reel-Verdict"]) == (422, "notMedia", "refused"), answer
    # A client that missed a refusal must not take the upload for a success.
    assert server.tus("HEAD", path).status == 422
    path = server.create(1_000_000)
    assert server.tus("PATCH", path, b"<html>" + b" " * 100_000, Upload_Offset=0).status == 422
    assert server.tus("HEAD", path).status == 422
    # An empty upload is refused.
    answer = server.tus("POST", "/uploads", Upload_Length=0)
    assert (answer.status, answer.code) == (422, "empty"), answer
    assert len(server.posts()) == 1


def patching(server, path, offset, length, video):
    """Returns a connection on which a part of a PATCH was sent and received, and nothing more comes."""
    line = server.begin(
        "PATCH", path, Tus_Resumable="1.0.0", Upload_Offset=offset, Content_Length=length,
        Content_Type="application/offset+octet-stream")
    line.sendall(video)
    until(lambda: reached(server, path) == offset + len(video))
    return line


def reached(server, path):
    """Returns the offset of an upload, without interrupting the connection that sends it."""
    return server.ask("GET", path).json["upload"]["offset"]


@check()
def the_later_goes_on(server):
    # Dead connections that nobody closes.
    video = variant(1)
    path = server.create(len(video))
    first = patching(server, path, 0, len(video), video[:100])
    second = patching(server, path, 100, len(video) - 100, video[100:200])
    answer = answer_of(first)
    assert (answer.status, answer.code, answer.headers["Upload-Offset"]) == (400, "interrupted", "100"), answer
    head = server.tus("HEAD", path)
    assert (head.status, head.headers["Upload-Offset"]) == (200, "200"), head
    answer = answer_of(second)
    assert (answer.code, answer.headers["Upload-Offset"]) == ("interrupted", "200"), answer
    answer = server.tus("PATCH", path, video[200:], Upload_Offset=200)
    assert (answer.status, answer.headers["Reel-Verdict"]) == (204, "published"), answer
    path = server.create(len(video))
    line = patching(server, path, 0, len(video), video[:100])
    assert server.tus("DELETE", path).status == 204
    assert answer_of(line).code == "interrupted"
    assert server.tus("HEAD", path).status == 404
    # The same with the IETF draft, where HEAD returns the offset from which the server will accept bytes.
    draft = {"Upload-Draft-Interop-Version": "6", "Upload-Complete": "?1"}
    line = server.begin("PUT", "/videos?author=ada", Upload_Draft_Interop_Version=6, Upload_Complete="?1",
                        Content_Length=len(video))
    path = re.search(r"(?i)location: (\S+)", informed(line))[1]
    line.sendall(video[:1000])
    until(lambda: reached(server, path) == 1000)
    assert server.ask("HEAD", path, headers=draft).headers["Upload-Offset"] == "1000"
    answer = server.ask(
        "PATCH", path, video[1000:], draft | {"Upload-Offset": "1000", "Content-Type": "application/partial-upload"})
    assert (answer.status, answer.json["verdict"]) == (201, "published"), answer
    assert answer_of(line).code == "interrupted"


@check()
def two_that_send_at_once_mix_nothing(server):
    video = variant(2, size=2_000_000)
    path, ends, faults = server.create(len(video)), [], []

    def send():
        try:
            send_all()
        except Exception as error:
            faults.append(error)

    def send_all():
        # Like a client that resumes by itself, from the offset that the server returns.
        while True:
            head = server.tus("HEAD", path)
            offset = int(head.headers["Upload-Offset"])
            if head.status != 200 or offset == len(video):
                return
            try:
                ends.append(server.tus("PATCH", path, video[offset:offset + 300_000], Upload_Offset=offset).status)
            except OSError:
                # The answer came while the client was still sending.
                ends.append(0)

    senders = [threading.Thread(target=send, daemon=True) for _ in range(3)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(LIMIT)
        assert not sender.is_alive(), ends
    assert not faults, faults
    until(lambda: server.tus("HEAD", path).status != 423)
    answer = server.ask("GET", path).json
    assert answer["verdict"] == "published", (answer, ends)
    assert answer["post"]["digest"] == "sha256:" + hashlib.sha256(video).hexdigest()
    assert set(ends) <= {0, 204, 400, 409, 423}, ends


@check(*with_key)
def an_address_takes_over_a_line_that_is_dead(server):
    path, video = address(server), variant(1)
    before = server.begin("PUT", path, Content_Length=len(video))
    before.sendall(video[:100])
    until(lambda: "busy_uploads 1" in server.ask("GET", "/metrics", headers=OWNER).body.decode())
    answer = server.ask("PUT", path, video)
    assert (answer.status, answer.json["verdict"]) == (201, "published"), answer
    assert answer_of(before).code == "interrupted"


@check("--keep", "1s")
def what_is_not_finished_in_time_is_gone(server):
    path = server.create(100)
    until(lambda: server.tus("HEAD", path).status in (404, 410))
    assert server.tus("PATCH", path, b"x", Upload_Offset=0).status in (404, 410)


# So long that this program may stand still for some seconds between two calls.
@check("--patience", "10s")
def who_says_nothing_is_not_waited_for(server):
    # All at once, because each takes its time. What has to arrive together is sent together.
    path = server.create(1000)
    plain = server.begin_with(variant(1)[:500], "PUT", "/videos", Content_Length=1000)
    # Clients of resumable uploads give up on a 4xx.
    resumable = server.begin_with(
        variant(1)[:500], "PATCH", path, Tus_Resumable="1.0.0", Upload_Offset=0, Content_Length=1000,
        Content_Type="application/offset+octet-stream")
    # Nor does the server wait for a first request that never comes. Proxies keep connections open between requests.
    silent = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)
    # Once another request has begun, it has to arrive as well.
    kept = server.begin("GET", "/posts")
    with plain, resumable, silent, kept:
        assert answer_of(kept).status == 200
        kept.sendall(b"GET /heal")
        answer = answer_of(plain)
        assert (answer.status, answer.code) == (408, "tooSlow"), answer
        answer = answer_of(resumable)
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "tooSlow", "1"), answer
        assert server.tus("HEAD", path).headers["Upload-Offset"] == "500"
        assert silent.recv(1) == b""
        assert kept.recv(1) == b""


@check()
def nothing_is_kept_for_another_protocol(server):
    before = server.memory()
    for method, path, more in [("GET", "/healthz", {"Connection": "Upgrade", "Upgrade": "h2c"}), ("CONNECT", "a:1", {})]:
        line = server.begin(method, path, **more)
        # The server reads no more of it, and ends it although the client does not.
        try:
            for _ in range(400):
                line.sendall(bytes(1 << 20))
        except ConnectionError:
            pass
        else:
            raise AssertionError(f"400 MB after a {method} were taken")
    assert server.memory() - before < 100_000_000, (before, server.memory())
    assert server.ask("PUT", "/videos", variant(1), {"Connection": "Upgrade", "Upgrade": "h2c"}).status == 201
    until(server.is_healthy)


@check("--patience", "5s")
def who_reads_no_answer_is_not_waited_for(server):
    requests = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode() * 1000
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as line:
        try:
            while True:
                line.sendall(requests)
        except ConnectionError:
            pass
    assert time.monotonic() - begun >= 5


@check()
def a_server_that_is_stopped_leaves_uploads_to_go_on_with(server):
    video = variant(1, size=100_000)
    path = server.create(len(video))
    line = server.begin(
        "PATCH", path, Tus_Resumable="1.0.0", Upload_Offset=0, Content_Length=len(video),
        Content_Type="application/offset+octet-stream")
    line.sendall(video[:1000])
    until(lambda: reached(server, path) == 1000)
    assert server.stop() == 0
    server.start()
    assert server.tus("HEAD", path).headers["Upload-Offset"] == "1000"
    assert server.tus("PATCH", path, video[1000:], Upload_Offset=1000).headers["Reel-Verdict"] == "published"


# The IETF draft, as URLSession sends it


def informed(line):
    """Reads the head of the next response on the connection, which may be an informational one."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += line.recv(1)
    return head.decode()


def drafted(line, path, length, server):
    """Reads the answer to a complete upload; if the verdict is late, asks for it as a client that missed the answer."""
    return unless_late(answer_of(line), lambda: server.ask("PATCH", path, b"", {
        "Upload-Draft-Interop-Version": "6", "Upload-Complete": "?1", "Upload-Offset": str(length),
        "Content-Type": "application/partial-upload"}))


@check()
def a_plain_upload_goes_on_by_the_draft(server):
    for version, complete, part_type in [(3, "Upload_Incomplete", "video/mp4"), (6, "Upload_Complete", "application/partial-upload")]:
        video = variant(version, size=100_000)
        said = {complete: "?0" if version == 3 else "?1"}
        line = server.begin("POST", f"/videos?author=v{version}", Upload_Draft_Interop_Version=version,
                            Content_Length=len(video), **said)
        head = informed(line)
        assert head.startswith("HTTP/1.1 104 "), head
        path = re.search(r"(?i)location: (\S+)", head)[1]
        line.sendall(video[:60_000])
        until(lambda: reached(server, path) == 60_000)
        line.close()
        server.kill()
        server.start()
        headers = {"Upload-Draft-Interop-Version": str(version)}
        stands = server.ask("HEAD", path, headers=headers)
        assert (stands.status, stands.headers["Upload-Offset"]) == (204, "60000"), stands
        assert stands.headers[complete.replace("_", "-")] == ("?1" if version == 3 else "?0"), stands
        headers |= {"Upload-Offset": "50000", "Content-Type": part_type, complete.replace("_", "-"): list(said.values())[0]}
        answer = server.ask("PATCH", path, video[50_000:], headers)
        assert (answer.status, answer.headers["Upload-Offset"]) == (409, "60000"), answer
        headers["Upload-Offset"] = "60000"
        answer = server.ask("PATCH", path, video[60_000:], headers)
        assert (answer.status, answer.json["verdict"], answer.json["post"]["author"]) == (201, "published", f"v{version}"), answer
    # A client that missed the answer asks for it; a refusal must not look like a success.
    headers = {"Upload-Draft-Interop-Version": "6"}
    line = server.begin("PUT", "/videos", Content_Length=5, Upload_Complete="?1", Upload_Draft_Interop_Version=6)
    path = re.search(r"(?i)location: (\S+)", informed(line))[1]
    line.sendall(b"hello")
    assert drafted(line, path, 5, server).status == 422
    assert server.ask("HEAD", path, headers=headers).status == 422
    # In a single request, without a length.
    line = server.begin(
        "PUT", "/videos", Upload_Draft_Interop_Version=6, Upload_Complete="?1", Transfer_Encoding="chunked")
    path = re.search(r"(?i)location: (\S+)", informed(line))[1]
    video = variant(7)
    line.sendall(f"{len(video):x}\r\n".encode() + video + b"\r\n0\r\n\r\n")
    answer = drafted(line, path, len(video), server)
    assert (answer.status, answer.json["verdict"]) == (201, "published"), answer
    answer = server.ask("OPTIONS", "/videos", headers={"Upload-Draft-Interop-Version": "6"})
    assert "max-size=" in answer.headers["Upload-Limit"], answer
    assert len(server.posts()) == 3
    # URLSession sends the same fields with a form.
    answer = server.ask("POST", "/videos?author=form", FORM, {
        "Upload-Draft-Interop-Version": "3", "Upload-Incomplete": "?0", "Content-Type": "multipart/form-data; boundary=b"})
    assert (answer.status, answer.json["verdict"]) == (201, "published"), answer


# Authorization


@check(*with_key)
def only_who_has_the_key(server):
    for method, path in [("PUT", "/videos"), ("POST", "/uploads"), ("GET", "/posts"), ("GET", "/metrics")]:
        assert server.ask(method, path).status == 401, path
        assert server.ask(method, path, headers={"Authorization": "Bearer x"}).status == 401, path
    assert server.tus("POST", "/uploads", Upload_Length=5).status == 401
    until(server.is_healthy)
    assert server.ask("GET", "/library/catalog.sqlite").status == 404
    answer = server.ask("PUT", "/videos?author=ada", variant(1), OWNER)
    assert (answer.status, answer.json["post"]["author"]) == (201, "ada"), answer
    assert 'reel_serve_verdicts_total{verdict="published"} 1' in server.ask("GET", "/metrics", headers=OWNER).body.decode()
    uploader = tuspy(server, variant(2), headers=OWNER)
    finish(uploader)
    assert len(server.posts(**OWNER)) == 2


@check(*with_key)
def numbers_are_what_prometheus_reads(server):
    assert server.ask("PUT", "/videos", variant(1), OWNER).status == 201
    assert server.ask("PUT", "/videos", b"no video", OWNER).status == 422
    assert server.ask("GET", '/nothing"here\\').status == 404
    text = server.ask("GET", "/metrics", headers=OWNER).body.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    verdicts = {sample.labels["verdict"]: sample.value for sample in families["reel_serve_verdicts"].samples}
    assert verdicts == {"published": 1, "refused": 1, "duplicate": 0, "removed": 0}, verdicts
    times = families["reel_serve_request_seconds"]
    assert times.type == "histogram"
    counts = {
        (sample.labels["place"], sample.labels["status"]): sample.value for sample in times.samples if sample.name.endswith("_count")
    }
    # Verdicts that were late; any other 503 would have been noticed above.
    counts.pop(("videos", "5xx"), None)
    assert counts == {("videos", "2xx"): 1, ("videos", "4xx"): 1, ("other", "4xx"): 1}, counts
    for place, status in counts:
        buckets = [
            sample.value
            for sample in times.samples
            if sample.name.endswith("_bucket") and (sample.labels["place"], sample.labels["status"]) == (place, status)
        ]
        assert buckets == sorted(buckets) and buckets[-1] == counts[place, status], buckets
    assert families["reel_build_info"].samples[0].value == 1


@check()
def a_trace_is_logged(server):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    traced = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    assert server.ask("PUT", "/videos", variant(1), traced).status == 201
    assert server.ask("PUT", "/videos", variant(2), {"traceparent": "00-evil\"=1-x-01"}).status == 201
    def judged():
        return [line for line in server.log if "judged" in line and "not judged" not in line]

    until(lambda: len(judged()) == 2)
    assert [f"trace={trace}" in line for line in judged()] == [True, False]
    assert not any("evil" in line for line in server.log), server.log


@check(*with_key)
def an_address_is_for_one_upload(server):
    printed = subprocess.run(
        [PROGRAM, "upload-url", "--key-file", server.folder / "key", "--author", "ada", "--max-size", "200kB",
         "--expires", "1h"], capture_output=True, text=True, check=True).stdout.strip()
    assert server.ask("PUT", printed, variant(1, size=300_000)).status == 413
    assert server.ask("PUT", printed + "?caption=" + "x" * 5_000, variant(1)).status == 400
    answer = server.ask("PUT", printed + "?author=eve&caption=Hi", variant(1))
    assert (answer.status, answer.json["post"]["author"], answer.json["post"]["caption"]) == (201, "ada", "Hi"), answer
    again = server.ask("PUT", printed, variant(2))
    assert again.json["post"] == answer.json["post"], again
    for forged in [printed[:-1] + ("A" if printed[-1] != "A" else "B"), "/u/x.y", "/u/"]:
        assert server.ask("PUT", forged, variant(3)).status in (403, 404), forged
    answer = server.ask("POST", "/uploads?author=bob&maxSize=1MB&expires=1h", headers=OWNER)
    assert answer.status == 201, answer
    uploader = tuspy(server, variant(4), path=answer.json["url"], metadata={"author": "eve"})
    finish(uploader)
    # The same request again leads to the same upload; another file of the same length does not.
    assert tuspy(server, variant(4), path=answer.json["url"], metadata={"author": "eve"}).create_url() == uploader.url
    again = server.tus("POST", answer.json["url"], Upload_Length=len(variant(4)), Upload_Metadata="filename YS5tcDQ=")
    assert (again.status, again.code) == (409, "spent"), again
    assert server.ask("GET", uploader.url[len(server.url):]).json["post"]["author"] == "bob"
    assert server.tus("POST", answer.json["url"], Upload_Length=7).status == 409
    assert len(server.posts(**OWNER)) == 2


def address(server, query="author=ada&expires=1h"):
    """Returns the path of a new address for one upload."""
    return re.sub(r"^\w+://[^/]+", "", server.ask("POST", "/uploads?" + query, headers=OWNER).json["url"])


@check(*with_key)
def an_address_bounds_every_part_of_an_upload(server):
    video = variant(1, size=600_000)
    draft = {"Upload-Draft-Interop-Version": "5"}
    for total in [None, str(len(video))]:
        path = address(server, "author=ada&maxSize=100kB&expires=1h")
        line = server.begin("POST", path, Upload_Draft_Interop_Version=5, Upload_Complete="?0", Content_Length=50_000)
        place = re.search(r"(?i)location: (\S+)", informed(line))[1]
        line.sendall(video[:50_000])
        assert answer_of(line).status == 201
        more = draft | {"Upload-Offset": "50000", "Upload-Complete": "?1" if total is None else "?0"}
        if total:
            more["Upload-Length"] = total
        # With a length, and without one, when the server notices while it receives the body.
        answer = server.ask("PATCH", place, video[50_000:], more)
        assert (answer.status, answer.code) == (413, "tooLarge"), answer
        assert (answer.headers["Upload-Offset"], answer.headers["Upload-Complete"]) == ("50000", "?0"), answer
        answer = server.ask("PATCH", place, iter([video[50_000:]]), more | {"Upload-Offset": "50000"})
        assert answer.status == 413, answer
    assert server.posts(**OWNER) == []


@check(*with_key)
def an_address_that_was_cut_may_be_begun_anew(server):
    path, video = address(server), variant(1, size=100_000)
    line = server.begin(
        "POST", path, Upload_Draft_Interop_Version=6, Upload_Complete="?1", Content_Length=len(video))
    line.sendall(video[:1000])
    line.close()
    until(lambda: server.left() and "busy_uploads 0" in server.ask("GET", "/metrics", headers=OWNER).body.decode())
    line = server.begin(
        "POST", path, Upload_Draft_Interop_Version=6, Upload_Complete="?1", Content_Length=len(video))
    head = informed(line)
    assert head.startswith("HTTP/1.1 104 "), head
    line.sendall(video)
    answer = drafted(line, re.search(r"(?i)location: (\S+)", head)[1], len(video), server)
    assert (answer.status, answer.json["verdict"]) == (201, "published"), answer


def unrecorded(server, video):
    """Sends a video whose verdict can't be recorded; returns its address, and the folder that is in the way."""
    while True:
        path, before = address(server), set(server.left())
        line = server.begin("PUT", path, Content_Length=len(video))
        line.sendall(video[:100])
        until(lambda: set(server.left()) - before)
        [name] = set(server.left()) - before
        folder = server.library / "uploads" / name
        until(lambda: (folder / "bytes").exists() and (folder / "bytes").stat().st_size == 100)
        blocked = folder / "state.json.new"
        blocked.mkdir()
        line.sendall(video[100:])
        answer = answer_of(line)
        assert answer.status == 503, answer
        # If it is late, there is none.
        if not answer.is_late:
            return path, blocked


@check(*with_key)
def an_address_is_for_one_post_whatever_fails(server):
    for number, is_killed in enumerate([False, True]):
        video = variant(10 + number)
        path, blocked = unrecorded(server, video)
        assert len(server.posts(**OWNER)) == number + 1
        if is_killed:
            server.kill()
        blocked.rmdir()
        if is_killed:
            server.start()
        # After its start, the server judges the upload by itself, and answers 423 meanwhile.
        until(lambda: server.ask("PUT", path, variant(20 + number)).status != 423)
        answer = server.ask("PUT", path, variant(20 + number))
        digest = "sha256:" + hashlib.sha256(video).hexdigest()
        assert answer.status in (200, 201) and answer.json["post"]["digest"] == digest, answer
        assert len(server.posts(**OWNER)) == number + 1


@check()
def without_a_key_it_is_for_this_machine_alone(server):
    for name, value in [("X-Forwarded-For", "1.2.3.4"), ("Via", "1.1 x"), ("Origin", "https://evil.example"), ("Host", "evil.example")]:
        answer = server.ask("PUT", "/videos", variant(1), {name: value})
        assert answer.status == 403, (name, answer)
    refused = subprocess.run(
        [PROGRAM, "--listen", "0.0.0.0:0", "--library", server.folder / "other"], capture_output=True, text=True)
    assert refused.returncode != 0 and "key" in refused.stderr
    second = subprocess.run(
        [PROGRAM, "--listen", "127.0.0.1:0", "--library", server.library], capture_output=True, text=True)
    assert second.returncode != 0 and "another server" in second.stderr


@check("--allow-origin", "https://app.example")
def pages_that_were_named_may(server):
    answer = server.ask("OPTIONS", "/uploads", headers={"Origin": "https://app.example"})
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
    assert "PATCH" in answer.headers["Access-Control-Allow-Methods"]
    answer = server.tus("POST", "/uploads", Upload_Length=5, Origin="https://app.example")
    assert answer.status == 201 and "Location" in answer.headers["Access-Control-Expose-Headers"], answer
    assert server.ask("GET", "/healthz").headers["Access-Control-Allow-Origin"] is None


def answer_to(request, server):
    """Sends bytes, and returns the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as line:
        try:
            line.sendall(request)
            line.shutdown(socket.SHUT_WR)
        except OSError:
            # The server may answer, and close, before everything was sent.
            pass
        return answer_of(line)


@check()
def what_is_no_request_is_no_secret(server):
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    close = "Connection: close\r\n"
    for request, status in [
        (f"POST /videos HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (f"POST /videos HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
        (f"POST /videos HTTP/1.1\r\n{host}Content-Length: +5\r\n\r\nhello", 400),
        (f"POST /videos HTTP/1.1\r\n{host}Content-Length: {10 ** 30}\r\n\r\nhello", 400),
        (f"POST /videos HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello", 400),
        (f"POST /videos HTTP/1.1\r\n{host}Transfer-Encoding: gzip\r\n\r\nhello", 400),
        (f"GET /healthz HTTP/1.1\r\n{host}{host}{close}\r\n", 400),
        (f"POST /videos HTTP/1.1\r\n{host}{close}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\n{host}X: {'a' * 200_000}\r\n\r\n", 400),
        ("GET /posts HTTP/1.1\r\n\r\n", 403),
        (f"GET /../../../../etc/passwd HTTP/1.1\r\n{host}{close}\r\n", 404),
        (f"GET /uploads/%2e%2e%2f%2e%2e HTTP/1.1\r\n{host}{close}\r\n", 404),
        (f"PUT /videos?author=%ff%00%zz&=&&a HTTP/1.1\r\n{host}Content-Length: 5\r\n{close}\r\nhello", 422),
        (f"POST /uploads/{'0' * 32} HTTP/1.1\r\n{host}X-HTTP-Method-Override: DE LETE\r\n{close}\r\n", 405),
        ("\x16\x03\x01\x02\x00\x01\x00", 400),
    ]:
        answer = answer_to(request.encode(), server)
        while answer.is_late:
            answer.wait()
            answer = answer_to(request.encode(), server)
        assert answer.status == status, (request[:200], answer)
    # An answer to HEAD has no body, and what follows on the connection must not be taken for one.
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT)
    for method, path, status in [("HEAD", "/nothing", 404), ("PUT", "/videos", 422), ("PUT", "/nothing", 404),
                                 ("GET", "/posts", 200)]:
        while True:
            connection.request(method, path, body=b"hello" if method == "PUT" else None)
            answer = connection.getresponse()
            if b'"timeout"' not in answer.read():
                break
            # The verdict is late.
            time.sleep(10)
        assert answer.status == status, (method, path, answer.status)


@check(*with_key)
def who_is_behind_a_proxy_hears_only_the_answer(server):
    # nginx would take a 104 for the final answer.
    for number, (name, value) in enumerate([("Connection", "close"), ("Via", "1.1 x"), ("X-Forwarded-For", "1.2.3.4")]):
        video = variant(number)
        line = server.begin("POST", "/videos", Upload_Draft_Interop_Version=6, Upload_Complete="?1",
                            Content_Length=len(video), **OWNER, **{name: value})
        line.sendall(video)
        head = informed(line)
        # The verdict may be late; this is about what comes first.
        late = head.startswith("HTTP/1.1 503 ") and b'"timeout"' in line.recv(65_536)
        assert late or head.startswith("HTTP/1.1 201 "), (name, head)
        assert re.search(r"(?i)location: \S*/uploads/", head), (name, head)
    # A client that expects 100-continue gets it.
    line = server.begin("PUT", "/videos", Content_Length=5, Expect="100-continue", Via="1.1 x", **OWNER)
    assert informed(line).startswith("HTTP/1.1 100 ")


@check()
def who_wants_to_close_is_closed(server):
    for value in ["close", "Close, TE"]:
        line = server.begin("GET", "/posts", Connection=value)
        answer = b""
        while piece := line.recv(65_536):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 200 ") and b"connection: close" in answer.lower(), answer


# The feed


@check()
def the_feed_comes_in_pages(server):
    for number in range(5):
        assert server.ask("PUT", f"/videos?author=a{number % 2}", variant(number)).status == 201
    first = server.ask("GET", "/posts?size=2").json
    assert (first["v"], first["ok"], [post["pageNumber"] for post in first["posts"]]) == (1, True, [5, 4])
    second = server.ask("GET", "/posts?size=2&before=" + first["next"]).json
    assert [post["pageNumber"] for post in second["posts"]] == [3, 2]
    assert len(server.ask("GET", "/posts?author=a1").json["posts"]) == 2
    for query in ["size=0", "size=x", "before=x", "before="]:
        assert server.ask("GET", "/posts?" + query).status == 400, query


@check()
def many_wait(server):
    paths = [server.create(1000) for _ in range(100)]
    lines = [
        server.begin(
            "PATCH", path, Tus_Resumable="1.0.0", Upload_Offset=0, Content_Length=1000,
            Content_Type="application/offset+octet-stream")
        for path in paths]
    for line in lines:
        line.sendall(variant(0)[:100])
    assert server.ask("PUT", "/videos", variant(1)).status == 201
    for line in lines:
        line.close()
    until(lambda: "reel_serve_busy_uploads 0" in server.ask("GET", "/metrics").body.decode())
    assert all(server.tus("HEAD", path).headers["Upload-Offset"] == "100" for path in paths)


# Some of the hostile files say that they are much larger.
LARGEST = 50_000_000


def hostile_files():
    """Returns the path and the permitted answers of each regular file, without those that are too large to send."""
    root, found = os.fsencode(HOSTILE), []
    for one in json.loads((HOSTILE / "expected.json").read_text()):
        name = base64.b64decode(one["pathBytes"]) if "pathBytes" in one else one["path"].encode()
        path = os.path.join(root, b"files", name)
        facts = os.lstat(path)
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= LARGEST:
            found.append((path, frozenset(one["answers"])))
    return found


def hostile_fault(path, answers, server):
    """Sends a hostile file; returns its digest if it is published, and what is wrong with the answer, if anything is."""
    with open(path, "rb") as file:
        body = file.read()

    def is_open(status, answer):
        # What takes too much time or memory can have been the machine's fault, so a file that may not has to be sent again.
        return status == 503 and answer["problems"][0]["code"] in {"timeout", "memoryLimit"} - answers

    status, answer, _ = sent(body, server=server, is_open=is_open)
    code = "ok" if answer["ok"] else answer["problems"][0]["code"]
    permitted = {(422, one) for one in answers}
    if "ok" in answers:
        permitted |= {(200, "ok"), (201, "ok")}
    if answers & {"ok", "file.refused"}:
        permitted |= {(422, "policy")}
    # No verdict yet; the server has more patience than this check.
    permitted |= {(503, one) for one in answers & {"timeout", "memoryLimit"}}
    if not body:
        permitted = {(400, "badRequest")}
    # Files with no permitted answers are those that `reel` does not take for videos by their names.
    is_right = (status, code) in permitted or not answers and status in (200, 201, 422)
    digest = "sha256:" + hashlib.sha256(body).hexdigest() if status in (200, 201) else None
    return digest, None if is_right else (path, status, answer, sorted(answers))


@check()
def hostile_files_get_answers(server):
    if HOSTILE is None:
        print("SKIPPED: hostile_files_get_answers, because no hostile files were made")
        return
    files = hostile_files()
    kinds = Counter(os.path.basename(os.path.dirname(path)) for path, _ in files)
    assert len(files) > 1500 and len(kinds) > 10, kinds
    # Side by side, because some take as long as they may.
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda file: hostile_fault(*file, server), files))
    faults = [fault for _, fault in ends if fault]
    assert not faults, faults
    published = {digest for digest, _ in ends if digest}
    assert {post["digest"] for post in server.posts()} == published and len(published) > 500, len(published)
    until(server.is_healthy)
    assert server.left() == []


def main():
    chosen = sys.argv[3:]
    passed, failed = 0, []
    for function, options in CHECKS:
        if chosen and function.__name__ not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder) / "key"
            key.write_text(KEY)
            key.chmod(0o600)
            places = {"KEY": str(key), "STORE": folder + "/store"}
            server = Server(PROGRAM, folder, *[places.get(option, option) for option in options])
            try:
                with server:
                    function(server)
                passed += 1
            except Exception:
                failed.append(function.__name__)
                traceback.print_exc()
                print("".join(server.log[-10:]), file=sys.stderr)
    if failed:
        print("failed:", ", ".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
