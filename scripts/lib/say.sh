# shellcheck shell=bash
# Messages to the person who runs a script. They go to standard error; standard output is for results.

# The name at the start of each line.
speaker=$(basename "$0")

# Prints one line.
say() {
  printf '%s: %s\n' "$speaker" "$*" >&2
}

# Prints the last line of a script that can't continue, and ends it.
give_up() {
  say "$@"
  exit 1
}

# misused SYNOPSIS: ends a script that was called with other arguments than it takes.
misused() {
  say "usage: $1"
  exit 64
}

# refuse_options SYNOPSIS [ARGUMENT…]: ends a script that takes no options (any more) if one is among the arguments.
refuse_options() {
  local argument
  for argument in "${@:2}"; do [[ $argument != -* ]] || misused "$1"; done
}

# Succeeds if the user answers yes. Without a terminal, the answer is no.
agreed() {
  local answer=n
  if [[ -t 0 && -t 2 ]]; then
    printf '%s: %s [y/N] ' "$speaker" "$*" >&2
    read -r answer || true
  fi
  [[ $answer == [yY]* ]]
}
