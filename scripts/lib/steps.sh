# shellcheck shell=bash
# Runs a check in steps: each is announced and timed, and named if it fails. The first failure ends the script.

steps_done=()
step_name=

# step NAME COMMAND…
step() {
  step_name=$1
  shift
  local begun=$SECONDS
  printf '\n== %s\n' "$step_name"
  "$@"
  steps_done+=("$(printf '%5d s  %s' $((SECONDS - begun)) "$step_name")")
  printf '== %s: done in %d s\n' "$step_name" $((SECONDS - begun))
  step_name=
}

# tell_failures TITLE LOG: prints the failures once more at the end, where people look for them.
tell_failures() {
  printf '\n%s:\n' "$1"
  grep -A 3 -e ' recorded an issue' -e 'Fatal error' -e '^error: ' "$2" | head -n 60 || tail -n 20 "$2"
}

# persistently COMMAND…: for what downloads something: tries again after a pause if it fails, up to five times in all.
persistently() {
  local pause
  for pause in 5 10 20 40; do
    if "$@"; then return 0; fi
    printf 'failed; again in %d s: %s\n' "$pause" "$*" >&2
    sleep "$pause"
  done
  "$@"
}

# Prints, however the script ends, what ran and for how long, and what failed.
report_steps() {
  local status=$?
  printf '\n'
  ((${#steps_done[@]})) && printf '%s\n' "${steps_done[@]}"
  if [[ $status != 0 ]]; then
    printf 'FAILED%s\n' "${step_name:+: $step_name}"
  else
    printf 'all done in %d s\n' "$SECONDS"
  fi
  exit "$status"
}
trap report_steps EXIT
