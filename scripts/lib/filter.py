#!/usr/bin/env python3
"""Interprets a seccomp filter as the kernel would, and checks it against what docs/safety.md promises.

filter.py ARCHITECTURE reads|mends|forks CALLS FILTER
  CALLS   the macros of that architecture's <asm/unistd.h>, which give each call's number
  FILTER  the BPF program, as it would be loaded (scripts/lib/filter.c)
"""

import errno
import re
import struct
import sys

ARCHITECTURES = {"x86_64": 0xC000003E, "i386": 0x40000003, "aarch64": 0xC00000B7, "arm": 0x40000028, "riscv64": 0xC00000F3}
ALLOW, ERRNO, KILL = "allow", "errno", "kill"

# Called with zeros as arguments. Some of them do not exist on every architecture.
FREE = set(
    """brk munmap mremap mprotect pread64 lseek fstat futex sched_yield clock_gettime gettimeofday clock_getres getrandom
    sched_getaffinity sysinfo getpid gettid rt_sigprocmask rt_sigreturn restart_syscall exit exit_group""".split()
)
UNKNOWN = set("rseq set_robust_list membarrier getcpu futex_waitv map_shadow_stack futex_wake futex_wait futex_requeue mseal".split())
CHANNEL, SOURCE, OUTPUT = 3, 4, 5
# (call, arguments, action).
READS = [
    ("mmap", (0, 4096, 3, 0x22), ALLOW), ("mmap", (0, 4096, 7, 0x22), KILL), ("mmap", (0, 4096, 1, 2, SOURCE), KILL),
    ("mprotect", (0, 4096, 3), ALLOW), ("mprotect", (0, 4096, 4), KILL),
    ("madvise", (0, 0, 4), ALLOW), ("madvise", (0, 0, 100), KILL), ("madvise", (0, 0, 102), ERRNO),
    ("close", (0,), KILL), ("close", (2,), KILL), ("close", (CHANNEL,), ALLOW), ("close", (SOURCE,), ALLOW),
    ("close", (1 << 32,), KILL), ("recvmsg", (CHANNEL,), ALLOW), ("recvmsg", (SOURCE,), KILL),
    ("sendmsg", (CHANNEL,), ALLOW), ("sendmsg", (2,), KILL), ("write", (2,), ALLOW), ("write", (SOURCE,), KILL),
    ("writev", (2,), ALLOW), ("writev", (1,), KILL), ("newfstatat", (SOURCE, 0, 0, 0x1000), ERRNO),
    ("newfstatat", (-100, 0, 0, 0), KILL), ("statx", (SOURCE, 0, 0x1000), ERRNO), ("statx", (-100, 0, 0), KILL),
]
KINDS = {
    "reads": READS
    + [("close", (OUTPUT,), KILL), ("pwrite64", (OUTPUT,), KILL), ("prctl", (4,), KILL), ("prctl", (0x53564D41,), ERRNO)],
    "mends": READS
    + [
        ("close", (OUTPUT,), ALLOW), ("pwrite64", (OUTPUT,), ALLOW), ("pwrite64", (SOURCE,), KILL),
        ("copy_file_range", (SOURCE, 0, OUTPUT), ALLOW), ("copy_file_range", (OUTPUT, 0, SOURCE), KILL),
    ],
    "forks": READS
    + [
        ("clone", (0x8000,), ALLOW), ("clone", (17,), KILL), ("dup3", (7, CHANNEL), ALLOW), ("dup3", (7, SOURCE), KILL),
        ("prlimit64", (0,), ALLOW), ("prlimit64", (1,), KILL), ("prctl", (4,), ALLOW), ("seccomp", (0,), ALLOW),
        ("tgkill", (1, 1, 6), ALLOW), ("tgkill", (1, 1, 9), KILL),
    ],
}


def decide(program, number, architecture, arguments=()):
    """Returns the kernel's action, and its data. Interprets the subset of classic BPF that libseccomp writes."""
    arguments = [value & (2**64 - 1) for value in arguments] + [0] * (6 - len(arguments))
    data = struct.pack("<iIQ6Q", struct.unpack("<i", struct.pack("<I", number))[0], architecture, 0, *arguments)
    at = value = 0
    while True:
        code, yes, no, constant = program[at]
        at += 1
        if code == 0x20:
            value = struct.unpack_from("<I", data, constant)[0]
        elif code == 0x54:
            value &= constant
        elif code == 0x05:
            at += constant
        elif code in (0x15, 0x25, 0x35, 0x45):
            holds = {0x15: value == constant, 0x25: value > constant, 0x35: value >= constant, 0x45: value & constant != 0}
            at += yes if holds[code] else no
        elif code == 0x06:
            action = constant & 0xFFFF0000
            return {0x7FFF0000: ALLOW, 0x00050000: ERRNO, 0x80000000: KILL}[action], constant & 0xFFFF
        else:
            sys.exit(f"filter.py: unknown instruction: {code:#x}")


def faults(architecture, kind, numbers, program):
    native = ARCHITECTURES[architecture]
    for call, arguments, expected in KINDS[kind]:
        found, _ = decide(program, numbers[call], native, arguments)
        if found != expected:
            yield f"{call}{arguments}: {found}, not {expected}"
    listed = {call for call, *_ in KINDS[kind]}
    for call, number in sorted(numbers.items()):
        if call in listed - {"mprotect"}:
            continue
        expected = ALLOW if call in FREE else ERRNO if call in UNKNOWN else KILL
        found, code = decide(program, number, native)
        if found != expected or (found == ERRNO and code != errno.ENOSYS):
            yield f"{call}: {found}, not {expected}"
    for number in range(470, 600):
        if decide(program, number, native) != (ERRNO, errno.ENOSYS):
            yield f"call {number}, which does not exist yet, does not fail with ENOSYS"
    for name, other in ARCHITECTURES.items():
        if other == native:
            continue
        for number in range(0, 600):
            if decide(program, number, other)[0] != KILL:
                yield f"call {number} of {name} is allowed"
    if architecture == "x86_64":
        for number in range(0, 600):
            if decide(program, number | 0x40000000, native)[0] != KILL:
                yield f"call {number} of x32 is allowed"


def main():
    architecture, kind, calls, path = sys.argv[1:]
    macros = dict(re.findall(r"^#define (__NR\w*) (\w+)$", open(calls).read(), re.MULTILINE))
    numbers = {}
    for name, value in macros.items():
        # Some are defined as others, such as __NR_mmap as __NR3264_mmap.
        value = macros.get(value, value)
        if name.startswith("__NR_") and value.isdigit() and name not in ("__NR_syscalls", "__NR_arch_specific_syscall"):
            numbers[name.removeprefix("__NR_")] = int(value)
    content = open(path, "rb").read()
    program = [struct.unpack_from("<HBBI", content, at) for at in range(0, len(content), 8)]
    found = list(faults(architecture, kind, numbers, program))
    for fault in found:
        print(f"filter.py: {architecture}, a worker that {kind}: {fault}", file=sys.stderr)
    if len(numbers) < 250:
        sys.exit(f"filter.py: {calls} has only {len(numbers)} calls")
    sys.exit(1 if found else 0)


main()
