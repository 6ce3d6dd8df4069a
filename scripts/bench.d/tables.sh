# shellcheck shell=bash
# Prints the results as Markdown tables.

# print_probe_table TIMES COUNT: the ratio is reel's CPU time to the other tool's.
print_probe_table() {
  awk -F '\t' -v count="$2" '
    NR == 1 { reel = $2 }
    $1 == "reel, two workers" { two = $3 }
    $1 == "reel, one worker" { one = $3 }
    BEGIN {
      goal["ffprobe, a process each"] = "1/60"
      goal["mediainfo, one process"] = goal["exiftool -fast2, one process"] = "1/3"
      goal["C loop, find_stream_info"] = "1/3"
      print "| | CPU s | wall s | CPU ms a file | reel takes, of its CPU | goal |"
      print "| --- | ---: | ---: | ---: | ---: | ---: |"
    }
    {
      ratio = $1 ~ /^reel/ ? "" : sprintf("1/%.1f", $2 / reel)
      printf "| %s | %.2f | %.2f | %.2f | %s | %s |\n", $1, $2, $3, $2 * 1000 / count, ratio, goal[$1]
    }
    END { if (one > 0) printf "\nWall time with two workers against one: %.2f (goal: 0.6)\n", two / one }
  ' "$1"
}

# print_methods JSONL: prints how often the header was enough.
print_methods() {
  printf '\nBy header: %s files, by packets: %s, in full: %s, not read: %s\n' \
    "$(grep -c '"method":"header"' "$1" || true)" "$(grep -c '"method":"packets"' "$1" || true)" \
    "$(grep -c '"method":"full"' "$1" || true)" "$(grep -c '"ok":false' "$1" || true)"
}

# print_start_table TIMES
print_start_table() {
  awk -F '\t' '
    BEGIN {
      goal["reel --version"] = goal["reel feed, empty library"] = "0.25"
      goal["reel probe one.mp4"] = "0.4"
      print "| | CPU ms | wall ms | CPU against ffprobe | wall against ffprobe | goal |"
      print "| --- | ---: | ---: | ---: | ---: | ---: |"
    }
    $1 == "ffprobe -version" { cpu = $2; wall = $3 }
    {
      printf "| %s | %.1f | %.1f | %s | %s | %s |\n", $1, $2 * 1000, $3 * 1000,
        (cpu > 0 ? sprintf("%.2f", $2 / cpu) : ""), (wall > 0 ? sprintf("%.2f", $3 / wall) : ""), goal[$1]
    }
  ' "$1"
}

# print_validate_table TIMES: compares validating with probing, with the same number of jobs.
print_validate_table() {
  awk -F '\t' '
    BEGIN {
      print "| | CPU s | wall s | CPU against probing | wall against probing | goal |"
      print "| --- | ---: | ---: | ---: | ---: | ---: |"
    }
    $1 ~ /probe/ { cpu = $2; wall = $3; printf "| %s | %.2f | %.2f | | | |\n", $1, $2, $3; next }
    { printf "| %s | %.2f | %.2f | %.2f | %.2f | 1.10 |\n", $1, $2, $3, $2 / cpu, $3 / wall }
  ' "$1"
}
