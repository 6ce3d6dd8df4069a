# The facts that MediaInfo states about a file, in the keys of `reel probe --json`. Facts that it doesn't state are left
# out. Input: `mediainfo --Output=JSON`.
def stated($key): if . == null then {} else {($key): tonumber} end;

[.media.track[] | select(."@type" == "Video")][0] as $video
| (.media.track[0] | .Duration | stated("duration"))
+ {video: (if $video == null then null else
    ($video | (.Width | stated("storedWidth")) + (.Height | stated("storedHeight"))
      + (.Rotation | stated("rotation"))) end)}
