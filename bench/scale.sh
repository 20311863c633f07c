#!/usr/bin/env bash
# A frontier of a billion known and a hundred million queued URLs, killed and opened again.
#
#   bench/scale.sh BUILD_DIRECTORY WORK_DIRECTORY [KNOWN [OFFERS [PAGES]]]
#
# KNOWN (900,000,000) URLs are marked as seen by `trawl frontier load --seen`, OFFERS (100,000,000)
# offered, PAGES (20,000,000) of them leased and completed; then SIGKILL; then opened, used and
# closed twice. Takes about an hour, 40 GB of disk in WORK_DIRECTORY, and 8 GiB of memory.
set -euo pipefail
build=$1
state=$2/scale-state
known=${3:-900000000}
offers=${4:-100000000}
pages=${5:-20000000}

rm -rf "$state"
echo "loading $known URLs"
time "$build/bench/url_lines" 0 "$known" |
  "$build/crawler/trawl" frontier load "$state" - --seen --expected-urls $((known + offers))
du -sh --apparent-size "$state"
echo "offering $offers, leasing and completing $pages"
"$build/bench/scale_bench" fill "$state" "$known" "$offers" "$pages" && exit 1
sync
for what in 'after the kill' 'after closing'; do
  echo "$what"
  # Not from the page cache: as after a restart of the machine.
  find "$state" -type f -exec dd if={} iflag=nocache count=0 status=none \;
  "$build/bench/scale_bench" open "$state" "$known" "$offers"
  offers=$((offers + 5500000))
done
rm -rf "$state"
