# The facts that ffprobe states about a file, in the keys of `reel probe --json`. Facts that it doesn't state are left
# out. Input: `ffprobe -of json -show_format -show_streams -show_packets`.
def containers: {
  "mov,mp4,m4a,3gp,3g2,mj2":
    ({"qt  ": "mov", "M4V ": "m4v", "3gp4": "3gp"}[.format.tags.major_brand? // ""] // "mp4"),
  "matroska,webm": null, "mpegts": null, "mpeg": "mpg", "asf": "wmv", "ogg": "ogv",
  "avi": "avi", "flv": "flv", "mxf": "mxf"};
def ratio($separator): if . == null then null else split($separator) | map(tonumber) end;
def turn: [.side_data_list[]? | .rotation // empty][0] // 0 | ((-. % 360) + 360) % 360;
def last_packet: [.packets[]? | ((.pts_time // "0") | tonumber) + ((.duration_time // "0") | tonumber)] | max;

def video_facts:
  ((.sample_aspect_ratio // "1:1") | ratio(":")) as $pixel
  | ((.width * $pixel[0] / $pixel[1]) | round) as $wide
  | turn as $turn
  | {codec: .codec_name, storedWidth: .width, storedHeight: .height, rotation: $turn,
      width: (if $turn % 180 == 0 then $wide else .height end),
      height: (if $turn % 180 == 0 then .height else $wide end)}
  + (if .avg_frame_rate == "0/0" then {} else {frameRate: .avg_frame_rate} end)
  + (if .pix_fmt then {pixelFormat: .pix_fmt} else {} end)
  + (if .sample_aspect_ratio then {sampleAspectRatio: .sample_aspect_ratio} else {} end)
  + (if .color_transfer == "smpte2084" then {hdr: {kind: "PQ"}} else {hdr: null} end);

. as $all
| [.streams[] | select(.codec_type == "video")] as $pictures
| [$pictures[] | select(.disposition.attached_pic == 0)] as $videos
| (containers[.format.format_name]) as $container
| (if .format.duration then .format.duration | tonumber else last_packet end) as $duration
| (if $container then {container: $container} else {} end)
+ {duration: $duration,
   title: .format.tags.title, artist: .format.tags.artist,
   createdAt: (.format.tags.creation_time | if . then sub("\\.[0-9]+Z$"; "Z") else null end),
   hasLocation: ((.format.tags // {}) | has("location")),
   audio: [.streams[] | select(.codec_type == "audio")
     | {codec: .codec_name, channels, sampleRate: (.sample_rate | tonumber)}],
   video: (if $videos == [] then null else
     ($videos[0] | video_facts) + {streams: ($videos | length), hasCover: ($pictures != $videos)} end)}
