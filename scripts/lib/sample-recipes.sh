# shellcheck shell=bash
# How the samples are made: from FFmpeg's test sources, with deterministic encoders and tiny pictures.

# Runs ffmpeg, silent except for errors; its output depends on no time, version or random value.
exact_ffmpeg() {
  ffmpeg -nostdin -hide_banner -loglevel error -y -fflags +bitexact -filter_complex_threads 1 "$@"
}

# encode SIZE RATE SECONDS FILE OUTPUT-OPTIONS…: encodes a test pattern with a tone.
encode() {
  local size=$1 rate=$2 seconds=$3 file=$4
  shift 4
  exact_ffmpeg -f lavfi -i "testsrc2=size=$size:rate=$rate:duration=$seconds" \
    -f lavfi -i "sine=frequency=440:sample_rate=44100:duration=$seconds" \
    -map 0:v -map 1:a -threads 1 "$@" -bitexact -flags:v +bitexact -flags:a +bitexact "$file"
}

# encode_silent SIZE RATE SECONDS FILE OUTPUT-OPTIONS…: the same without audio.
encode_silent() {
  local size=$1 rate=$2 seconds=$3 file=$4
  shift 4
  exact_ffmpeg -f lavfi -i "testsrc2=size=$size:rate=$rate:duration=$seconds" \
    -threads 1 "$@" -bitexact -flags:v +bitexact "$file"
}

# rewrap FROM FILE OUTPUT-OPTIONS…: copies the streams into another container.
rewrap() {
  local from=$1 file=$2
  shift 2
  exact_ffmpeg -i "$from" -map 0 -c copy "$@" -bitexact "$file"
}
