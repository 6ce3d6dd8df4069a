# shellcheck shell=bash
# Samples/broken: files that can't be published, each for a different reason.
# shellcheck source=scripts/lib/sample-recipes.sh
source "${BASH_SOURCE[0]%/*}/sample-recipes.sh"

# make_broken CLIPS FOLDER
make_broken() {
  local clips=$1 to=$2
  make_cut_files "$clips" "$to"
  make_other_media "$clips" "$to"
  make_no_media "$to"
  make_liars "$to"
  make_references "$clips" "$to"
}

# first_bytes COUNT FROM FILE
first_bytes() {
  head -c "$1" "$2" >"$3"
}

# offset_of FILE TEXT: prints the byte offset of the first TEXT in FILE.
offset_of() {
  LC_ALL=C grep -obUaF -m 1 -- "$2" "$1" | head -n 1 | cut -d : -f 1
}

make_cut_files() {
  local clips=$1 to=$2
  local whole
  whole=$(stat -c %s "$clips/faststart.mp4")
  first_bytes $((whole * 6 / 10)) "$clips/faststart.mp4" "$to/cut-off.mp4"
  # A box begins four bytes before its name.
  first_bytes $(($(offset_of "$clips/moov-at-end.mp4" moov) - 4)) "$clips/moov-at-end.mp4" "$to/no-moov.mp4"
  first_bytes $(($(offset_of "$clips/fragmented.mp4" moof) - 4)) "$clips/fragmented.mp4" "$to/no-samples.mp4"
}

make_other_media() {
  local clips=$1 to=$2
  exact_ffmpeg -i "$clips/faststart.mp4" -map 0:a -c copy -bitexact "$to/audio-only.mp4"
  exact_ffmpeg -i "$clips/cover.mp4" -i "$clips/faststart.mp4" -map 0:v:1 -map 1:a -c copy \
    -disposition:v:0 attached_pic -bitexact "$to/cover-only.mp4"
  exact_ffmpeg -i "$clips/old.avi" -map 0:a -c copy -bitexact -f mp3 "$to/mp3-named.mp4"
  exact_ffmpeg -i "$clips/faststart.mp4" -map 0:v -frames:v 5 -c copy -bsf:v h264_mp4toannexb -bitexact \
    -f h264 "$to/raw-stream.h264"
  exact_ffmpeg -f lavfi -i testsrc2=size=64x64 -frames:v 1 -threads 1 -flags:v +bitexact -bitexact \
    -c:v png -f image2 "$to/picture.mp4"
  exact_ffmpeg -f lavfi -i testsrc2=size=64x64:rate=5:duration=1 -threads 1 -flags:v +bitexact -bitexact \
    -f gif "$to/animation-named.mp4"
}

make_no_media() {
  local to=$1
  : >"$to/empty.mp4"
  printf 'Dear editor,\nthe video follows in my next letter.\n' >"$to/letter.mp4"
  printf '<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not found</body></html>\n' \
    >"$to/error-page.mp4"
  printf '%s\n' 'version https://git-lfs.github.com/spec/v1' \
    'oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393' 'size 12345' \
    >"$to/lfs-pointer.mp4"
  # The smallest ZIP archive: an end record and nothing before it would be empty; this one holds "a".
  printf 'PK\003\004\012\0\0\0\0\0\0\0\041\0\103\276\267\350\001\0\0\0\001\0\0\0\001\0\0\0aa' >"$to/archive.mp4"
  printf 'PK\001\002\036\003\012\0\0\0\0\0\0\0\041\0\103\276\267\350\001\0\0\0\001\0\0\0\001\0\0\0' \
    >>"$to/archive.mp4"
  printf '\0\0\0\0\0\0\0\0\0\0\0\0\0\0aPK\005\006\0\0\0\0\001\0\001\0\057\0\0\0\040\0\0\0\0\0' >>"$to/archive.mp4"
}

# Files that would make a careless reader open other files, or trust a header.
make_liars() {
  local to=$1
  printf '%s\n' '#EXTM3U' '#EXT-X-VERSION:3' '#EXT-X-TARGETDURATION:1' '#EXTINF:1.0,' '../clips/transport.ts' \
    '#EXT-X-ENDLIST' >"$to/playlist.mp4"
  printf '%s\n' 'ffconcat version 1.0' "file '../clips/faststart.mp4'" >"$to/concat.mp4"
  {
    printf '\0\0\0\030ftypisom\0\0\002\0isommp42'
    printf '\0\0\001\010moov'
    # 256 bytes that are not boxes: each claims to be larger than the box that contains it.
    printf '\377%.0s' {1..256}
  } >"$to/garbage.mp4"
}

# Movies whose video and audio data is in other files.
make_references() {
  local clips=$1 to=$2
  # An index whose data references name other files, and no data.
  first_bytes $(($(offset_of "$clips/faststart.mp4" mdat) - 4)) "$clips/faststart.mp4" "$to/elsewhere.mp4"
  LC_ALL=C sed -i 's/url \x00\x00\x00\x01/url \x00\x00\x00\x00/g' "$to/elsewhere.mp4"
  # A reference movie: the name of another movie instead of an index.
  {
    printf '\0\0\0\024ftypqt  \0\0\0\0qt  \0\0\0\103moov\0\0\0\073rmra\0\0\0\063rmda'
    printf '\0\0\0\053rdrf\0\0\0\0url \0\0\0\027../clips/faststart.mp4\0'
  } >"$to/reference-movie.mov"
}
