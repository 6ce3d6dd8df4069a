"""A receiver of webhooks, with Standard Webhooks' own library."""

import http.server
import json
import subprocess
import threading
from pathlib import Path

from standardwebhooks.webhooks import Webhook

from served import held_port


class Receiver:
    """An HTTP server that receives events: accepts those with a valid signature, unless a test sets another status."""

    def __init__(self, secret, held=None):
        """`held`: the port, if it is to be that of an earlier receiver."""
        self.held = held or held_port()
        self.ending = threading.Event()
        self.events, self.bad, self.status, self.hangs = [], [], 204, False
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(body) < int(self.headers["Content-Length"]):
                    return  # The sending server was killed.
                status = receiver.status(json.loads(body)) if callable(receiver.status) else receiver.status
                if status < 300:
                    try:
                        Webhook(secret).verify(body, dict(self.headers))
                        receiver.events.append({"id": self.headers["webhook-id"], **json.loads(body)})
                    except Exception as error:
                        receiver.bad.append(error)
                        status = 401
                self.send_response(status if not receiver.hangs else 200)
                self.send_header("Content-Length", "10" if receiver.hangs else "0")
                self.end_headers()
                if receiver.hangs:
                    self.wfile.write(b"so far")
                    self.wfile.flush()
                    receiver.ending.wait()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(self.held.getsockname(), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]

    def close(self):
        self.ending.set()
        self.server.shutdown()
        self.server.server_close()

    def ids(self):
        return {event["id"] for event in self.events}


def make_secret(program, folder):
    path = Path(folder) / "secret"
    subprocess.run([program, "new-webhook-secret", path], check=True)
    assert path.stat().st_mode & 0o777 == 0o600
    return path, path.read_text().strip()
