"""moto's S3 in memory, on 127.0.0.1.

  VENV/bin/python moto_server.py

Prints "ready PORT", and ends when its standard input does.
"""

import logging
import os
import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


def main():
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
