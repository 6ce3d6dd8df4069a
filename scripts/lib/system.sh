# shellcheck shell=bash
# The name of this system, as used in the names of packages.

# system_name OS-RELEASE: prints deb13 or ubuntu24.04, for example. A Debian that is not released yet has no number:
# debforky.
system_name() (
  # shellcheck disable=SC1090
  source "$1"
  case $ID in
    debian) printf 'deb%s' "${VERSION_ID:-${VERSION_CODENAME:-unstable}}" ;;
    *) printf '%s%s' "$ID" "${VERSION_ID:-}" ;;
  esac
)

# debian_version VERSION SYSTEM: prints the version so that dpkg orders it right: a development version is older than
# the next release on any system.
debian_version() {
  local version=$1
  printf '%s~%s' "${version/-dev/\~\~dev}" "$2"
}
