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

# Succeeds if the user answers yes. Without a terminal, the answer is no.
agreed() {
  local answer=n
  if [[ -t 0 && -t 2 ]]; then
    printf '%s: %s [y/N] ' "$speaker" "$*" >&2
    read -r answer || true
  fi
  [[ $answer == [yY]* ]]
}
