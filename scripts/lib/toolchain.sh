# shellcheck shell=bash
# The Swift toolchain: whether it is installed and new enough. These scripts can't install it.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/say.sh"

oldest_swift=6.2

# Gives up, saying where to get it, unless `swift` is installed and new enough.
require_swift() {
  local advice="install Swift $oldest_swift or newer from https://www.swift.org/install/linux, put it on PATH and run this again"
  command -v swift >/dev/null || give_up "there is no Swift toolchain: $advice"
  local words version
  words=$(swift --version 2>/dev/null </dev/null) || give_up "the Swift toolchain does not start: $advice"
  [[ $words =~ Swift\ version\ ([0-9]+(\.[0-9]+)*) ]] || give_up "this is not a Swift toolchain: $(command -v swift); $advice"
  version=${BASH_REMATCH[1]}
  is_at_least "$oldest_swift" "$version" || give_up "Swift $version is too old: $advice"
}

# is_at_least LEAST VERSION
is_at_least() {
  [[ $(printf '%s\n' "$1" "$2" | sort --version-sort | head -n 1) == "$1" ]]
}

# toolchain_folder FOLDER: prints a folder that holds the toolchain of `swift` and nothing else, as usr/bin/swift and so
# on. A toolchain unpacked over this system (swift.org's images have it in /usr) is copied into FOLDER: every file that
# belongs to no Debian package.
toolchain_folder() {
  local swift
  swift=$(readlink -f "$(command -v swift)")
  swift=${swift%/usr/bin/*}
  if [[ -n $swift ]]; then
    printf '%s' "$swift"
    return
  fi
  mkdir -p "$1"
  # The links of Debian's alternatives system belong to no package and lead out of /usr.
  (
    cd /
    find usr/bin usr/include usr/lib usr/libexec usr/share \( -type f -o -type l \) ! -lname '/*' -print0 |
      sort --zero-terminated |
      comm --zero-terminated -23 - <(cat var/lib/dpkg/info/*.list | sed -E 's#^/##; s#^(bin|lib|lib32|lib64|libx32|sbin)/#usr/&#' | tr '\n' '\0' | sort --zero-terminated --unique) |
      tar --create --null --no-recursion --files-from - | tar --extract --directory "$1"
  )
  printf '%s' "$1"
}
