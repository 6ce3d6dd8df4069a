# shellcheck shell=bash
# Which Debian packages are needed for what.

build_packages=(
  # What Reel is linked with.
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev libseccomp-dev libsqlite3-dev
  libexpat1-dev libssl-dev libyaml-dev libxxhash-dev
  # Its header only: the library is opened when an uploader over HTTP is used.
  libcurl4-openssl-dev
  # What the Swift toolchain compiles and links with, and fetches packages by.
  binutils g++ git ca-certificates pkg-config
  # Libraries that the toolchain's own programs load; curl stands for libcurl, whose name changes.
  libncurses6 libxml2 curl
)

# shellcheck disable=SC2034  # For scripts/test.
test_packages=(
  # TLS in the fakes of servers.
  libssl-dev
  # Looks over the scripts; signs what the action's test is to believe.
  shellcheck minisign
  # Runs the fakes of servers, and installs the real ones from PyPI.
  python3 python3-venv
  # A server for the catalog on PostgreSQL, what shares its connections, and the header that CPostgres is held against.
  postgresql libpq-dev pgbouncer
  # Makes files for tests, and decodes what was mended.
  ffmpeg
  # Makes a file system that shares blocks.
  xfsprogs
)
