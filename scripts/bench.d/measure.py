"""Measures commands in turn, in several rounds, and prints the medians as tab-separated lines.

    measure.py ROUNDS < commands        each line: NAME <tab> SHELL COMMAND [<tab> SHELL COMMAND BEFORE IT]

The command that runs before another is not measured.

A line of output: NAME, seconds of CPU time, seconds of wall time. CPU time is the user and system time of the whole
process tree: this process reaps orphans, so that no process's time is lost. The order changes from round to round. A
first round, which is not counted, warms the caches.

With MEASURE_BESIDE=PID, there is a fourth column: the CPU time that PID and its descendants (a server) took meanwhile.
With MEASURE_STRICT=1, it stops at any exit code but 0, because a command that fails is fast.
"""

import ctypes
import os
import statistics
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def processor_seconds(usage):
    return usage.ru_utime + usage.ru_stime


def reap_the_rest():
    """Reaps the processes that the command left behind, and returns their CPU time. The command has reaped its own
    children."""
    total = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return total
        total += processor_seconds(usage)


def clock_of(process):
    """Returns its parent, and its CPU time including that of the children it has reaped."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def tree_seconds(root):
    clocks = {int(name): clock_of(name) for name in os.listdir("/proc") if name.isdigit()}
    clocks = {process: clock for process, clock in clocks.items() if clock}
    tree, grew = {root}, True
    while grew:
        more = {process for process, (parent, _) in clocks.items() if parent in tree} - tree
        tree |= more
        grew = bool(more)
    return sum(clocks[process][1] for process in tree if process in clocks)


def measure(command, beside):
    before = tree_seconds(beside) if beside else 0.0
    start = time.monotonic()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
    _, status, usage = os.wait4(child, 0)
    wall = time.monotonic() - start
    cpu = processor_seconds(usage) + reap_the_rest()
    served = tree_seconds(beside) - before if beside else 0.0
    return (cpu, wall, served), os.waitstatus_to_exitcode(status)


def main():
    rounds = int(sys.argv[1])
    beside = int(os.environ.get("MEASURE_BESIDE", "0"))
    accepted = (0,) if os.environ.get("MEASURE_STRICT") == "1" else (0, 1, 3, 4, 123)
    commands = [(line.rstrip("\n").split("\t") + [""])[:3] for line in sys.stdin if line.strip()]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    times = {name: [] for name, _, _ in commands}
    for number in range(rounds + 1):
        turn = number % len(commands)
        for name, command, before in commands[turn:] + commands[:turn]:
            if before and os.system(before) != 0:
                sys.exit(f"{name} could not be prepared: {before}")
            sample, code = measure(command, beside)
            if code not in accepted:
                sys.exit(f"{name} ended with {code}: {command}")
            if number > 0:
                times[name].append(sample)
        print(f"round {number} of {rounds}", file=sys.stderr)
    for name, _, _ in commands:
        columns = [statistics.median(column) for column in zip(*times[name])]
        print("\t".join([name] + [f"{column:.4f}" for column in columns[: 3 if beside else 2]]))


main()
