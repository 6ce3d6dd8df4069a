"""Runs a command, and records how long it took and the peak memory of its processes.

    peak.py RESULT COMMAND…     writes: seconds of processor time, seconds of wall time, MB at most

Memory is the sum of the PSS (a page shared by n processes counts 1/n) of the command and all its descendants, from
/proc/PID/smaps_rollup, every 100 ms. If this user may not read that of a process, its resident memory counts instead,
and a message says so.

With MEASURE_STRICT=1, any exit code but 0 is an error, because a command that fails needs little.
"""

import ctypes
import os
import sys
import threading
import time

PR_SET_CHILD_SUBREAPER = 36


def parents():
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    found[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    return found


def descendants(root):
    """Returns the processes of the tree that are running now, including `root`."""
    by_child = parents()
    tree = {root}
    grew = True
    while grew:
        more = {child for child, parent in by_child.items() if parent in tree} - tree
        tree |= more
        grew = bool(more)
    return tree


def kilobytes(process, blind):
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as rollup:
            return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    except (OSError, StopIteration):
        pass
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024
    except OSError:
        return 0
    if resident:
        blind.add(process)
    return resident


def watch(root, isOver, peak):
    blind = set()
    while not isOver.wait(0.1):
        peak[0] = max(peak[0], sum(kilobytes(process, blind) for process in descendants(root)))
    if blind:
        print(f"{len(blind)} processes were counted by their resident memory", file=sys.stderr)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    result, *command = sys.argv[1:]
    child = os.posix_spawnp(command[0], command, os.environ)
    isOver, peak = threading.Event(), [0]
    watcher = threading.Thread(target=watch, args=(child, isOver, peak))
    watcher.start()
    _, status, usage = os.wait4(child, 0)
    wall = time.monotonic() - start
    isOver.set()
    watcher.join()
    code = os.waitstatus_to_exitcode(status)
    if code not in ((0,) if os.environ.get("MEASURE_STRICT") == "1" else (0, 3, 4)):
        sys.exit(f"{command[0]} ended with {code}")
    with open(result, "w", encoding="ascii") as out:
        out.write(f"{usage.ru_utime + usage.ru_stime:.4f}\t{wall:.4f}\t{peak[0] / 1024:.1f}\n")


main()
