# shellcheck shell=bash
# What a script tells the person who runs it. Standard output stays free for what was asked for.

# The name that stands before each line.
speaker=$(basename "$0")

# One line for the person.
say() {
  printf '%s: %s\n' "$speaker" "$*" >&2
}

# The last line of a script that can't go on.
give_up() {
  say "$@"
  exit 1
}

# Whether the person says yes; nobody does where there is no terminal.
agreed() {
  local answer=n
  if [[ -t 0 && -t 2 ]]; then
    printf '%s: %s [y/N] ' "$speaker" "$*" >&2
    read -r answer || true
  fi
  [[ $answer == [yY]* ]]
}
