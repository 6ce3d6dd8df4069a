# shellcheck shell=bash
# Debian packages: which are missing, and installing them with the person's consent.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/say.sh"

# missing_packages PACKAGE…: those that are not installed, one a line.
missing_packages() {
  local package installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^.i *//p') || true
  for package in "$@"; do
    grep -qxF -- "$package" <<<"$installed" || printf '%s\n' "$package"
  done
}

# require_packages CONSENT PURPOSE PACKAGE…: installs what is missing, or says how and gives up.
# CONSENT is `given` or `ask`; root and CI=true have given it.
require_packages() {
  local consent=$1 purpose=$2
  shift 2
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian: going on as if the likes of these were here: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  say "missing $purpose: ${missing[*]}"
  has_consent "$consent" || ask_to_install "${missing[@]}"
  install_packages "${missing[@]}"
}

# Whether nobody needs to be asked.
has_consent() {
  [[ $1 == given || $EUID == 0 || ${CI:-} == true ]]
}

# The command by which a person would install the packages.
install_command() {
  local sudo=sudo
  [[ $EUID == 0 ]] && sudo=
  printf '%s' "${sudo:+$sudo }apt-get install -y --no-install-recommends $*"
}

# Asks on a terminal; anywhere else prints the command and gives up.
ask_to_install() {
  agreed "install them now with sudo?" && return
  say "install them with: $(install_command "$@")"
  give_up "then run this again (or let it do that by itself: --yes as the first argument)"
}

install_packages() {
  local log sudo=(sudo)
  [[ $EUID == 0 ]] && sudo=()
  log=$(mktemp)
  say "installing $*"
  # The lists of a fresh machine are empty, those of an old one out of date: fetched only when needed.
  if ! { apt_install "$@" || { "${sudo[@]}" apt-get update && apt_install "$@"; }; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    give_up "could not install them; the command was: $(install_command "$@")"
  fi
  rm -f "$log"
}

apt_install() {
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" </dev/null
}
