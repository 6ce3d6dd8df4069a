"""gcp-storage-emulator in memory, on 127.0.0.1.

  VENV/bin/python storage.py BUCKET

Prints "ready PORT", and ends when its standard input does.
"""

import logging
import os
import socketserver
import sys

from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import create_server


def main():
    logging.getLogger().setLevel(logging.CRITICAL)
    # It answers one after the other; twelve uploads at once have to wait their turn, not be turned away.
    socketserver.TCPServer.request_queue_size = 128
    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket=sys.argv[1])
    server.start()
    print("ready", server._api._httpd.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
