# shellcheck shell=bash
# How fast reel-serve accepts uploads, next to tuspyserver and nginx.

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
    # Not in /tmp, which may be in memory.
    lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
    # shellcheck disable=SC2064
    trap "rm -rf '$lab'" EXIT
  fi
  mkdir -p "$lab"
  print_circumstances
  printf 'one upload of %d MB, and %d of 2 MB, 8 at once; medians of %s rounds\n\n' $((large / 1000000)) "$small" "$rounds"
  python3 -B "$parts/serve.py" "$root/Server/.build/release/reel-serve" "$tus_venv" \
    "$root/Samples/clips/captioned.mp4" "$lab" "$rounds" "$large" "$small" >"$lab/times"
  print_serve_table "$lab/times"
}

# print_serve_table TIMES: prints the others' times next to those of reel-serve's PUT.
print_serve_table() {
  awk -F '\t' '
    BEGIN {
      print "| | wall s | the server'"'"'s CPU s | reel-serve takes, of its wall time |"
      print "| --- | ---: | ---: | ---: |"
    }
    $2 == "reel-serve, PUT" { reel = $3 }
    { printf "| %s: %s | %.2f | %.2f | %s |\n", $1, $2, $3, $4, $2 ~ /^reel/ ? "" : sprintf("%.2f", reel / $3) }
  ' "$1"
}
