# shellcheck shell=bash
# apt as on another release or architecture, with its state in a separate folder: nothing is installed on this system.

# apt_elsewhere FOLDER ARCHITECTURE ARGUMENTS…: FOLDER/sources lists the package sources; downloads go to FOLDER/debs.
apt_elsewhere() {
  local state=$1 architecture=$2
  shift 2
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/debs"
  # The mirror may be a snapshot, whose lists apt considers expired.
  (cd "$state/debs" && apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
    -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false \
    -o Dir::Etc::SourceList="$state/sources" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$state/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$state/cache" "$@")
}

# unpack_elsewhere FOLDER: unpacks the downloads into FOLDER/root.
unpack_elsewhere() {
  local deb
  for deb in "$1"/debs/*.deb; do dpkg-deb -x "$deb" "$1/root"; done
}
