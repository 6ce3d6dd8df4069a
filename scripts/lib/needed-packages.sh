# shellcheck shell=bash
# Which Debian packages are needed for what.

# To compile and link: FFmpeg, libseccomp and SQLite, and what the Swift toolchain needs of a system.
build_packages=(
  libavformat-dev libavcodec-dev libavutil-dev libseccomp-dev libsqlite3-dev
  binutils g++ git ca-certificates
)
