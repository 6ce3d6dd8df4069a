# shellcheck shell=bash
# The tools that Reel is compared with.

# get_peers VENV: installs those that Debian and PyPI have.
get_peers() {
  require_packages given "to measure beside" ffmpeg mediainfo libimage-exiftool-perl gcc python3-venv
  [[ -x $1/bin/python ]] || python3 -m venv "$1"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check av ||
    { say "left out: PyAV (pip could not install it)" && rm -rf "$1"; }
}

# build_loop LAB: builds the bare C loop, with the FFmpeg that Reel is linked with.
build_loop() {
  command -v cc >/dev/null || return 0
  local flags
  read -ra flags <<<"$(pkg-config --cflags --libs libavformat libavcodec libavutil)"
  cc -O2 -o "$1/find-stream-info" "$parts/find-stream-info.c" "${flags[@]}"
}

# Prints what the figures depend on.
print_circumstances() {
  printf '%s, %s, %s cores, load %s, Linux %s\n' "$(date -u +%Y-%m-%d)" \
    "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
    "$(cut -d ' ' -f 1 /proc/loadavg)" "$(uname -r)"
  printf 'reel %s\n' "$("$reel" --version)"
  if command -v ffprobe >/dev/null; then ffprobe -version | sed -n '1s/ Copyright.*//p'; fi
  if command -v mediainfo >/dev/null; then mediainfo --Version | tail -n 1; fi
  if command -v exiftool >/dev/null; then printf 'exiftool %s\n' "$(exiftool -ver)"; fi
  if [[ -x $pyav/bin/python ]]; then
    "$pyav/bin/python" -c 'import av
version = ".".join(map(str, av.library_versions["libavformat"]))
print("PyAV", av.__version__, "with libavformat", version)'
  fi
}
