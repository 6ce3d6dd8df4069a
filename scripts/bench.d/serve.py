"""Measures how fast uploads are accepted: reel-serve next to tuspyserver and nginx (`dav_methods PUT`), in turn.

  serve.py SERVER VENV CLIP FOLDER ROUNDS LARGE SMALL     VENV: tuspyserver's; LARGE: bytes of one upload; SMALL: uploads of 2 MB

The client is the same for all: sockets and sendfile. When reel-serve answers, it has hashed, probed and published a
video; the others have only stored its bytes. Prints a line for each: the task, the server, seconds of wall time, and the
server's CPU seconds.
"""

import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

SERVER, VENV, CLIP = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
FOLDER, ROUNDS, LARGE, SMALL = Path(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]), int(sys.argv[7])
SENDERS = 8
TUS = {"Tus-Resumable": "1.0.0"}


def make_video(path, size, number):
    """Writes the clip, and `free` boxes (ISO 14496-12, 8.1.2) that differ with `number`, up to the size."""
    clip = CLIP.read_bytes()
    with open(path, "wb") as file:
        file.write(clip)
        filler = os.urandom(1 << 20)
        left = size - len(clip)
        while left > 0:
            box = min(left, 1 << 30)
            file.write(max(box, 24).to_bytes(4, "big") + b"free" + f"{number:16}".encode())
            written = 24
            while written < box:
                piece = filler[: box - written]
                file.write(piece)
                written += len(piece)
            left -= max(box, 24)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Peer:
    """A server to compare, in its own folder."""

    def __init__(self, name, protocol, command, port, path):
        self.name, self.protocol, self.command, self.port, self.path = name, protocol, command, port, path

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=open(FOLDER / f"{self.name}.log", "w"),
                                        start_new_session=True)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} does not listen; see its log")

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(60)

    def processor_time(self):
        """Returns the CPU time of all its processes, including those that have ended and been waited for."""
        found = {}
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit():
                    found[int(folder.name)] = (folder / "stat").read_text().rsplit(") ", 1)[1].split()
            except OSError:
                pass
        # Found by their parents, because reel-serve's workers have their own sessions.
        own = {self.process.pid}
        while more := {number for number, words in found.items() if int(words[1]) in own} - own:
            own |= more
        ticks = sum(int(word) for number in own & found.keys() for word in found[number][11:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def ask(self, method, path, headers, file=None):
        """Sends a request, and returns the status and headers of the reply."""
        with socket.create_connection(("127.0.0.1", self.port)) as line:
            size = file.stat().st_size if file else 0
            head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close", f"Content-Length: {size}"]
            line.sendall("\r\n".join(head + [f"{name}: {value}" for name, value in headers.items()] + ["", ""]).encode())
            if file:
                with open(file, "rb") as bytes_:
                    line.sendfile(bytes_)
            reply = b""
            while piece := line.recv(65_536):
                reply += piece
        lines = reply.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
        return int(lines[0].split()[1]), {key.lower(): value for key, _, value in (each.partition(": ") for each in lines[1:])}

    def upload(self, file, number):
        if self.protocol == "put":
            status, _ = self.ask("PUT", self.path + (f"{number}.mp4" if self.path.endswith("/") else ""), {}, file)
            assert status == 201, (self.name, status)
            return
        status, headers = self.ask("POST", self.path, {**TUS, "Upload-Length": file.stat().st_size})
        assert status == 201, (self.name, status)
        place = headers["location"]
        place = place[place.index("/", 8):] if "://" in place else place
        status, _ = self.ask(
            "PATCH", place, {**TUS, "Upload-Offset": 0, "Content-Type": "application/offset+octet-stream"}, file)
        assert status == 204, (self.name, status)


def peers(place):
    """Yields the servers, each of them empty."""
    reel = [free_port(), free_port()]
    for name, protocol, port in [("reel-serve, PUT", "put", reel[0]), ("reel-serve, tus", "tus", reel[1])]:
        yield Peer(name, protocol,
                   [SERVER, "--listen", f"127.0.0.1:{port}", "--library", place / name, "--max-size", "100GB", "--log-level", "error"],
                   port, "/videos" if protocol == "put" else "/uploads")
    if (VENV / "bin" / "uvicorn").exists():
        port = free_port()
        (FOLDER / "app.py").write_text(
            "from fastapi import FastAPI\nfrom tuspyserver import create_tus_router\napp = FastAPI()\n"
            f"app.include_router(create_tus_router(prefix='files', files_dir={str(place / 'tus')!r}, max_size=1 << 40))\n")
        (place / "tus").mkdir(parents=True)
        yield Peer("tuspyserver", "tus",
                   [VENV / "bin" / "uvicorn", "--app-dir", FOLDER, "--port", str(port), "--log-level", "error", "app:app"], port, "/files/")
    if shutil.which("nginx"):
        port = free_port()
        for name in ("nginx", "nginx/files", "nginx/body"):
            (place / name).mkdir(parents=True, exist_ok=True)
        (FOLDER / "nginx.conf").write_text(f"""daemon off; pid {place}/nginx/pid; error_log stderr; worker_processes auto;
{'user root;' if os.geteuid() == 0 else ''}
events {{}}
http {{ access_log off; client_max_body_size 0; client_body_temp_path {place}/nginx/body;
  server {{ listen 127.0.0.1:{port}; location / {{ root {place}/nginx/files; dav_methods PUT; }} }} }}
""")
        yield Peer("nginx, PUT", "put", ["nginx", "-c", FOLDER / "nginx.conf"], port, "/")


def measure(peer, files):
    """Uploads the files, and returns the wall time and the server's CPU time, in seconds."""
    waiting, faults = list(enumerate(files)), []

    def send():
        while waiting and not faults:
            try:
                number, file = waiting.pop()
            except IndexError:
                return
            try:
                peer.upload(file, number)
            except Exception as error:
                faults.append(error)

    os.sync()
    before, begun = peer.processor_time(), time.monotonic()
    senders = [threading.Thread(target=send) for _ in range(min(SENDERS, len(files)))]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    seconds = time.monotonic() - begun
    if faults:
        raise faults[0]
    return seconds, peer.processor_time() - before


def main():
    sources = FOLDER / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    tasks = {"one large": [sources / "large.mp4"], "many small": [sources / f"{number}.mp4" for number in range(SMALL)]}
    make_video(tasks["one large"][0], LARGE, 0)
    for number, file in enumerate(tasks["many small"]):
        make_video(file, 2_000_000, number + 1)
    for task, files in tasks.items():
        found = {}
        # One warm-up round first: the first process to use the memory pays for it, as much as for everything else.
        for turn in range(-1, ROUNDS):
            place = FOLDER / "round"
            everyone = list(peers(place))
            for peer in everyone[turn % len(everyone):] + everyone[:turn % len(everyone)]:
                peer.start()
                try:
                    measured = measure(peer, files)
                    if turn >= 0:
                        found.setdefault(peer.name, []).append(measured)
                finally:
                    peer.stop()
            shutil.rmtree(place)
        for name, rounds in found.items():
            wall, processor = (statistics.median(each[index] for each in rounds) for index in (0, 1))
            print(f"{task}\t{name}\t{wall:.2f}\t{processor:.2f}", flush=True)


main()
