# shellcheck shell=bash
# How fast reel-serve takes uploads, beside tuspyserver and nginx.

bench_serve() {
  local lab=$keep large=4000000000 small=500 log=$root/Server/.build/release.log tus_venv=$root/.build/servers/tus
  [[ $short == false ]] || large=100000000 small=20
  if [[ $peers == true ]]; then
    require_packages given "to measure beside" nginx-light python3-venv
    "$here/lib/tus-server" install "$tus_venv"
  fi
  mkdir -p "${log%/*}"
  : >"$log"
  swift_build "$root/Server" "$log" reel-serve || build_failed "$log"
  if [[ -z $lab ]]; then
    # Not /tmp, which may be memory.
    lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
    # shellcheck disable=SC2064
    trap "rm -rf '$lab'" EXIT
  fi
  mkdir -p "$lab"
  print_circumstances
  printf 'one upload of %d MB, and %d of 2 MB, 8 at once; medians of %s rounds; seconds, and the server'\''s processor seconds\n\n' \
    $((large / 1000000)) "$small" "$rounds"
  python3 -B "$parts/serve.py" "$root/Server/.build/release/reel-serve" "$tus_venv" \
    "$root/Samples/clips/captioned.mp4" "$lab" "$rounds" "$large" "$small"
}
