# shellcheck shell=bash
# Samples/clips: files that can be published.
# shellcheck source=scripts/lib/sample-recipes.sh
source "${BASH_SOURCE[0]%/*}/sample-recipes.sh"

# Encoder options. The SEI message with which x264 advertises itself is removed.
h264=(-c:v libx264 -preset slow -crf 36 -g 12 -pix_fmt yuv420p -bsf:v filter_units=remove_types=6)
aac=(-c:a aac -b:a 24k -ac 1)
opus=(-c:a libopus -b:a 16k -ac 1 -ar 48000)
vorbis=(-c:a libvorbis -q:a 0 -ac 1)
mp3=(-c:a libmp3lame -b:a 32k -ac 1)
mp2=(-c:a mp2 -b:a 64k -ac 1)

# make_clips FOLDER
make_clips() {
  local to=$1
  make_mp4_clips "$to"
  make_phone_clips "$to"
  make_matroska_clips "$to"
  make_broadcast_clips "$to"
  make_older_clips "$to"
  make_pixel_clips "$to"
  printf '%s\n' '{"caption": "First light over the test card", "music": "A sine in A"}' >"$to/captioned.json"
}

make_mp4_clips() {
  local to=$1
  encode 192x108 25 2 "$to/faststart.mp4" "${h264[@]}" "${aac[@]}" -movflags +faststart
  encode 160x90 25 2 "$to/moov-at-end.mp4" "${h264[@]}" "${aac[@]}"
  encode 160x90 24 2 "$to/fragmented.mp4" "${h264[@]}" "${aac[@]}" \
    -movflags +frag_keyframe+empty_moov+default_base_moof
  encode 160x120 25 1 "$to/captioned.mp4" "${h264[@]}" "${aac[@]}" -movflags +faststart
  encode 160x90 25 1 "$to/titled.mp4" "${h264[@]}" "${aac[@]}" -movflags +faststart \
    -metadata title="Test card" -metadata artist="Sine and the Waves" \
    -metadata creation_time=2024-05-01T10:11:12Z
  encode_silent 160x90 30000/1001 1 "$to/silent.mp4" "${h264[@]}" -movflags +faststart
  encode 144x144 25 1 "$to/ipod.m4v" "${h264[@]}" "${aac[@]}" -f ipod
  encode 160x90 25 1 "$to/mov-named.mp4" "${h264[@]}" "${aac[@]}" -f mov
  encode_silent 160x90 30 2 "$to/variable-rate.mp4" "${h264[@]}" -vf "select='lt(t,1)+not(mod(n,5))'" -fps_mode vfr \
    -movflags +faststart
  encode_silent 160x90 25 1 "$to/full-colour.mp4" "${h264[@]}" -pix_fmt yuv444p -movflags +faststart
  exact_ffmpeg -i "$to/titled.mp4" -i "$to/silent.mp4" -map 0:v -map 1:v -map 0:a -map_metadata -1 -c copy \
    -movflags +faststart -bitexact "$to/two-pictures.mp4"
  make_cover_clip "$to"
}

# A cover picture beside the video: it is not a video stream.
make_cover_clip() {
  local to=$1
  exact_ffmpeg -i "$to/silent.mp4" -f lavfi -i "testsrc2=size=64x64:rate=1:duration=1" \
    -map 0:v -map 1:v -c:v:0 copy -c:v:1 png -frames:v:1 1 -disposition:v:1 attached_pic \
    -threads 1 -bitexact -flags:v +bitexact "$to/cover.mp4"
}

# Clips as phones write them: the picture is stored on its side, and a matrix in the header rotates it. FFmpeg counts
# the rotation counterclockwise.
make_phone_clips() {
  local to=$1
  encode 192x108 30 2 "$to/lying.mov" "${h264[@]}" "${aac[@]}"
  rewrap "$to/lying.mov" "$to/phone-portrait.mov" -metadata:s:v rotate=270
  rewrap "$to/lying.mov" "$to/phone-other-way.mov" -metadata:s:v rotate=90
  rm "$to/lying.mov"
  encode 160x90 30 1 "$to/phone-located.mov" "${h264[@]}" "${aac[@]}" -metadata location=+48.8577+002.2950/
  encode_silent 160x90 25 1 "$to/hdr10.mov" -c:v libx265 -preset fast -crf 36 -tag:v hvc1 -pix_fmt yuv420p10le \
    -x265-params log-level=error:info=0:pools=none:frame-threads=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc \
    -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc
  encode 176x144 15 1 "$to/old-phone.3gp" -c:v h263 -b:v 60k "${aac[@]}"
}

make_matroska_clips() {
  local to=$1
  encode 160x90 25 2 "$to/recorded-in-a-browser.webm" -c:v libvpx -b:v 60k "${opus[@]}" -live 1
  encode 160x90 25 1 "$to/vp9.webm" -c:v libvpx-vp9 -b:v 50k -row-mt 0 "${opus[@]}"
  encode 160x90 25 2 "$to/matroska.mkv" "${h264[@]}" "${vorbis[@]}"
}

make_broadcast_clips() {
  local to=$1
  encode 160x90 25 1 "$to/transport.ts" "${h264[@]}" "${mp2[@]}" -f mpegts
  encode 160x90 25 1 "$to/camcorder.m2ts" "${h264[@]}" "${aac[@]}" -f mpegts -mpegts_m2ts_mode 1
  encode 176x144 25 1 "$to/program.mpg" -c:v mpeg2video -b:v 150k "${mp2[@]}" -f vob
  encode_silent 160x96 25 0.4 "$to/studio.mxf" -c:v mpeg2video -b:v 150k -f mxf
}

make_older_clips() {
  local to=$1
  encode 160x120 25 1 "$to/old.avi" -c:v mpeg4 -b:v 60k "${mp3[@]}"
  encode 160x120 25 1 "$to/flash.flv" -c:v flv -b:v 60k "${mp3[@]}"
  encode 160x96 25 1 "$to/theora.ogv" -c:v libtheora -q:v 3 "${vorbis[@]}"
  encode 160x120 25 1 "$to/windows.wmv" -c:v wmv2 -b:v 60k -c:a wmav2 -b:a 32k -ac 1
}

# Non-square pixels: stored narrow, displayed wide.
make_pixel_clips() {
  local to=$1
  encode 176x144 25 1 "$to/pal-wide.mp4" "${h264[@]}" "${aac[@]}" -vf setsar=16/11 -movflags +faststart
  encode 120x90 25 1 "$to/wide-pixels.mkv" "${h264[@]}" "${opus[@]}" -vf setsar=4/3
}
