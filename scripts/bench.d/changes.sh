# shellcheck shell=bash
# `scripts/bench changes`: removing many posts, next to removing their files, and editing one of a million.
# Uses $parts, $root, $reel, $keep, $short, $rounds of scripts/bench.

# changes_step TITLE POSTS COMMAND…: runs it, and prints what it cost.
changes_step() {
  local title=$1 posts=$2 cpu wall memory
  sync
  MEASURE_STRICT=1 python3 "$parts/peak.py" "$lab/peak" "${@:3}" >/dev/null
  read -r cpu wall memory <"$lab/peak"
  awk -v title="$title" -v posts="$posts" -v cpu="$cpu" -v wall="$wall" \
    'BEGIN { printf "| %s | %.0f | %.3f | %.0f |\n", title, cpu * 1000, cpu * 1000 / posts, wall * 1000 }'
}

# Ingests all videos into one library, and copies its objects for rm.
changes_library() {
  rm -rf "$lab/removed" "$lab/plain"
  "$reel" ingest "$lab/files" --library "$lab/removed" --quiet >/dev/null
  cp -r "$lab/removed/media" "$lab/plain"
}

bench_changes() {
  local count=10000 million=1000000 id round
  [[ $short == false ]] || count=50 million=500
  lab=$keep
  # Not in /tmp, which may be in memory.
  [[ -n $lab ]] || lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
  mkdir -p "$lab"
  # shellcheck disable=SC2064
  trap "[[ -n '$keep' ]] || rm -rf '$lab'" EXIT
  [[ -d $lab/files ]] ||
    python3 "$parts/make_intake.py" small "$lab/files" "$count" $((count * 8192)) "$root/Samples/clips/faststart.mp4"
  page_posts "$lab" "$million"
  id=$("$reel" feed --library "$lab/library" --size 1 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["posts"][0]["id"])')
  print_circumstances
  printf '| | CPU ms | CPU ms a post | wall ms |\n| --- | ---: | ---: | ---: |\n'
  for ((round = 1; round <= rounds; round++)); do
    changes_library
    changes_step "rm -r of $count objects" "$count" rm -r "$lab/plain"
    changes_step "reel remove of $count posts" "$count" "$reel" remove --since 1d --library "$lab/removed"
    changes_step "reel edit, $million posts" 1 "$reel" edit "$id" --caption "round $round of $RANDOM" --library "$lab/library"
  done
}
