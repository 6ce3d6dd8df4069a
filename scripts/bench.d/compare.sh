# shellcheck shell=bash
# `scripts/bench compare REV`: counts of this checkout next to another commit's. No times, because only counts are the
# same on a busy machine.
# Uses $parts, $root, $reel, $revision of scripts/bench.

# reel_of REVISION FOLDER: builds its release and installs it in FOLDER, with the revision's own scripts.
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
  command -v strace >/dev/null || give_up "counting needs strace: --with-peers installs it"
  other=$root/.build/compare/$commit
  mkdir -p "${other%/*}"
  reel_of "$commit" "$other" || give_up "could not build a release of $revision"
  print_circumstances
  printf '\n'
  python3 -B "$parts/compare.py" "$commit" "$other" "$reel" "$root/Samples/clips"
}
