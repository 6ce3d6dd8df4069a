# Prints a line for each fact on which a reader and the manifest's `media` disagree.
# Input: the reader's facts; `$claim`: the sample's entry in the manifest; `$reader`: the reader's name.
. as $said
| [paths((type != "object" and type != "array") or . == [])] as $facts
| $facts[] | . as $fact
| (try ($claim.media | getpath($fact)) catch null) as $claimed
| ($said | getpath($fact)) as $found
| select($claim.media | [paths(true)] | any(. == $fact))
| select(if $fact == ["duration"] and $claimed != null and $found != null
    then ($found - $claimed | fabs) > ($claim.durationTolerance // 0.1)
    else $found != $claimed end)
| "\($claim.path): \($fact | map(tostring) | join(".")) is \($claimed | tojson) in the manifest, \($found | tojson) according to \($reader)"
