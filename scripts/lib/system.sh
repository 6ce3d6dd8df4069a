# shellcheck shell=bash
# Which system this is, as it stands in the names of packages.

# system_name OS-RELEASE: deb13, ubuntu24.04; a Debian that is not released yet has no number: debforky.
system_name() (
  # shellcheck disable=SC1090
  source "$1"
  case $ID in
    debian) printf 'deb%s' "${VERSION_ID:-${VERSION_CODENAME:-unstable}}" ;;
    *) printf '%s%s' "$ID" "${VERSION_ID:-}" ;;
  esac
)

# debian_version VERSION SYSTEM: as dpkg orders it: what comes between releases is older than the release of any system.
debian_version() {
  local version=$1
  printf '%s~%s' "${version/-dev/\~\~dev}" "$2"
}
