"""Measures commands in turn, several rounds, and prints the medians as tab separated lines.

    measure.py ROUNDS < commands        each line: NAME <tab> SHELL COMMAND [<tab> SHELL COMMAND BEFORE IT]

What goes before each run of a command is not measured.

A line of output: NAME, seconds of processor time, seconds of wall time. Processor time is user and system time
of the whole tree: this process is the reaper of orphans, so that nobody's time is lost. The order changes from
round to round; a first round, not counted, warms the caches.
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
    """Collects what the command left behind; its own children, it has collected itself."""
    total = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return total
        total += processor_seconds(usage)


def measure(command):
    start = time.monotonic()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
    _, status, usage = os.wait4(child, 0)
    wall = time.monotonic() - start
    return processor_seconds(usage) + reap_the_rest(), wall, os.waitstatus_to_exitcode(status)


def main():
    rounds = int(sys.argv[1])
    commands = [(line.rstrip("\n").split("\t") + [""])[:3] for line in sys.stdin if line.strip()]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    times = {name: [] for name, _, _ in commands}
    for number in range(rounds + 1):
        turn = number % len(commands)
        for name, command, before in commands[turn:] + commands[:turn]:
            if before and os.system(before) != 0:
                sys.exit(f"{name} could not be prepared: {before}")
            cpu, wall, code = measure(command)
            if code not in (0, 1, 3, 4, 123):
                sys.exit(f"{name} ended with {code}: {command}")
            if number > 0:
                times[name].append((cpu, wall))
        print(f"round {number} of {rounds}", file=sys.stderr)
    for name, _, _ in commands:
        cpu = statistics.median(sample[0] for sample in times[name])
        wall = statistics.median(sample[1] for sample in times[name])
        print(f"{name}\t{cpu:.4f}\t{wall:.4f}")


main()
