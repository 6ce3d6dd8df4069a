# shellcheck shell=bash
# `scripts/bench compare REV`: what can be counted, of this checkout beside another commit's. Time is not among it: counts are
# the same on a busy machine.
# Uses $parts, $root, $reel, $revision of scripts/bench.

# reel_of REVISION FOLDER: its release, installed in FOLDER, by its own scripts.
reel_of() {
  local tree
  [[ ! -x $2/bin/reel ]] || return 0
  tree=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
  git -C "$root" worktree add --quiet --detach "$tree" "$1"
  say "building $1 (some minutes)"
  if "$tree/scripts/install" "$2.new" >/dev/null; then mv "$2.new" "$2"; fi
  git -C "$root" worktree remove --force "$tree"
  [[ -x $2/bin/reel ]]
}

bench_compare() {
  local commit other
  commit=$(git -C "$root" rev-parse --verify --quiet --short=12 "$revision^{commit}") || give_up "no such commit: $revision"
  [[ $peers == false ]] || require_packages given "to count" strace valgrind
  command -v strace >/dev/null || give_up "strace counts: --with-peers gets it"
  other=$root/.build/compare/$commit
  mkdir -p "${other%/*}"
  reel_of "$commit" "$other" || give_up "there is no release of $revision"
  print_circumstances
  printf '\n'
  python3 -B "$parts/compare.py" "$commit" "$other" "$reel" "$root/Samples/clips"
}
