# shellcheck shell=bash
# The version, from the one place where it stands.

# reel_version ROOT
reel_version() {
  local version
  version=$(sed -n 's/.*static let current = "\(.*\)"$/\1/p' "$1/Sources/ReelCore/ReelVersion.swift")
  [[ -n $version ]] || give_up "Sources/ReelCore/ReelVersion.swift does not say the version"
  printf '%s' "$version"
}
