# shellcheck shell=bash
# How a sample is made: FFmpeg's test sources, encoders that give the same bytes each time, tiny pictures.

# ffmpeg, silent but for errors, and without anything in its output that tells time, version or chance.
exact_ffmpeg() {
  ffmpeg -nostdin -hide_banner -loglevel error -y -fflags +bitexact -filter_complex_threads 1 "$@"
}

# encode SIZE RATE SECONDS FILE OUTPUT-OPTIONS…: a test picture with a tone.
encode() {
  local size=$1 rate=$2 seconds=$3 file=$4
  shift 4
  exact_ffmpeg -f lavfi -i "testsrc2=size=$size:rate=$rate:duration=$seconds" \
    -f lavfi -i "sine=frequency=440:sample_rate=44100:duration=$seconds" \
    -map 0:v -map 1:a -threads 1 "$@" -bitexact -flags:v +bitexact -flags:a +bitexact "$file"
}

# encode_silent SIZE RATE SECONDS FILE OUTPUT-OPTIONS…: the same without a tone.
encode_silent() {
  local size=$1 rate=$2 seconds=$3 file=$4
  shift 4
  exact_ffmpeg -f lavfi -i "testsrc2=size=$size:rate=$rate:duration=$seconds" \
    -threads 1 "$@" -bitexact -flags:v +bitexact "$file"
}

# rewrap FROM FILE OUTPUT-OPTIONS…: the same streams in another container.
rewrap() {
  local from=$1 file=$2
  shift 2
  exact_ffmpeg -i "$from" -map 0 -c copy "$@" -bitexact "$file"
}

# Options of the encoders. The encoder's own advertisement (a SEI message) is taken out of H.264.
h264=(-c:v libx264 -preset slow -crf 36 -g 12 -pix_fmt yuv420p -bsf:v filter_units=remove_types=6)
aac=(-c:a aac -b:a 24k -ac 1)
opus=(-c:a libopus -b:a 16k -ac 1 -ar 48000)
vorbis=(-c:a libvorbis -q:a 0 -ac 1)
mp3=(-c:a libmp3lame -b:a 32k -ac 1)
mp2=(-c:a mp2 -b:a 64k -ac 1)
