# shellcheck shell=bash
# What confinement costs per file: the same files read with each `--isolation`, in turn, in one run.

# commands_of_isolation: prints NAME <tab> COMMAND. `none` and `auto` come twice, to show how much this machine's
# figures vary.
commands_of_isolation() {
  local isolation
  for isolation in none auto "none, again" "auto, again" strict; do
    printf '%s\t%s\n' "$isolation" \
      "REEL_JOBS=1 '$reel' probe --isolation ${isolation%,*} --jsonl files/* >/dev/null"
  done
}

# print_isolation_table TIMES FILES
print_isolation_table() {
  awk -F '\t' -v files="$2" '
    BEGIN {
      print "| --isolation | CPU ms a file | wall ms a file | CPU against none | wall against none |"
      print "| --- | ---: | ---: | ---: | ---: |"
    }
    $1 == "none" { cpu = $2; wall = $3 }
    {
      printf "| %s | %.3f | %.3f | %.3f | %.3f |\n", $1, $2 / files * 1000, $3 / files * 1000, $2 / cpu, $3 / wall
    }
  ' "$1"
}
