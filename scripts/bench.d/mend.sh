# shellcheck shell=bash
# Mending a large file, next to the tools that people use for it. Reel verifies and syncs its output; the others do
# neither.

get_mend_peers() {
  require_packages given "to measure beside" ffmpeg
}

# make_large_file LAB BYTES: makes LAB/last.mp4, with its index last, and LAB/live.mkv, without index and duration, as a
# browser records.
make_large_file() {
  local size
  [[ ! -e $1/live.mkv ]] || return 0
  ffmpeg -nostdin -v error -y -f lavfi -i 'testsrc2=size=1280x720:rate=30,noise=alls=40' -f lavfi -i 'sine' \
    -t 4 -c:v mpeg4 -q:v 2 -c:a aac "$1/piece.mp4"
  size=$(stat -c %s "$1/piece.mp4")
  ffmpeg -nostdin -v error -y -stream_loop "$(($2 / size))" -i "$1/piece.mp4" -c copy "$1/last.mp4"
  ffmpeg -nostdin -v error -y -i "$1/last.mp4" -c copy -f matroska -live 1 - >"$1/live.mkv"
}

# commands_of_mend: each writes out.mp4 or out.mkv. Before it runs, the last one's output is removed, data is synced, and
# 2 GB of memory are used and freed: a virtual machine's host reclaims memory that has been free for seconds, and the
# next process to use it would pay several times what copying costs.
commands_of_mend() {
  local before="rm -f out.mp4 out.mkv && sync . && python3 -c 'b = b\"1\" * (2 << 30)'"
  command_after "$before" "$reel" "reel mend --faststart" "'$reel' mend last.mp4 -o out.mp4 --faststart >/dev/null 2>&1"
  command_after "$before" ffmpeg "ffmpeg -c copy -movflags +faststart" \
    "ffmpeg -nostdin -v error -i last.mp4 -map 0 -c copy -movflags +faststart out.mp4"
  command_after "$before" ffmpeg "the same, then sync" \
    "ffmpeg -nostdin -v error -i last.mp4 -map 0 -c copy -movflags +faststart out.mp4 && sync out.mp4"
  command_after "$before" qt-faststart "qt-faststart" "qt-faststart last.mp4 out.mp4 >/dev/null"
  command_after "$before" qt-faststart "qt-faststart, then sync" "qt-faststart last.mp4 out.mp4 >/dev/null && sync out.mp4"
  command_after "$before" cp "cp, then sync" "cp --reflink=never last.mp4 out.mp4 && sync out.mp4"
  command_after "$before" "$reel" "reel mend --duration" "'$reel' mend live.mkv -o out.mkv --duration >/dev/null 2>&1"
  command_after "$before" ffmpeg "ffmpeg -c copy" "ffmpeg -nostdin -v error -i live.mkv -map 0 -c copy out.mkv"
  command_after "$before" ffmpeg "ffmpeg -c copy, then sync" \
    "ffmpeg -nostdin -v error -i live.mkv -map 0 -c copy out.mkv && sync out.mkv"
}

bench_mend() {
  [[ $peers == false ]] || get_mend_peers
  command -v ffmpeg >/dev/null || give_up "making the large file needs ffmpeg: --with-peers installs it"
  local lab=$keep size=1080000000
  [[ $short == false ]] || size=20000000
  if [[ -z $lab ]]; then
    # Not in /tmp, which may be in memory.
    lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
    # shellcheck disable=SC2064
    trap "rm -rf '$lab'" EXIT
  fi
  mkdir -p "$lab"
  make_large_file "$lab" "$size"
  print_circumstances
  printf '%s MB; medians of %s rounds\n\n' "$(($(stat -c %s "$lab/last.mp4") / 1000000))" "$rounds"
  commands_of_mend >"$lab/commands"
  (cd "$lab" && MEASURE_STRICT=1 python3 "$parts/measure.py" "$rounds" <commands) |
    awk -F '\t' 'BEGIN { print "| | CPU s | wall s |\n| --- | ---: | ---: |" } { printf "| %s | %.2f | %.2f |\n", $1, $2, $3 }'
}
