"""Counts what two releases of Reel need for the same work, and reports what has become worse by 5 %.

    compare.py NAME OTHER REEL CLIPS    OTHER: where NAME's release is installed; REEL: the program here

Instructions are counted by `perf stat` if the machine allows it. Otherwise valgrind counts them, but only for commands
that start no workers, because it can't follow those. strace counts system calls and the bytes they move, in all processes
and threads, except futex: how often threads wait for each other is random. Each figure is the least of three runs. The
exit code is 1 if something is worse.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS, WORSE = 3, 1.05
NAME, OTHER, REEL, CLIPS = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
# One worker, because how two share their work is random.
ENVIRONMENT = {**os.environ, "REEL_JOBS": "1"}


def run(command, folder):
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def prepared(reel, command, folder):
    """Prepares the library that a command works on, and returns the command line."""
    shutil.rmtree(folder / "library", ignore_errors=True)
    if command[0] in ("feed", "again"):
        run([reel, "ingest", CLIPS, "--library", "library", "--quiet"], folder)
    words = {"again": ["ingest", CLIPS, "--library", "library", "--quiet"]}.get(command[0], command)
    return [reel, *words]


def counts_instructions():
    told = subprocess.run(["perf", "stat", "-e", "instructions:u", "true"], capture_output=True, text=True, check=False)
    return told.returncode == 0 and "not " not in told.stderr


def instructions(command, folder):
    if PERF:
        run(["perf", "stat", "-x", ",", "-o", "perf", "-e", "instructions:u", *command], folder)
        found = re.search(r"^(\d+),", (folder / "perf").read_text(), re.M)
    else:
        run(["valgrind", "--tool=none", "--log-file=/dev/null", "--tool=callgrind", "--callgrind-out-file=callgrind", *command], folder)
        found = re.search(r"^(?:summary|totals): (\d+)", (folder / "callgrind").read_text(), re.M)
    if not found:
        sys.exit(f"the instructions of {' '.join(map(str, command))} could not be counted")
    return int(found[1])


def traced(command, folder):
    """Returns the numbers of calls, syncs, bytes read and bytes written."""
    run(["strace", "-f", "-qq", "-e", "signal=none", "-o", "calls", *command], folder)
    calls, syncs, moved = 0, 0, {"read": 0, "write": 0}
    for line in (folder / "calls").read_text(errors="replace").splitlines():
        found = re.match(r"\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", line)
        if not found or line.endswith("<unfinished ...>") or found[1] == "futex":
            continue
        calls += 1
        syncs += found[1] in ("fsync", "fdatasync", "syncfs")
        result = re.search(r"= (\d+)$", line)
        for way, names in (("read", ("read", "pread64", "recvmsg")), ("write", ("write", "pwrite64", "sendmsg"))):
            if found[1] in names and result:
                moved[way] += int(result[1])
    return calls, syncs, moved["read"], moved["write"]


def installed(reel, folder):
    """Installs the program and its worker in FOLDER, without debug information, which valgrind can't read."""
    worker = "reel-probe-worker"
    beside = next(place for place in (reel.parent / worker, reel.parent.parent / "libexec/reel" / worker) if place.exists())
    for program, place in ((reel, folder / "bin/reel"), (beside, folder / "libexec/reel" / worker)):
        place.parent.mkdir(parents=True)
        subprocess.run(["strip", "-o", place, program], check=True)
    return folder / "bin/reel"


def figures(reel):
    """Yields each figure as (name, number)."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = Path(name)
        reel = installed(reel, folder / "installed")
        yield "bytes of the programs", sum(p.stat().st_size for p in (folder / "installed").rglob("reel*") if p.is_file())
        ingest = ["ingest", CLIPS, "--library", "library", "--quiet"]
        counted = [["--version"], ["feed", "--library", "library", "--json"], ["again"]]
        if PERF:
            counted += [["probe", "--jsonl", CLIPS], ingest]
        for command in counted if PERF or VALGRIND else []:
            least = min(instructions(prepared(reel, command, folder), folder) for _ in range(RUNS))
            yield f"instructions of {title(command)}", least
        for command in (["probe", "--jsonl", CLIPS], ingest, ["again"]):
            runs = [traced(prepared(reel, command, folder), folder) for _ in range(RUNS)]
            for what, column in zip(("calls", "syncs", "bytes read", "bytes written"), zip(*runs)):
                if max(column) > 0:
                    yield f"{what} of {title(command)}", min(column)
            if command is ingest:
                yield "bytes of the library's catalog", sum(p.stat().st_size for p in (folder / "library").glob("*.sqlite*"))


def title(command):
    return {"ingest": "a first ingest", "again": "ingest, nothing changed"}.get(command[0], f"reel {command[0]}")


PERF = shutil.which("perf") is not None and counts_instructions()
VALGRIND = shutil.which("valgrind") is not None
if not PERF and not VALGRIND:
    print("left out: instructions (no valgrind; --with-peers installs it)", file=sys.stderr)
before = dict(figures(OTHER / "bin/reel"))
worse = 0
print(f"| | {NAME} | now | |\n| --- | ---: | ---: | ---: |")
for what, now in figures(REEL):
    old = before.get(what)
    change = "new" if not old else f"{(now / old - 1) * 100:+.1f} %"
    if old and now > WORSE * old:
        worse += 1
        change = f"**{change}**"
    print(f"| {what} | {'' if old is None else f'{old:,}'} | {now:,} | {change} |", flush=True)
print(f"\n{worse or 'Nothing'} worse by more than 5 %")
sys.exit(1 if worse else 0)
