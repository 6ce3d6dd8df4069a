# shellcheck shell=bash
# The release build in .build/release: whether it is newer than everything it is made from.
# `scripts/reel` runs this check at every call, so it starts no program but `find`.

# release_is_current ROOT
release_is_current() {
  local root=$1
  local built=$root/.build/release stamp=$root/.build/release.stamp
  [[ -x $built/reel && -x $built/reel-probe-worker && -e $stamp ]] || return 1
  libraries_are_there "$stamp" || return 1
  local sources=("$root/Package.swift" "$root/Sources")
  # A build contains the name of its commit.
  [[ ! -e $root/.git/logs/HEAD ]] || sources+=("$root/.git/logs/HEAD")
  [[ -z $(find "${sources[@]}" -newer "$stamp" -print -quit) ]]
}

# The stamp lists the shared libraries of the build. If one is gone, FFmpeg or the system is another version.
libraries_are_there() {
  local library
  while IFS= read -r library; do
    [[ -e $library ]] || return 1
  done <"$1"
}
