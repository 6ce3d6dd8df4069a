# shellcheck shell=bash
# What stands in packaging/origin.

# origin ROOT KEY: its value; nothing where it is not filled in.
origin() {
  local value
  value=$(sed -n "s/^$2=//p" "$1/packaging/origin")
  [[ $value != https://example.org/* ]] || value=
  printf '%s' "$value"
}
