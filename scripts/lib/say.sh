# shellcheck shell=bash
# What a script tells the person who runs it. Standard output stays free for what was asked for.

# The name that stands before each line; the script that sources this may set its own.
speaker=${speaker:-$(basename "$0")}

# One line for the person.
say() {
  printf '%s: %s\n' "$speaker" "$*" >&2
}

# The last line of a script that can't go on.
give_up() {
  say "$@"
  exit 1
}
