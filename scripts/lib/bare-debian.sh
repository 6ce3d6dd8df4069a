# shellcheck shell=bash
# A bare Debian, to check what Reel needs installed: a root file system in a folder, entered with its own mount and PID
# namespaces. Needs root, the right to mount, and a mirror.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/say.sh"

# shellcheck source=scripts/lib/apt-elsewhere.sh
source "${BASH_SOURCE[0]%/*}/apt-elsewhere.sh"

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
ubuntu_mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}

# mirror_of SUITE: prints the address of its mirror.
mirror_of() {
  case $1 in
    jammy | noble | questing | resolute) printf '%s' "$ubuntu_mirror" ;;
    *) printf '%s' "$mirror" ;;
  esac
}

# get_ubuntu_keys FOLDER: fetches Ubuntu's keys, without which apt does not trust its releases, from a Debian package.
# Prints the file's path.
get_ubuntu_keys() {
  mkdir -p "$1"
  printf 'deb %s trixie main\n' "$mirror" >"$1/sources"
  { apt_elsewhere "$1" "$(dpkg --print-architecture)" update &&
    apt_elsewhere "$1" "$(dpkg --print-architecture)" download ubuntu-keyring; } >"$1/log" 2>&1 || return 1
  unpack_elsewhere "$1"
  printf '%s' "$1/root/usr/share/keyrings/ubuntu-archive-keyring.gpg"
}

# bare_obstacle SUITE…: prints why a bare system of these suites can't be made here; nothing if it can.
bare_obstacle() {
  local suite lab
  lab=$(mktemp -d)
  if [[ $EUID != 0 ]]; then
    printf 'it needs root'
  elif ! command -v apt-get >/dev/null; then
    printf 'this is not Debian'
  elif ! unshare --mount sh -c 'mount -t tmpfs tmpfs /mnt' 2>/dev/null; then
    printf 'this process may not mount'
  elif ! chroot --userspec=65534:65534 / true 2>/dev/null; then
    printf 'this process may not change its root or its user'
  else
    for suite; do
      /usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries=0 -o Acquire::http::Timeout=10 \
        download-file "$(mirror_of "$suite")/dists/$suite/Release" "$lab/$suite" >/dev/null 2>&1 ||
        { printf '%s does not answer for %s' "$(mirror_of "$suite")" "$suite" && break; }
    done
  fi
  rm -rf "$lab"
}

# make_bare SUITE FOLDER [PACKAGE…]: makes one, with the suite's security updates if it has any.
make_bare() {
  local suite=$1 folder=$2 sources words=() keys="" status=0
  shift 2
  case $(mirror_of "$suite") in
    "$ubuntu_mirror")
      keys=$(mktemp -d)
      # apt reads them as its own user.
      chmod 755 "$keys"
      words+=("--keyring=$(get_ubuntu_keys "$keys")")
      sources=("deb $ubuntu_mirror $suite main universe" "deb $ubuntu_mirror $suite-updates main universe")
      ;;
    *)
      sources=("deb $mirror $suite main")
      [[ $suite == sid ]] || sources+=("deb http://deb.debian.org/debian-security $suite-security main")
      ;;
  esac
  (($# == 0)) || words+=("--include=$(IFS=, && printf '%s' "$*")")
  # The mirror may be a snapshot, whose lists apt considers expired. The system keeps these settings.
  mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='Acquire::Retries "5"' "${words[@]}" \
    "$suite" "$folder" "${sources[@]}" || status=$?
  [[ -z $keys ]] || rm -rf "$keys"
  return "$status"
}

# in_bare FOLDER USER COMMAND…: runs it there. BARE_MOUNTS are folders of this machine that are also mounted there,
# read-only; BARE_PATH is put before its PATH.
in_bare() {
  local folder=$1 user=$2 mounts
  shift 2
  printf -v mounts '%s\n' "${BARE_MOUNTS[@]:-}"
  # shellcheck disable=SC2016  # The inner shell expands it.
  unshare --mount --pid --fork --kill-child sh -c '
    set -e; root=$1; user=$2; mounts=$3; first=$4; shift 4
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    printf "%s" "$mounts" | while IFS= read -r folder; do
      [ -n "$folder" ] || continue
      mkdir -p "$root$folder"
      mount --bind "$folder" "$root$folder"
      mount -o remount,bind,ro "$root$folder"
    done
    home=/home/$user; [ "$user" != root ] || home=/root
    exec chroot --userspec="$user" "$root" /usr/bin/env -i PATH="${first:+$first:}/usr/sbin:/usr/bin:/sbin:/bin" \
      HOME="$home" LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' sh "$folder" "$user" "$mounts" "${BARE_PATH:-}" "$@"
}
