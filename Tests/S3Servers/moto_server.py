"""Runs moto's S3 in memory, on 127.0.0.1.

  VENV/bin/python moto_server.py

Prints "ready PORT", and ends when its standard input ends.
"""

import io
import logging
import os
import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class OneAtATime:
    """Carries out one request at a time; requests are read concurrently. moto checks whether an object exists and
    stores it in two steps, but Amazon's `If-None-Match` is atomic."""

    def __init__(self, app):
        self.app = app
        self.turn = threading.Lock()

    def __call__(self, environ, start_response):
        length = environ.get("CONTENT_LENGTH")
        if length:
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(int(length)))
        with self.turn:
            return list(self.app(environ, start_response))


def main():
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
