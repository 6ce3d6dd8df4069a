# shellcheck shell=bash
# A poster of each video, next to the tools that people use for it.

# get_poster_peers: installs those that Debian has.
get_poster_peers() {
  require_packages given "to measure beside" ffmpeg ffmpegthumbnailer
}

# commands_of_poster LAB: prints NAME <tab> COMMAND <tab> COMMAND BEFORE IT. Each writes its pictures to LAB/out, one
# per file.
commands_of_poster() {
  local before="rm -rf '$1/out' && mkdir '$1/out'"
  command_after "$before" "$reel" "reel poster, two workers" "REEL_JOBS=2 '$reel' poster files -o '$1/out/' --jsonl >/dev/null 2>&1"
  command_after "$before" "$reel" "reel poster, one worker" "REEL_JOBS=1 '$reel' poster files -o '$1/out/' --jsonl >/dev/null 2>&1"
  command_after "$before" "$reel" "reel poster, a process each" \
    "for f in files/*; do '$reel' poster \"\$f\" -o \"$1/out/\${f##*/}.jpg\" >/dev/null 2>&1; done; true"
  command_after "$before" "$reel" "reel ingest" "'$reel' ingest files --library '$1/out/library' -q >/dev/null"
  command_after "$before" "$reel" "reel ingest --posters" \
    "'$reel' ingest files --library '$1/out/library' --posters -q >/dev/null"
  command_after "$before" ffmpegthumbnailer "ffmpegthumbnailer" \
    "for f in files/*; do ffmpegthumbnailer -s 512 -c jpeg -i \"\$f\" -o \"$1/out/\${f##*/}.jpg\" >/dev/null 2>&1; done; true"
  command_after "$before" ffmpeg "ffmpeg -ss 1" \
    "for f in files/*; do ffmpeg -nostdin -v quiet -y -ss 1 -i \"\$f\" -frames:v 1 -vf scale=512:-2 \"$1/out/\${f##*/}.jpg\"; done; true"
  command_after "$before" ffmpeg "ffmpeg, filter thumbnail" \
    "for f in files/*; do ffmpeg -nostdin -v quiet -y -i \"\$f\" -frames:v 1 -vf thumbnail,scale=512:-2 \"$1/out/\${f##*/}.jpg\"; done; true"
}

# count_posters LAB: prints how many pictures each command made, as NAME <tab> COUNT.
count_posters() {
  local name command before
  while IFS=$'\t' read -r name command before; do
    bash -c "$before"
    (cd "$1" && bash -c "$command") || true
    printf '%s\t%s\n' "$name" "$(find "$1/out" -name '*.jpg' -size +0 | wc -l)"
  done <"$1/commands"
}

# keep_videos LAB: keeps only files that have a picture to show; removes audio files, initialization segments and
# encrypted files.
keep_videos() {
  { "$reel" probe --jsonl "$1/files" || true; } | python3 -c '
import json, os, sys
for line in sys.stdin:
    file = json.loads(line)
    video = file["ok"] and file["media"]["video"]
    if not video or not video["hasSamples"] or file["media"]["encrypted"]:
        os.remove(file["path"])
'
}

# print_poster_table TIMES COUNTS FILES
print_poster_table() {
  awk -F '\t' -v files="$3" '
    BEGIN {
      print "| | CPU ms a file | wall ms a file | pictures | goal |"
      print "| --- | ---: | ---: | ---: | ---: |"
      goal["reel poster, two workers"] = goal["reel poster, one worker"] = "16 ms of CPU"
      goal["reel ingest --posters"] = "14 ms of CPU more than without"
    }
    NR == FNR { pictures[$1] = $2; next }
    { printf "| %s | %.1f | %.1f | %s of %s | %s |\n", $1, $2 * 1000 / files, $3 * 1000 / files, pictures[$1], files, goal[$1] }
  ' "$2" "$1"
}

bench_poster() {
  [[ $peers == false ]] || get_poster_peers
  local lab count
  prepare_lab
  keep_videos "$lab"
  prepare_files
  count=$(find "$lab/files" -type f | wc -l)
  commands_of_poster "$lab" >"$lab/commands"
  count_posters "$lab" >"$lab/counts"
  (cd "$lab" && python3 "$parts/measure.py" "$rounds" <commands) >"$lab/times"
  print_poster_table "$lab/times" "$lab/counts" "$count"
}
