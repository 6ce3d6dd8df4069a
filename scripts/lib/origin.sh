# shellcheck shell=bash
# Reads packaging/origin.

# origin ROOT KEY: prints the key's value; nothing if it is not filled in.
origin() {
  local value
  value=$(sed -n "s/^$2=//p" "$1/packaging/origin")
  [[ $value != https://example.org/* ]] || value=
  printf '%s' "$value"
}
