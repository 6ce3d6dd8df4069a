# shellcheck shell=bash
# The time of a release build, by module, and the contents of the programs: the figures of docs/dependencies.md.

# noting_compiler NAME LAB: writes LAB/NAME, a wrapper that runs the compiler and records its time in LAB/log.
noting_compiler() {
  local compiler
  compiler=$(dirname "$(readlink -f "$(command -v swift)")")/$1
  printf '#!/bin/sh\nexec python3 "%s" compile "%s" "%s" "$@"\n' "$parts/build.py" "$2/log" "$compiler" >"$2/$1"
  chmod +x "$2/$1"
}

# build_noting LAB: builds both products from scratch, into LAB/build.
build_noting() {
  local product
  for product in reel reel-probe-worker; do
    SWIFT_EXEC=$1/swiftc CC=$1/clang swift build --package-path "$root" --scratch-path "$1/build" --product "$product" \
      "${release_flags[@]}" -Xlinker "-Map=$1/$product.map" >"$1/output" 2>&1 || return 1
  done
}

# print_sizes FOLDER: prints the sizes of the programs, as built and as installed by scripts/install.
print_sizes() {
  local product
  printf '\n| program | MB | installed |\n| --- | ---: | ---: |\n'
  for product in reel reel-probe-worker; do
    strip -o "$1/stripped" "$1/$product"
    stat --format %s "$1/$product" "$1/stripped" | paste -s |
      awk -v name="$product" '{ printf "| %s | %.1f | %.1f |\n", name, $1 / 1e6, $2 / 1e6 }'
  done
}

bench_build() {
  local lab seconds TIMEFORMAT='%U %S'
  # Not in /tmp, which may be in memory.
  lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
  # shellcheck disable=SC2064
  trap "rm -rf '$lab'" EXIT
  require_swift
  noting_compiler swiftc "$lab"
  noting_compiler clang "$lab"
  { time build_noting "$lab"; } 2>"$lab/time" || build_failed "$lab/output"
  seconds=$(awk '{ print $1 + $2 }' "$lab/time")
  reel=$lab/build/release/reel
  print_circumstances
  printf '\n'
  python3 "$parts/build.py" tables "$lab/log" "$lab/reel.map" "$seconds"
  print_sizes "$lab/build/release"
}
