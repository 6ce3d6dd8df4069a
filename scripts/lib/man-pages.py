"""Writes reel.1 and a page for each command, reel-COMMAND.1, from the argument parser's dump.

  reel --experimental-dump-help | SOURCE_DATE_EPOCH=… python3 man-pages.py VERSION FOLDER

Subcommands of a command (`reel policy show`) are sections of its page.
"""

import json
import os
import re
import sys
import textwrap
import time

FILES = [
    ("$XDG_CONFIG_HOME/reel/config.yaml", "The settings (else ~/.config/reel/config.yaml). Keys are listed in docs/settings.md."),
    ("$XDG_DATA_HOME/reel", "The library (else ~/.local/share/reel), unless --library or $REEL_LIBRARY names another."),
    ("/usr/share/doc/reel", "The documentation and an example configuration."),
]


def escaped(text):
    """Escapes text for roff: backslashes, quotes, and hyphens that must be copyable as such."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![A-Za-z0-9])-|(?<=-)-", r"\\-", text)
    return text.replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")


def prose(text):
    """Yields the lines of a paragraph; each sentence starts a new line. Text between backquotes is bold."""
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`$(\"])", " ".join(text.split())):
        parts = sentence.split("`")
        line = "".join(rf"\fB{escaped(part)}\fR" if index % 2 else escaped(part) for index, part in enumerate(parts))
        for row in textwrap.wrap(line, 78, break_long_words=False, break_on_hyphens=False):
            yield "\\&" + row if row.startswith(".") else row


def word(text):
    """Returns text as an argument of a macro, which roff can't mistake for a macro."""
    text = escaped(text)
    return f'"\\&{text}"' if " " in text else "\\&" + text


def flag(name):
    return "Fl " + (word(name["name"]) if name["kind"] == "short" else "\\-" + escaped(name["name"]))


def item(argument):
    """Returns the name of an option or argument, as a list tag."""
    if argument["kind"] == "positional":
        return "Ar " + word(argument["valueName"]) + (" ..." if argument["isRepeating"] else "")
    value = " Ar " + word(argument["valueName"]) if argument["kind"] == "option" else ""
    return " , ".join(flag(name) + value for name in argument["names"])


def explanation(argument):
    yield from prose(argument.get("abstract", ""))
    if argument.get("discussion"):
        yield from prose(argument["discussion"])
    values = argument.get("allValues")
    if values:
        yield from prose("One of " + ", ".join(f"`{value}`" for value in values) + ".")
    default = argument.get("defaultValue")
    if default and "default" not in argument.get("abstract", "").lower():
        yield from prose(f"Default: {default}.")


def synopsis(words, command):
    # In a synopsis, .Nm starts a new line; it takes the program's name alone.
    yield f".Nm {words[0]}"
    for each in words[1:]:
        yield f".Cm {word(each)}"
    if subcommands(command) and not shown(command, "positional"):
        yield ".Ar command" if "defaultSubcommand" not in command else ".Op Ar command"
    if options(command):
        yield ".Op Ar options"
    for argument in shown(command, "positional"):
        name = item(argument)
        yield f".Op {name}" if argument["isOptional"] else f".{name}"


def shown(command, *kinds):
    return [each for each in command.get("arguments", []) if each["kind"] in kinds and each["shouldDisplay"]]


def options(command):
    """Returns the command's own options: without --help and --version, which every command has."""
    return [each for each in shown(command, "option", "flag") if each["valueName"] not in ("help", "version")]


def subcommands(command):
    return [each for each in command.get("subcommands", []) if each["commandName"] != "help" and each["shouldDisplay"]]


def arguments(command, everywhere=False):
    """Yields a list of the arguments and options; with `everywhere`, also those that every command has."""
    listed = shown(command, "positional") + options(command)
    if everywhere:
        listed += [each for each in shown(command, "flag") if each["valueName"] in ("help", "version")]
    if not listed:
        return
    yield ".Bl -tag -width Ds"
    for argument in listed:
        yield f".It {item(argument)}"
        yield from explanation(argument)
    yield ".El"


def paragraphs(command):
    return [each for each in re.split(r"\n\s*\n", command.get("discussion", "")) if each.strip()]


def description(command):
    yield from prose(command["abstract"] if command["abstract"].endswith(".") else command["abstract"] + ".")
    for paragraph in paragraphs(command):
        if "Exit codes:" in paragraph:
            paragraph = paragraph[: paragraph.index("Exit codes:")]
        if paragraph.strip() and not paragraph.startswith(EXAMPLES):
            yield ".Pp"
            yield from prose(paragraph)


EXAMPLES = "Examples:\n"


def examples(command):
    """Yields the examples after `Examples:` in a discussion, verbatim."""
    for paragraph in paragraphs(command):
        if paragraph.startswith(EXAMPLES):
            yield from (f".Dl {word(line.strip())}" for line in paragraph.splitlines()[1:])


def exit_status(command):
    """Yields the exit codes after `Exit codes:` in a discussion, as a list, and the rest as text."""
    for paragraph in paragraphs(command):
        if "Exit codes:" not in paragraph:
            continue
        text = " ".join(paragraph.split("Exit codes:", 1)[1].split())
        codes, _, rest = text.partition(". ") if re.search(r"\. (?=[A-Z`])", text) else (text, "", "")
        yield ".Bl -tag -width Ds"
        for code in codes.rstrip(".").split(" · "):
            number, _, meaning = code.partition(" ")
            yield f".It {number}"
            yield from prose(meaning)
        yield ".El"
        if rest:
            yield ".Pp"
            yield from prose(rest.replace(" · ", "; "))


def page(command, words, others, version, date):
    name = "-".join(words)
    yield f".Dd {date}"
    yield f".Dt {name.upper()} 1"
    yield f".Os Reel {version}"
    yield ".Sh NAME"
    yield f".Nm {name}"
    yield f".Nd {'ingest videos' if len(words) == 1 else summary(command)}"
    yield ".Sh SYNOPSIS"
    yield from synopsis(words, command)
    yield ".Sh DESCRIPTION"
    yield from description(command)
    nested = [] if len(words) == 1 else subcommands(command)
    if len(words) == 1:
        yield ".Pp"
        yield from prose("The commands, each with a page of its own:")
        yield ".Bl -tag -width Ds"
        for each in subcommands(command):
            yield f".It Xr {name}-{each['commandName']} 1"
            yield from prose(each["abstract"])
        yield ".El"
    for each in nested:
        yield f".Ss {' '.join(words)} {each['commandName']}"
        yield ".Bd -ragged -compact"
        yield from synopsis(words + [each["commandName"]], each)
        yield ".Ed"
        yield ".Pp"
        yield from description(each)
        if each["commandName"] == command.get("defaultSubcommand"):
            yield from prose("This is the default subcommand.")
        yield from arguments(each)
    yield ".Sh OPTIONS"
    yield from arguments(command, everywhere=True)
    yield ".Sh FILES"
    yield ".Bl -tag -width Ds"
    for path, what in FILES:
        yield f".It Pa {word(path)}"
        yield from prose(what)
    yield ".El"
    status = list(exit_status(command)) or [line for each in nested for line in exit_status(each)]
    if status:
        yield ".Sh EXIT STATUS"
        yield from status
    typed = [line for each in [command, *nested] for line in examples(each)]
    if typed:
        yield ".Sh EXAMPLES"
        yield from typed
    yield ".Sh SEE ALSO"
    links = [each for each in others if each != name]
    for index, other in enumerate(links):
        yield f".Xr {other} 1" + (" ," if index + 1 < len(links) else "")


def summary(command):
    """Returns the abstract as the line that apropos(1) shows."""
    head = re.split(r"[:;.](?: |$)", command["abstract"])[0]
    text = (head if " " in head else command["abstract"].rstrip(".")).replace("`", "")
    return escaped(text[:1].lower() + text[1:])


def main():
    version, folder = sys.argv[1:]
    moment = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
    date = f"{time.strftime('%B', moment)} {moment.tm_mday}, {moment.tm_year}"
    root = json.load(sys.stdin)["command"]
    commands = {f"reel-{each['commandName']}": each for each in subcommands(root)}
    names = ["reel", *sorted(commands)]
    os.makedirs(folder, exist_ok=True)
    for name in names:
        command, words = (root, ["reel"]) if name == "reel" else (commands[name], name.split("-", 1))
        with open(f"{folder}/{name}.1", "w", encoding="utf-8") as file:
            file.write("\n".join(page(command, words, names, version, date)) + "\n")


if __name__ == "__main__":
    main()
