"""Runs tuspyserver under uvicorn, on 127.0.0.1, and serves complete uploads, as most installations do.

  VENV/bin/python tuspy.py FOLDER

Prints "ready PORT", and ends when its standard input ends.
"""

import os
import socket
import sys
import threading

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse
from tuspyserver import create_tus_router

folder = sys.argv[1]
app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=folder))


@app.get("/files/{uid}")
def get(uid: str):
    path = os.path.join(folder, os.path.basename(uid))
    if not os.path.isfile(path):
        raise HTTPException(status_code=404)
    return FileResponse(path)


def main():
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=30))
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    listening.listen(128)
    print("ready", listening.getsockname()[1], flush=True)
    server.run(sockets=[listening])


if __name__ == "__main__":
    main()
