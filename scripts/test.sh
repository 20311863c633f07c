#!/usr/bin/env bash
# Installs what is missing, builds, runs the tests.
#
#   scripts/test.sh          preset release: unit, crash and e2e tests, without those labelled slow
#   scripts/test.sh --all    what must pass on every change: the checks of format, rooms, names and locks,
#                            the unit tests under sanitizers, and the crash and e2e tests
#
# What the tools say is in build/logs/; here it is shown when a stage fails. The URL corpora are taken
# from $TRAWL_TEST_DATA; where it is unset the tests that need them are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=no
case "${1-}" in
  '') ;;
  --all) all=yes ;;
  *)
    echo "usage: scripts/test.sh [--all]" >&2
    exit 2
    ;;
esac

# Where Debian has nginx; not on every user's path.
export PATH=$PATH:/usr/sbin

# ccache looks at the compiler's list of headers instead of preprocessing each source before.
export CCACHE_DEPEND=1

logs=build/logs
mkdir -p "$logs"
rm -f "$logs"/*-test.log
jobs=$(nproc)
# Tests at once: most wait for servers, delays and disks more than they compute.
tests=$((3 * jobs))
failed=$logs/failed # names of stages, a line each
: >"$failed"

# stage NAME COMMAND...: runs a command with its output in a log; shows the log's end if it fails.
stage() {
  local name=$1 log="$logs/${1// /-}.log" start=$SECONDS
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    printf '== %s (%d s)\n' "$name" $((SECONDS - start))
    return 0
  fi
  printf '== %s FAILED (%d s); the end of %s:\n%s\n' "$name" $((SECONDS - start)) "$log" \
    "$(tail -n 200 "$log" | sed 's/^/   /')"
  echo "$name" >>"$failed"
  return 1
}

# ctest's own closing lines.
closing_lines() { sed -n '/% tests passed/,$p' "$logs/$1-test.log"; }

# What tests of a preset said when they failed, for those who see only the end of all this.
failures() {
  grep -E -A 8 ': Failure$|^FAILED:|^E  |runtime error:|(ERROR|WARNING): [A-Za-z]+Sanitizer' "$logs/$1-test.log" | head -n 80 || true
}

# ThreadSanitizer needs the address space as it was before kernels randomised more of it.
no_aslr=()
if setarch -R true 2>/dev/null; then no_aslr=(setarch -R); fi

# build PRESET [WRAPPER...]: configures and builds a preset.
build() {
  local preset=$1 wrapper=("${@:2}")
  if [[ $preset == tsan ]]; then wrapper+=("${no_aslr[@]}"); fi
  stage "$preset configure" "${wrapper[@]}" cmake --preset "$preset" &&
    stage "$preset build" "${wrapper[@]}" cmake --build --preset "$preset" -j "$jobs"
}

# run_tests PRESET: the tests of a preset that is built.
run_tests() {
  local preset=$1 wrapper=() repeat=()
  if [[ $preset == tsan ]]; then
    wrapper=("${no_aslr[@]}")
    # Libraries that are not built with ThreadSanitizer make it report, rarely, races that are none; a
    # race of ours comes again. (`ctest --preset tsan` alone does not repeat.)
    repeat=(--repeat until-pass:3)
  fi
  stage "$preset test" "${wrapper[@]}" ctest --preset "$preset" -j "$tests" "${repeat[@]}" || return 0
  closing_lines "$preset" | sed -n 's/.*tests passed.*/   &/p'
}

# run PRESET...: builds and tests presets. A build computes and most tests wait: while the tests of
# one preset run, the next is built in the time that they leave.
run() {
  local built=no building='' next
  if build "$1"; then built=yes; fi
  while (($# > 0)); do
    next=${2-}
    if [[ -n $next ]]; then
      build "$next" nice -n 19 &
      building=$!
    fi
    if [[ $built == yes ]]; then run_tests "$1"; fi
    built=no
    if [[ -n $next ]] && wait "$building"; then built=yes; fi
    shift
  done
}

scripts/deps.sh build test
if [[ $all == yes ]]; then
  stage "format check" scripts/format.sh --check || true
  stage "rooms check" scripts/check_rooms.py || true
  stage "names check" scripts/check_names.py || true
  stage "words check" scripts/check_words.py || true
  stage "atomics check" scripts/check_atomics.py || true
  stage "locks check" scripts/check_locks.py || true
  suites=(asan tsan e2e)
else
  suites=(release)
fi
run "${suites[@]}"

echo
for preset in "${suites[@]}"; do
  if [[ -f $logs/$preset-test.log ]]; then
    echo "== $preset: ctest says"
    closing_lines "$preset"
    if grep -qx "$preset test" "$failed"; then failures "$preset"; fi
  fi
done
echo
if [[ -s $failed ]]; then
  echo "FAILED after ${SECONDS} s: $(paste -sd, "$failed")"
  exit 1
fi
echo "All passed in ${SECONDS} s."
