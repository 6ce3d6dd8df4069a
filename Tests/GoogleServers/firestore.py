"""Google's Firestore emulator (Java), on 127.0.0.1.

  python3 firestore.py FOLDER_OF_THE_EMULATOR

Prints "ready PORT" once the emulator answers. Ends, with the emulator, when its standard input ends.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time


def free_port():
    """Returns a free port below the ephemeral range, so that the kernel gives it to no client before the emulator binds
    it."""
    while True:
        with socket.socket() as held:
            try:
                held.bind(("127.0.0.1", random.randrange(10000, 20000)))
                return held.getsockname()[1]
            except OSError:
                pass


def main():
    port = free_port()
    emulator = subprocess.Popen(
        [os.path.join(sys.argv[1], "cloud_firestore_emulator"), "start", "--host=127.0.0.1", f"--port={port}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)

    def end():
        sys.stdin.read()
        os.killpg(emulator.pid, signal.SIGKILL)
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    while emulator.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    if emulator.poll() is None:
        print("ready", port, flush=True)
    emulator.wait()


if __name__ == "__main__":
    main()
