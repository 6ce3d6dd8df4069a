# shellcheck shell=bash
# Makes the release build, once, however many ask for it at the same time.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/say.sh"
# shellcheck source=scripts/lib/needed-packages.sh
source "${BASH_SOURCE[0]%/*}/needed-packages.sh"
# shellcheck source=scripts/lib/debian-packages.sh
source "${BASH_SOURCE[0]%/*}/debian-packages.sh"
# shellcheck source=scripts/lib/toolchain.sh
source "${BASH_SOURCE[0]%/*}/toolchain.sh"
# shellcheck source=scripts/lib/release-build.sh
source "${BASH_SOURCE[0]%/*}/release-build.sh"

# make_release ROOT CONSENT
make_release() {
  local root=$1 consent=$2 lock
  require_writable "$root"
  trap 'exit 130' INT TERM HUP
  mkdir -p "$root/.build"
  exec {lock}>"$root/.build/release.lock"
  wait_for_turn "$lock"
  # Whoever had the lock before may have built what is wanted here.
  if ! release_is_current "$root"; then
    require_packages "$consent" "to build Reel" "${build_packages[@]}"
    require_swift
    # The lock is this shell's alone: a process that the build leaves behind must not hold it.
    build_release "$root" {lock}>&-
  fi
  exec {lock}>&-
  trap - INT TERM HUP
}

require_writable() {
  local root=$1 folder
  for folder in "$root" "$root/.build"; do
    [[ ! -e $folder || -w $folder ]] ||
      give_up "Reel must be built first, and $folder can't be written to: copy the checkout to a folder of yours"
  done
}

wait_for_turn() {
  flock --nonblock "$1" && return
  say "waiting for another build of this checkout"
  flock "$1"
}

build_release() {
  local root=$1 stamp=$1/.build/release.stamp log=$1/.build/release.log
  local started=$SECONDS
  say "building the release$([[ -e $stamp ]] || printf ' (the first time takes some minutes)')"
  # Dated before the build: what is edited during it is newer.
  : >"$stamp.begun"
  : >"$log"
  local product
  for product in reel reel-probe-worker; do
    swift_build "$root" "$log" "$product" || build_failed "$log"
  done
  local built=$root/.build/release
  ldd "$built/reel" "$built/reel-probe-worker" | sed -n 's/.*=> \(\/.*\) (0x.*/\1/p' | sort -u >"$stamp.new"
  touch --reference "$stamp.begun" "$stamp.new"
  mv "$stamp.new" "$stamp"
  rm -f "$stamp.begun"
  say "built in $((SECONDS - started)) s"
}

# Swift's libraries, linked in, ask for every symbol to be exported. Nobody loads this program, and 50,000 symbols that
# nobody asks for are a tenth of what starting it costs. All others are bound at the start, so that their table can be
# read-only from then on. No library of Reel's own stands beside the programs, so none is looked for there.
release_flags=(
  --configuration release --static-swift-stdlib --disable-local-rpath
  -Xlinker --no-export-dynamic -Xlinker -z -Xlinker now
)

# swift_build ROOT LOG PRODUCT: whoever asks for it, it is what a user builds (REEL_STRICT: Package.swift).
swift_build() {
  env -u REEL_STRICT swift build --package-path "$1" --product "$3" "${release_flags[@]}" </dev/null 2>&1 | follow_build "$2"
}

# Keeps the build's output in a file; on a terminal one line tells how far it is.
follow_build() {
  local log=$1 line
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    if [[ -t 2 && $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      printf '\r\033[K%s: step %s of %s' "$speaker" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    fi
  done
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

build_failed() {
  cat "$1" >&2
  give_up "the build failed; its output is above and in $1"
}
