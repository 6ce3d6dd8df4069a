"""Measures a release build, by module, and lists what the program consists of, by library.

    build.py compile LOG COMPILER ARGUMENT…    runs the compiler, and records its CPU time in LOG
    build.py tables LOG MAP SECONDS            prints two tables: from LOG, for a build that took SECONDS in all, and
                                               from the linker's MAP of the program
"""

import collections
import os
import re
import sys

MEGABYTE = 1_000_000


REST = "manifests and the build itself"


def written_out(arguments):
    """Yields the arguments, with the content of response files (@FILE) added."""
    for argument in arguments:
        if argument.startswith("@") and os.path.exists(argument[1:]):
            with open(argument[1:], encoding="utf-8") as more:
                argument += " " + more.read()
        yield argument


def subject(arguments):
    """Returns the package, according to its sources, and the module that a compiler call is for."""
    words = dict(zip(arguments, arguments[1:]))
    built = re.search(r"/([^/\s]+)\.build/", words.get("-o", ""))
    module = words.get("-module-name") or (built.group(1) if built else "main")
    if "-emit-executable" in arguments:
        return "linking", module
    if module == "main":
        return REST, ""
    checkout = re.search(r"/checkouts/([^/\s]+)/\S+\.(?:swift|c)(?:\s|$)", " ".join(written_out(arguments)))
    return checkout.group(1) if checkout else "reel", module


def compile_noting(log, command):
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    with open(log, "a", encoding="utf-8") as notes:
        seconds = usage.ru_utime + usage.ru_stime
        print(f"{seconds:.3f}", *subject(command[1:]), sep="\t", file=notes)
    return os.waitstatus_to_exitcode(status)


def print_build(log, total):
    packages, own = collections.Counter(), collections.Counter()
    with open(log, encoding="utf-8") as notes:
        for line in notes:
            seconds, package, module = line.rstrip("\n").split("\t")
            packages[package] += float(seconds)
            if package == "reel":
                own[module] += float(seconds)
    packages[REST] += total - packages.total()
    print("| package | processor s |\n| --- | ---: |")
    for package, seconds in packages.most_common():
        print(f"| {package} | {seconds:.1f} |")
    print(f"| all | {total:.1f} |\n\n| module of reel | processor s |\n| --- | ---: |")
    for module, seconds in own.most_common():
        print(f"| {module} | {seconds:.1f} |")


def library(file):
    """Returns the name of an archive, or the module that an object was compiled for."""
    if not file:
        return "what the linker makes: relocations, merged strings, frames"
    archive = re.search(r"([^/]+)\.a\(", file)
    built = re.search(r"(?:^|/)([^/]+)\.build/", file)
    return archive.group(1) if archive else built.group(1) if built else "start files"


def pieces(map_file):
    """Yields the file and size of each loaded piece in lld's map: `VMA LMA SIZE ALIGN output` for a whole output section,
    then `VMA LMA SIZE ALIGN         FILE:(input)` for each piece of it, and its symbols, indented further."""
    is_loaded = False
    with open(map_file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            piece = re.match(r" *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +[0-9]+ ( *)(.*)", line)
            if not piece:
                continue
            address, size, indentation, name = piece.groups()
            if not indentation:
                # A section without an address is not loaded; .bss and what pads it are not in the file.
                is_loaded = int(address, 16) > 0 and not re.match(r"\.(t?bss|relro_padding)", name)
            elif len(indentation) == 8 and is_loaded:
                file = name.rsplit(":(", 1)[0]
                yield None if file == "<internal>" else file, int(size, 16)


def print_program(map_file):
    sizes = collections.Counter()
    for file, size in pieces(map_file):
        sizes[library(file)] += size
    print("| library | MB in the program |\n| --- | ---: |")
    for name, size in sizes.most_common():
        if size >= MEGABYTE / 20:
            print(f"| {name} | {size / MEGABYTE:.2f} |")
    print(f"| all | {sizes.total() / MEGABYTE:.2f} |")


if sys.argv[1] == "compile":
    sys.exit(compile_noting(sys.argv[2], sys.argv[3:]))
print_build(sys.argv[2], float(sys.argv[4]))
print()
print_program(sys.argv[3])
