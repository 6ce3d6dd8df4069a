# shellcheck shell=bash
# `scripts/bench page`: a site of many posts, written once, again, and after one more post.
# Uses $parts, $root, $reel, $keep, $short of scripts/bench.

# page_posts LAB COUNT: makes a library with COUNT posts. Only the first one's video exists.
page_posts() {
  [[ -d $1/library ]] && return
  "$reel" publish "$root/Samples/clips/faststart.mp4" --library "$1/library.new" --quiet >/dev/null
  python3 "$parts/make_intake.py" posts "$1/library.new" "$2"
  mv "$1/library.new" "$1/library"
}

# page_step LAB TITLE: writes the site, and prints what it cost.
page_step() {
  local cpu wall memory
  sync
  MEASURE_STRICT=1 python3 "$parts/peak.py" "$1/peak" "$reel" page -o "$1/site" --library "$1/library" >/dev/null
  read -r cpu wall memory <"$1/peak"
  # Memory is sampled every 100 ms, so a shorter run has no figure.
  memory=$(printf '%.0f' "$memory")
  [[ $memory != 0 ]] || memory="not seen"
  printf '| %s | %.2f | %.2f | %s |\n' "$2" "$cpu" "$wall" "$memory"
}

bench_page() {
  local lab=$keep count=1000000
  [[ $short == false ]] || count=500
  # Not in /tmp, which may be in memory.
  [[ -n $lab ]] || lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
  mkdir -p "$lab"
  # shellcheck disable=SC2064
  trap "[[ -n '$keep' ]] || rm -rf '$lab'" EXIT
  page_posts "$lab" "$count"
  rm -rf "$lab/site"
  print_circumstances
  printf '| reel page of %d posts | CPU s | wall s | MB |\n| --- | ---: | ---: | ---: |\n' "$count"
  page_step "$lab" "all of them"
  page_step "$lab" "again"
  "$reel" publish "$root/Samples/clips/phone-portrait.mov" --library "$lab/library" --duplicates allow --quiet >/dev/null
  page_step "$lab" "after one more post"
}
