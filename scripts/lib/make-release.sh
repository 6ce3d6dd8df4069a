# shellcheck shell=bash
# Makes the release build, once, even if several processes ask for it at the same time.
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
  # The process that held the lock may have built it in the meantime.
  if ! release_is_current "$root"; then
    require_packages "$consent" "to build Reel" "${build_packages[@]}"
    require_swift
    # Don't pass the lock on: a process that the build leaves running would hold it.
    build_release "$root" {lock}>&-
  fi
  exec {lock}>&-
  trap - INT TERM HUP
}

require_writable() {
  local root=$1 folder
  for folder in "$root" "$root/.build"; do
    [[ ! -e $folder || -w $folder ]] ||
      give_up "Reel must be built first, and $folder can't be written to: copy the checkout to a folder of your own"
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
  # The stamp is dated before the build, so that files edited during it are newer.
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

# Swift's static libraries ask the linker to export every symbol. Nothing loads this program as a library, and 50,000
# unused exports are a tenth of its startup cost. `-z now` binds all symbols at startup, so that their table is
# read-only from then on; GNU ld, which is what the toolchain finds on Debian 13, leaves it writable, so the toolchain's own
# linker is used. Reel has no library of its own beside the programs, so none needs to be looked for there.
release_flags=(
  --configuration release --static-swift-stdlib --disable-local-rpath
  -Xswiftc -use-ld=lld -Xlinker --no-export-dynamic -Xlinker -z -Xlinker now
)

# swift_build ROOT LOG PRODUCT: builds without REEL_STRICT (Package.swift), so that the result is always what a user
# builds.
swift_build() {
  env -u REEL_STRICT swift build --package-path "$1" --product "$3" "${release_flags[@]}" </dev/null 2>&1 | follow_build "$2"
}

# Copies the build's output to a file. On a terminal, one line shows the progress.
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
