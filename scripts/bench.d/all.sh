# shellcheck shell=bash
# `scripts/bench all`: the benchmarks that take less than half an hour, in one run on one machine, for
# docs/benchmarks.md. Left out: 1,000,000 posts (`page`, `changes`), 1,000,000 files (`ingest --only many`), and the
# build.
# Uses $here, $root, $reel, $real, $peers, $rounds of scripts/bench.

# all_parts: prints a title and the arguments of scripts/bench for each part.
all_parts() {
  local files="--files $real"
  printf '%s\t%s\n' \
    "Starting" "start --rounds 21" \
    "Probing" "probe --rounds $rounds $files" \
    "Validating" "validate --rounds $rounds --files 300" \
    "Posters" "poster --rounds 1 $files" \
    "Ingesting" "ingest --rounds $rounds $files --only real --only small --only again --only large" \
    "Uploading" "upload --rounds $rounds" \
    "Mending" "mend --rounds 1" \
    "Taking uploads" "serve --rounds 1"
}

# all_tables: runs each of them, and prints its output under its title.
all_tables() {
  local title asked begun=$SECONDS words
  printf '%s, %s, %s cores, %s, Linux %s, FFmpeg %s; reel %s\n' "$(date -u +%Y-%m-%d)" \
    "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
    "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" "$(uname -r)" \
    "$(pkg-config --modversion libavformat)" "$("$reel" --version)"
  while IFS=$'\t' read -r title asked; do
    read -ra words <<<"$asked"
    [[ $peers == false ]] || words+=(--with-peers)
    printf '\n### %s, in this run\n\n    scripts/bench %s\n\n' "$title" "${asked//"$real"/FOLDER}"
    "$here/bench" "${words[@]}" --reel "$reel" </dev/null | sed "s|$real|FOLDER|g" || printf '\nfailed\n'
  done < <(all_parts)
  printf '\nAll of it took %d minutes.\n' $(((SECONDS - begun + 30) / 60))
}

bench_all() {
  [[ -n $real && $real != *' '* ]] || give_up "all needs --files FOLDER with real videos, without a space in its path"
  local page=$root/docs/benchmarks.md tables
  tables=$(mktemp)
  all_tables | tee "$tables"
  # Replaces what an earlier run wrote between the marks.
  awk -v tables="$tables" '
    /^<!-- bench all: end -->$/ { inside = 0 }
    !inside { print }
    /^<!-- bench all: begin -->$/ { inside = 1; print ""; while ((getline line < tables) > 0) print line; print "" }
  ' "$page" >"$page.new"
  mv "$page.new" "$page"
  rm -f "$tables"
}
