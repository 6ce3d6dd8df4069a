# shellcheck shell=bash
# The files that `scripts/bench probe` reads: a mixture of what people upload, no two with the same bytes.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/../lib/say.sh"

quiet_ffmpeg() {
  ffmpeg -nostdin -hide_banner -loglevel error -y "$@"
}

# make_original NAME SIZE SECONDS OPTIONS…: makes a clip with a tone, in $originals.
make_original() {
  local name=$1 size=$2 seconds=$3
  shift 3
  quiet_ffmpeg -f lavfi -i "testsrc2=size=$size:rate=30:duration=$seconds" \
    -f lavfi -i "sine=frequency=440:sample_rate=48000:duration=$seconds" -map 0:v -map 1:a \
    -pix_fmt yuv420p "$@" "$originals/$name"
}

# Makes what the checkout's samples lack: pictures of a realistic size, and newer codecs.
make_originals() {
  local h264=(-c:v libx264 -preset veryfast -crf 38) aac=(-c:a aac -b:a 32k) opus=(-c:a libopus -b:a 24k)
  make_original phone-4k.mp4 3840x2160 1 "${h264[@]}" "${aac[@]}" -movflags +faststart
  make_original full-hd.mp4 1920x1080 3 "${h264[@]}" "${aac[@]}" -movflags +faststart
  make_original hd.mp4 1280x720 5 "${h264[@]}" "${aac[@]}"
  make_original phone.mov 1920x1080 3 "${h264[@]}" "${aac[@]}"
  make_original phone-hevc.mov 1920x1080 2 -c:v libx265 -preset ultrafast -crf 38 \
    -x265-params log-level=none -tag:v hvc1 "${aac[@]}"
  make_original hd.mkv 1280x720 4 "${h264[@]}" "${opus[@]}"
  make_original hd-vp9.webm 1280x720 2 -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 300k "${opus[@]}"
  make_original hd-vp8.webm 1280x720 2 -c:v libvpx -deadline realtime -cpu-used 8 -b:v 300k "${opus[@]}"
  make_original hd-av1.mp4 1280x720 1 -c:v libsvtav1 -preset 12 -crf 60 "${aac[@]}" 2>/dev/null ||
    rm -f "$originals/hd-av1.mp4"
  make_original hour.mp4 320x180 10 "${h264[@]}" "${aac[@]}"
}

# Prints the mixture. Each line: the share per thousand, the original, the options that preserve its format.
mixture() {
  cat <<'LINES'
150 full-hd.mp4 -movflags +faststart
120 hd.mp4
40 phone-4k.mp4 -movflags +faststart
60 faststart.mp4 -movflags +faststart
40 moov-at-end.mp4
30 titled.mp4
20 pal-wide.mp4
20 hd-av1.mp4
30 fragmented.mp4 -movflags +frag_keyframe+empty_moov+default_base_moof
120 phone.mov
70 phone-hevc.mov
20 hdr10.mov
20 phone-portrait.mov
20 ipod.m4v
40 hd.mkv
20 matroska.mkv
40 hd-vp9.webm
20 vp9.webm
20 hd-vp8.webm
20 recorded-in-a-browser.webm -live 1
20 transport.ts
10 camcorder.m2ts -mpegts_m2ts_mode 1
10 program.mpg -f vob
20 old.avi
10 flash.flv
5 theora.ogv
10 windows.wmv
10 old-phone.3gp
5 studio.mxf
LINES
}

# make_files SAMPLES FOLDER COUNT: makes COUNT files, three of them long.
make_files() {
  local samples=$1 folder=$2 count=$3 originals=$2/originals share name rest
  mkdir -p "$originals" "$folder/files"
  say "making $count files in $folder"
  find "$samples" -maxdepth 1 -type f ! -name '*.json' -exec cp -t "$originals" {} +
  make_originals
  while read -r share name rest; do
    [[ -e $originals/$name ]] || { say "left out: $name (this ffmpeg has no encoder for it)"; continue; }
    # shellcheck disable=SC2086  # The options are words.
    make_variants "$name" $(((share * count + 999) / 1000)) $rest
  done < <(mixture)
  make_long_files
  keep_to "$count"
}

# make_variants NAME COUNT OPTIONS…: makes remuxed copies of an original, each with its own title; in containers without
# titles, with its own duration.
make_variants() {
  local name=$1 count=$2 number outputs=()
  shift 2
  for ((number = 1; number <= count; number++)); do
    outputs+=(-map 0 -c copy "$@" -metadata "title=Clip $number of $name" -metadata "service_name=Clip $number")
    [[ $name != *.mxf && $name != *.mpg ]] || outputs+=(-t "$((1000 - 40 * number))ms")
    outputs+=("$(printf '%s/files/%s-%04d.%s' "$folder" "${name%.*}" "$number" "${name##*.}")")
    if ((number % 50 == 0 || number == count)); then
      quiet_ffmpeg -i "$originals/$name" "${outputs[@]}"
      outputs=()
    fi
  done
}

make_long_files() {
  quiet_ffmpeg -stream_loop 359 -i "$originals/hour.mp4" -c copy -map 0 "$folder/files/long-hour.mp4"
  quiet_ffmpeg -stream_loop 719 -i "$originals/hour.mp4" -c copy -map 0 -movflags +faststart \
    "$folder/files/long-two-hours.mp4"
  quiet_ffmpeg -stream_loop 359 -i "$originals/hour.mp4" -c copy -map 0 "$folder/files/long-hour.mkv"
}

# keep_to COUNT: removes the surplus files that rounding up made, and empty ones, and prints how many are distinct.
keep_to() {
  local count=$1 distinct
  find "$folder/files" -type f -size 0 -delete
  find "$folder/files" -type f ! -name 'long-*' |
    shuf --random-source=<(yes) | tail -n "+$((count - 2))" | xargs -r -d '\n' rm --
  distinct=$(find "$folder/files" -type f -exec md5sum {} + | cut -d ' ' -f 1 | sort -u | wc -l)
  say "$(find "$folder/files" -type f | wc -l) files, $distinct of them distinct," \
    "$(du -sh "$folder/files" | cut -f 1)"
}

# take_files FOLDER LAB: copies the files that Reel can read into one folder.
take_files() {
  mkdir -p "$2/files"
  say "taking the videos of $1"
  { "$reel" probe --jsonl "$1" || true; } | python3 -c '
import json, os, shutil, sys
for number, line in enumerate(sys.stdin):
    file = json.loads(line)
    if file["ok"]:
        name = os.path.basename(file["path"]).lstrip("-")
        shutil.copyfile(file["path"], f"{sys.argv[1]}/{number:05}-{name}")
' "$2/files"
}
