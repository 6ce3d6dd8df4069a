"""Checks webhooks, policies and a shared catalog from the outside. hooks.py PROGRAM

The signatures are verified with Standard Webhooks' own library; the database is a real PostgreSQL."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from receiver import Receiver, make_secret
from served import KEY, LIMIT, ROOT, Server, variant

PROGRAM = Path(sys.argv[1])
REEL = ROOT / ".build" / "debug" / "reel"


def until(condition, what):
    """Waits for the condition, also if the server waits between its tries."""
    end = time.monotonic() + 2 * LIMIT
    while not condition():
        assert time.monotonic() < end, f"it did not come: {what()}"
        time.sleep(0.05)


def events(server, *options, stdin=None):
    return subprocess.run(
        [PROGRAM, "events", "--library", server.library, *options], input=stdin, capture_output=True, text=True, check=True
    ).stdout


def form(video):
    """Returns the path, body and headers of a form with a video in it."""
    head = b'--b\r\nContent-Disposition: form-data; name=video; filename=a.mp4\r\n\r\n'
    return "/videos?author=eve", head + video + b"\r\n--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"}


def a_webhook_is_told_of_posts(folder):
    path, secret = make_secret(PROGRAM, folder)
    receiver = Receiver(secret)
    server = Server(PROGRAM, folder, "--webhook", f"http://127.0.0.1:{receiver.port}/hook", "--webhook-secret-file", str(path))
    with server:
        post = server.ask("PUT", "/videos?author=ada", variant(1)).json["post"]
        assert server.ask("PUT", "/videos", b"<html>").status == 422
        assert server.ask("PUT", "/videos?author=ada", variant(1)).status == 200
        until(lambda: receiver.events, lambda: receiver.bad)
        event = receiver.events[0]
        assert "uploads" not in event["data"]["path"], event
        assert (event["type"], event["data"]["type"]) == ("post.published", "post.published"), event
        assert event["data"]["post"] == post, event
        # The receiver is gone for a while, and the server is killed.
        receiver.close()
        second = server.ask("PUT", "/videos?author=ada", variant(2)).json["post"]
        until(lambda: "waiting\t" in events(server), lambda: events(server))
        server.kill()
        server.start()
        third = server.ask("PUT", "/videos?author=ada", variant(3)).json["post"]
        receiver = Receiver(secret, receiver.held)
        wanted = {f"post_published_{each['id']}" for each in (second, third)}
        until(lambda: receiver.ids() == wanted, receiver.ids)
        until(lambda: events(server) == "", lambda: events(server))
        # An event that the receiver refuses does not block the others.
        receiver.status = lambda body: 400 if body["data"]["post"]["author"] == "bob" else 204
        server.ask("PUT", "/videos?author=bob", variant(4))
        server.ask("PUT", "/videos?author=ada", variant(5))
        until(lambda: len(receiver.ids()) == 3, receiver.ids)
        until(lambda: 'reel_serve_webhook_deliveries_total{end="refused"} 0' not in server.ask("GET", "/metrics").body.decode(),
              lambda: "a refusal")
        receiver.status = 204
        until(lambda: len(receiver.ids()) == 4, receiver.ids)
        # A success status counts, even if the body of the answer never ends.
        told = len(receiver.ids())
        receiver.hangs = True
        server.ask("PUT", "/videos?author=ada", variant(6))
        until(lambda: len(receiver.ids()) == told + 1, receiver.ids)
        until(lambda: events(server) == "", lambda: events(server))
        receiver.hangs = False
        # If the server dies between a post and its event, the event is sent after the restart, however the video came.
        for place in ("completeCommitted", "postInserted"):
            for path, body, headers in [("/videos?author=eve", variant(f"put {place}"), {}), form(variant(f"form {place}"))]:
                told = receiver.ids()
                server.stop()
                server.environment = {"REEL_FAILPOINT": f"{place}=crash"}
                server.start()
                try:
                    server.ask("PUT" if not headers else "POST", path, body, headers)
                except (OSError, http.client.HTTPException):
                    pass
                server.kill()
                server.environment = {}
                server.start()
                until(lambda: len(receiver.ids()) == len(told) + 1, lambda: (place, path, receiver.ids()))
                # The first post's event went to an earlier receiver.
                assert receiver.ids() == {f"post_published_{each['id']}" for each in server.posts() if each["id"] != post["id"]}
        if REEL.exists():
            # Changes that `reel` makes in the same library are sent as well, in order.
            removed = subprocess.run(
                [REEL, "remove", post["id"], "--library", server.library, "--events", "-"],
                capture_output=True, text=True, check=True).stdout
            assert events(server, "--add", stdin=removed) == "1 added\n"
            until(lambda: receiver.events[-1]["type"] == "post.removed", lambda: receiver.events[-1])
            assert receiver.events[-1]["data"]["post"]["id"] == post["id"]
        assert not receiver.bad, receiver.bad
        assert server.stop() == 0
    receiver.close()


def what_can_not_work_is_told_at_once(folder):
    path, _ = make_secret(PROGRAM, folder)

    def said(*options):
        run = subprocess.run(
            [PROGRAM, "--listen", "127.0.0.1:0", "--library", f"{folder}/library", *options], capture_output=True, text=True, timeout=LIMIT)
        assert run.returncode != 0, options
        return run.stderr

    assert "https" in said("--webhook", "http://192.0.2.1/hook", "--webhook-secret-file", str(path))
    assert "--webhook-secret-file" in said("--webhook", "https://app.example/hook")
    assert "feed-vertical" in said("--policy", "feed-vertica")
    assert "--to" in said("--catalog", "postgres://postgres@127.0.0.1/reel")
    assert "https://app.example" in said("--allow-origin", "https://other.example/")
    assert "https://upload.example" in said("--url", "other.example")
    assert "PGPASSWORD" in said("--catalog", "postgres://postgres:secret@127.0.0.1/reel", "--to", f"{folder}/store")
    key = Path(folder) / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "another port" in said("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert "no address of this machine" in said("--listen", "192.0.2.1:8080", "--key-file", str(key))
    path.chmod(0o644)
    assert "chmod 600" in said("--webhook", "https://app.example/hook", "--webhook-secret-file", str(path))
    path.unlink()
    assert "new-webhook-secret" in said("--webhook", "https://app.example/hook", "--webhook-secret-file", str(path))


def a_store_that_is_not_mounted_is_not_made_anew(folder):
    store = Path(folder) / "store"
    with Server(PROGRAM, folder, "--to", str(store)) as server:
        assert server.ask("PUT", "/videos", variant(5)).status == 201
        assert server.stop() == 0
    # An empty folder, like the mount point of a disk that is not mounted.
    store.rename(Path(folder) / "away")
    store.mkdir()
    try:
        server.start()
    except RuntimeError as error:
        assert "mount it" in str(error), error
    else:
        raise AssertionError("it started")
    assert not any(store.iterdir())
    # The failed start left no catalog open.
    assert not list(Path(folder).glob("**/tmp/catalog-*.owner"))
    store.rmdir()
    (Path(folder) / "away").rename(store)
    assert server.start().stop() == 0


def a_policy_decides(folder):
    policy = Path(folder) / "short.yaml"
    policy.write_text("policy: 1\nrules:\n  duration.max: 0.5s\n")
    with Server(PROGRAM, folder, "--policy", str(policy)) as server:
        answer = server.ask("PUT", "/videos", variant(1))
        assert (answer.status, answer.code) == (422, "policy"), answer
        assert [each["rule"] for each in answer.json["problems"][0]["violations"]] == ["duration.max"], answer
        server.stop()
    with Server(PROGRAM, folder, "--policy", "feed-vertical") as server:
        answer = server.ask("PUT", "/videos", variant(1))
        assert (answer.status, answer.code) == (422, "policy"), answer
        rules = {each["rule"] for each in answer.json["problems"][0]["violations"]}
        if REEL.exists():
            # Compares the rules with those that `reel` reports.
            clip = Path(folder) / "clip.mp4"
            clip.write_bytes(variant(1))

            def reported():
                return json.loads(subprocess.run(
                    [REEL, "ingest", "--dry-run", "--library", f"{folder}/other", "--policy", "feed-vertical", "--events", "-", clip],
                    capture_output=True, text=True).stdout.splitlines()[-2])

            # Reading it may take longer than `reel` allows.
            report = reported()
            for _ in range(60):
                report = report if "violations" in report else reported()
            assert {each["rule"] for each in report["violations"]} == rules, (report, rules)
        server.stop()


def servers_share_a_catalog(folder):
    script = ROOT / "scripts" / "lib" / "postgres-server"
    if subprocess.run([script, "programs"], capture_output=True).returncode != 0:
        print("SKIPPED: servers_share_a_catalog, because PostgreSQL is not installed")
        return
    database = subprocess.Popen([script, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        _, port, place = database.stdout.readline().split()
        options = ["--catalog", f"postgres://postgres@127.0.0.1:{port}/postgres", "--to", f"{folder}/store"]
        one, two = (Server(PROGRAM, Path(folder) / name, *options) for name in ("one", "two"))
        with one, two:
            post = one.ask("PUT", "/videos?author=ada", variant(1)).json["post"]
            again = two.ask("PUT", "/videos?author=ada", variant(1))
            assert (again.status, again.json["post"]) == (200, post), again
            # Many uploads at once, each to both servers: one post per video.
            answers = []
            senders = [
                threading.Thread(target=lambda server=server, number=number: answers.append(
                    (number, server.ask("PUT", "/videos?author=ada", variant(number)))))
                for number in range(2, 12) for server in (one, two)]
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()
            for number in range(2, 12):
                seen = sorted(answer.status for each, answer in answers if each == number)
                # A server may answer 503 while the other one is publishing the same video.
                assert seen in ([200, 201], [201, 503]), (number, seen, answers)
            assert [each["id"] for each in one.posts()] == [each["id"] for each in two.posts()]
            assert len(one.posts()) == 11, one.posts()
            objects = [file for file in (Path(folder) / "store").iterdir() if not file.name.startswith(".")]
            assert len(objects) == 11, objects
            # If the database is killed during an upload, the verdict follows once it is back.
            path = one.create(len(variant(20)), Upload_Metadata=None)
            subprocess.run([script, "kill", place], check=True)
            threading.Timer(3, lambda: subprocess.run([script, "start", place], check=True)).start()
            answer = one.tus("PATCH", path, variant(20), Upload_Offset=0, Prefer="return=representation")
            assert answer.status in (201, 503), answer
            until(lambda: one.tus("GET", path).json.get("verdict") == "published", lambda: one.tus("GET", path))
            assert len(two.posts()) == 12
            # A killed server does not affect the other, and resumes its own uploads.
            path = one.create(len(variant(21)))
            one.tus("PATCH", path, variant(21)[:100], Upload_Offset=0)
            one.kill()
            assert two.ask("PUT", "/videos?author=ada", variant(22)).status == 201
            until(two.is_healthy, lambda: two.log[-5:])
            one.start()
            answer = one.tus("PATCH", path, variant(21)[100:], Upload_Offset=100, Prefer="return=representation")
            assert answer.status == 201, answer
            assert len(two.posts()) == 14
            assert two.stop() == 0
            an_address_is_for_one_upload_at_all_of_them(folder, options)
            # A server stops cleanly even if the database is gone.
            subprocess.run([script, "kill", place], check=True)
            assert one.ask("GET", "/healthz").status == 503
            assert one.stop() == 0
    finally:
        database.stdin.close()
        database.wait()


def an_address_is_for_one_upload_at_all_of_them(folder, options):
    key, owner = Path(folder) / "key", {"Authorization": f"Bearer {KEY}"}
    key.write_text(KEY)
    key.chmod(0o600)
    servers = [Server(PROGRAM, Path(folder) / name, *options, "--key-file", str(key)) for name in ("three", "four", "five")]
    with servers[0] as one, servers[1] as two, servers[2] as three:
        before = len(one.posts(**owner))

        def address():
            return re.sub(r"^https?://[^/]+", "", one.ask("POST", "/uploads?author=ada&expires=1h", headers=owner).json["url"])

        # A client whose answer was lost may send the same video again, to any server, but not another video.
        path = address()
        first = one.ask("PUT", path, variant(30))
        assert first.status == 201, first
        again = two.ask("PUT", path, variant(30))
        assert (again.status, again.json["post"]["id"]) == (200, first.json["post"]["id"]), again
        for _ in range(2):
            other = three.ask("PUT", path, variant(31))
            assert (other.status, other.code) == (422, "spent"), other
        # The same with tus, after a first upload that was not a video.
        path = address()
        assert one.ask("PUT", path, b"<html>" * 20_000).status == 422
        place = two.create(len(variant(32)), path=path)
        answer = two.tus("PATCH", place, variant(32), Upload_Offset=0)
        assert (answer.status, answer.code) == (422, "spent"), answer
        # Different videos at once, to all servers: one post.
        path, answers = address(), []
        senders = [threading.Thread(target=lambda server=server, number=number: answers.append(
            server.ask("PUT", path, variant(number)))) for number, server in enumerate(servers, 40)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        assert sorted(answer.status for answer in answers) == [201, 422, 422], answers
        assert len(one.posts(**owner)) == before + 2


def main():
    failed = 0
    for check in [
        a_webhook_is_told_of_posts, what_can_not_work_is_told_at_once, a_store_that_is_not_mounted_is_not_made_anew,
        a_policy_decides, servers_share_a_catalog,
    ]:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            try:
                check(folder)
                print(f"ok {check.__name__}")
            except Exception as error:
                failed += 1
                traceback.print_exc()
                print(f"FAILED {check.__name__}: {error}")
    sys.exit(1 if failed else 0)


main()
