# shellcheck shell=bash
# apt as it would be on another release or another processor, in a folder of its own: nothing is installed here.

# apt_elsewhere FOLDER ARCHITECTURE ARGUMENTS…: FOLDER/sources says where its packages are; what it downloads is in
# FOLDER/debs.
apt_elsewhere() {
  local state=$1 architecture=$2
  shift 2
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/debs"
  # A mirror may be a snapshot, whose lists count as out of date.
  (cd "$state/debs" && apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
    -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false \
    -o Dir::Etc::SourceList="$state/sources" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$state/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$state/cache" "$@")
}

# unpack_elsewhere FOLDER: what was downloaded, into FOLDER/root.
unpack_elsewhere() {
  local deb
  for deb in "$1"/debs/*.deb; do dpkg-deb -x "$deb" "$1/root"; done
}
