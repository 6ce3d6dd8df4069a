# shellcheck shell=bash
# Debian packages: finds those that are missing, and installs them with the user's consent.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/say.sh"

# missing_packages PACKAGE…: prints those that are not installed, one per line.
missing_packages() {
  local package installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^.i *//p') || true
  for package in "$@"; do
    grep -qxF -- "$package" <<<"$installed" || printf '%s\n' "$package"
  done
}

# require_packages CONSENT PURPOSE PACKAGE…: installs missing packages, or prints the command for it and gives up.
# CONSENT is `given` or `ask`; running as root or with CI=true counts as consent.
require_packages() {
  local consent=$1 purpose=$2
  shift 2
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian: assuming that the equivalents of these are installed: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  say "missing $purpose: ${missing[*]}"
  has_consent "$consent" || ask_to_install "${missing[@]}"
  install_packages "${missing[@]}"
}

# Succeeds if the user need not be asked.
has_consent() {
  [[ $1 == given || $EUID == 0 || ${CI:-} == true ]]
}

# Prints the command with which a user would install the packages.
install_command() {
  local sudo=sudo
  [[ $EUID == 0 ]] && sudo=
  printf '%s' "${sudo:+$sudo }apt-get install -y --no-install-recommends $*"
}

# Asks on a terminal. If the answer is no, or there is no terminal, prints the command and gives up.
ask_to_install() {
  agreed "install them now with sudo?" && return
  say "install them with: $(install_command "$@")"
  give_up "then run this again (or have it install them: --yes as the first argument)"
}

install_packages() {
  local log sudo=(sudo)
  [[ $EUID == 0 ]] && sudo=()
  log=$(mktemp)
  say "installing $*"
  # Package lists are empty on a fresh machine and out of date on an old one: fetch them only if installing fails.
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
