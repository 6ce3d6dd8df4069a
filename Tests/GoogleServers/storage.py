"""Runs gcp-storage-emulator in memory, on 127.0.0.1.

  VENV/bin/python storage.py BUCKET

Prints "ready PORT", and ends when its standard input ends.
"""

import logging
import os
import socketserver
import sys

from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import create_server


def main():
    logging.getLogger().setLevel(logging.CRITICAL)
    # The emulator serves one request at a time. Twelve uploads at once must be able to queue, not be refused.
    socketserver.TCPServer.request_queue_size = 128
    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket=sys.argv[1])
    server.start()
    print("ready", server._api._httpd.server_address[1], flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
