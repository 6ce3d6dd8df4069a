# shellcheck shell=bash
# The version, read from the one place that states it.

# reel_version ROOT: prints the version, such as 0.3.0, or 0.3.0-dev between releases.
reel_version() {
  local version
  version=$(sed -n 's/.*static let number = "\(.*\)"$/\1/p' "$1/Sources/Core/ReelCore/ReelVersion.swift")
  [[ -n $version ]] || give_up "Sources/Core/ReelCore/ReelVersion.swift does not state the version"
  printf '%s' "$version"
}

# built_version ROOT: prints the version that a build reports (ReelVersion.current): between releases with the commit.
built_version() {
  local version commit=
  version=$(reel_version "$1")
  # Only if CCommit can read the commit there, too.
  [[ $version != *-dev || ! -s $1/.git/logs/HEAD ]] || commit=$(git -C "$1" rev-parse HEAD 2>/dev/null) || true
  printf '%s' "$version${commit:++${commit:0:12}}"
}
