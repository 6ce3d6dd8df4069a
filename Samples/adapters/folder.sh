#!/bin/sh
# An adapter for Reel that stores objects in a folder: an example of docs/command-uploader.md.
#
#   REEL_ADAPTER_FOLDER=/srv/media reel ingest clips --to command:./folder.sh
#
# The request is one line of JSON without spaces, and none of its values needs quoting: sed can read it.
set -eu

piece=4194304

field() { printf '%s\n' "$request" | sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p'; }
fail() { printf '{"type":"error","code":"%s","message":"%s"}\n' "$1" "$2" && exit 0; }

prepare() {
  mkdir -p "$staging" 2>/dev/null || fail storeUnusable 'the folder can not be made'
  for left in "$staging"/*; do
    # Named by the process that writes it. One that has gone may have left it.
    [ -e "$left" ] && ! kill -0 "${left##*.}" 2>/dev/null && rm -f "$left"
  done
  printf '{"type":"result","protocol":1,"atomicCreate":true,"durable":true}\n'
}

upload() {
  [ ! -e "$target" ] || fail alreadyExists 'there is an object of that name'
  staged="$staging/object.$$"
  trap 'rm -f "$staged"' EXIT
  trap 'exit 1' TERM INT HUP
  : >"$staged" || fail storeUnusable 'the folder can not be written'
  sent=0
  while [ "$sent" -lt "$size" ]; do
    head -c "$piece" <&3 >>"$staged" || fail storeFull 'a piece could not be written'
    now=$(stat -c %s "$staged")
    [ "$now" -gt "$sent" ] || fail sourceUnreadable 'the file is shorter than announced'
    sent=$now
    printf '{"type":"progress","sent":%s}\n' "$sent"
  done
  sync "$staged"
  sum=$(sha256sum <"$staged")
  [ "sha256:${sum%% *}" = "$digest" ] || fail verificationFailed 'the bytes are not those that were announced'

  printf '{"type":"staged"}\n'
  read -r answer || exit 1
  [ "$answer" = '{"commit":true}' ] || exit 1
  # Of several only one can link, and never over what is there.
  ln -T "$staged" "$target" 2>/dev/null || fail alreadyExists 'there is an object of that name'
  sync "$folder"
  printf '{"type":"result","size":%s,"digest":"%s","url":"file://%s"}\n' "$size" "$digest" "$target"
}

find_object() {
  if found=$(stat -c %s "$target" 2>/dev/null); then
    printf '{"type":"result","found":true,"size":%s,"url":"file://%s"}\n' "$found" "$target"
  else
    printf '{"type":"result","found":false}\n'
  fi
}

read_back() {
  if found=$(stat -c %s "$target" 2>/dev/null); then
    cat "$target" >&3 || fail interrupted 'it can not be read'
    printf '{"type":"result","found":true,"size":%s}\n' "$found"
  else
    printf '{"type":"result","found":false}\n'
  fi
}

remove() {
  rm -f "$target" || fail denied 'it can not be removed'
  # Also of one that is gone: who removed it may have died before it was durable.
  sync "$folder" || fail storeUnusable 'the folder can not be synced'
  printf '{"type":"result"}\n'
}

read -r request
[ -n "${REEL_ADAPTER_FOLDER:-}" ] || fail storeUnusable 'set REEL_ADAPTER_FOLDER to the folder to store in'
store=$(field store)
folder=$(realpath -m "$REEL_ADAPTER_FOLDER/${store:-.}")
staging="$folder/.staging"
key=$(field key)
target="$folder/$key"
size=$(field size)
digest=$(field digest)

case $(field verb) in
prepare) prepare ;;
upload) upload ;;
find) find_object ;;
readBack) read_back ;;
remove) remove ;;
*) fail rejected 'an unknown verb' ;;
esac
