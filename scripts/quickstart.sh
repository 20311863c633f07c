#!/usr/bin/env bash
# From a fresh clone to a first crawl: installs what is missing, builds trawl, runs its demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/quickstart
trawl=$build/crawler/trawl

echo "== Dependencies"
scripts/deps.sh build

echo "== Build (a few minutes the first time)"
log=$build/build.log
mkdir -p "$build"
if ! {
  cmake --preset release -B "$build" -DTRAWL_BUILD_TESTS=OFF -DTRAWL_BUILD_BENCH=OFF &&
    cmake --build "$build" --target trawl -j "$(nproc)"
} >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "quickstart.sh: the build failed; all of its output is in $log" >&2
  exit 1
fi
echo "Built $trawl in ${SECONDS} s."

echo "== Demo: trawl crawls a sample site that it serves itself"
"$trawl" demo

cat <<END

With --directory DIR it keeps what it found: output/pages.jsonl, one line for each fetch.

To crawl a real site, here at most 100 of its pages, and to keep the pages as files:

  $trawl crawl https://example.com/ --max-pages 100 --save

Stop it at any moment (Ctrl-C, or even kill -9) and go on with

  $trawl resume example.com

"$trawl help crawl" has more, docs/operating.md all of it.

To install it with manual pages, completions and a systemd service: scripts/package.sh builds a
Debian package (docs/installing.md).
END
