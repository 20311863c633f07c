#!/usr/bin/env bash
# Builds the Debian packages trawl, libtrawl0, libtrawl-dev and python3-trawl. Where they are is the last thing it prints.
#
#   scripts/package.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/package
log=$build/build.log
mkdir -p "$build"
scripts/deps.sh build
echo "== Build (a few minutes the first time)"
if ! {
  cmake --preset release -B "$build" -DTRAWL_BUILD_TESTS=OFF -DTRAWL_BUILD_BENCH=OFF &&
    cmake --build "$build" -j "$(nproc)" &&
    rm -f "$build"/*.deb &&
    cpack --config "$build/CPackConfig.cmake" -B "$build"
} >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "package.sh: the build failed; all of its output is in $log" >&2
  exit 1
fi

echo "Built in ${SECONDS} s:"
ls -1 "$build"/*.deb
echo "To install the program:"
echo "  sudo apt install ./$(ls "$build"/trawl_*.deb)"
