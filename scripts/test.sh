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
jobs=$(nproc)
# Tests at once: most wait for servers, delays and disks more than they compute.
tests=$((3 * jobs))
failed=()

# stage NAME COMMAND...: runs a command with its output in a log; shows the log's end if it fails.
stage() {
  local name=$1 log="$logs/${1// /-}.log" start=$SECONDS
  shift
  printf '== %s ' "$name"
  if "$@" >"$log" 2>&1 </dev/null; then
    printf '(%d s)\n' $((SECONDS - start))
    return 0
  fi
  printf 'FAILED (%d s); the end of %s:\n' $((SECONDS - start)) "$log"
  tail -n 200 "$log" | sed 's/^/   /'
  failed+=("$name")
  return 1
}

# ctest's own closing lines.
closing_lines() { sed -n '/% tests passed/,$p' "$logs/$1-test.log"; }

# What tests of a preset said when they failed, for those who see only the end of all this.
failures() {
  grep -E -A 8 ': Failure$|^FAILED:|^E  |runtime error:|(ERROR|WARNING): [A-Za-z]+Sanitizer' "$logs/$1-test.log" | head -n 80 || true
}

# suite PRESET [WRAPPER...]: configures, builds and tests a preset.
suite() {
  local preset=$1
  shift
  rm -f "$logs/$preset-test.log"
  stage "$preset configure" "$@" cmake --preset "$preset" || return 0
  stage "$preset build" "$@" cmake --build --preset "$preset" -j "$jobs" || return 0
  # Libraries that are not built with ThreadSanitizer make it report, rarely, races that are none; a
  # race of ours comes again. (`ctest --preset tsan` alone does not repeat.)
  local repeat=()
  if [[ $preset == tsan ]]; then repeat=(--repeat until-pass:3); fi
  stage "$preset test" "$@" ctest --preset "$preset" -j "$tests" "${repeat[@]}" || return 0
  closing_lines "$preset" | sed -n 's/.*tests passed.*/   &/p'
}

scripts/deps.sh build test
if [[ $all == yes ]]; then
  stage "format check" scripts/format.sh --check || true
  stage "rooms check" scripts/check_rooms.py || true
  stage "names check" scripts/check_names.py || true
  stage "words check" scripts/check_words.py || true
  stage "atomics check" scripts/check_atomics.py || true
  stage "locks check" scripts/check_locks.py || true
  # ThreadSanitizer needs the address space as it was before kernels randomised more of it.
  no_aslr=()
  if setarch -R true 2>/dev/null; then no_aslr=(setarch -R); fi
  suites=(asan tsan e2e)
  suite asan
  suite tsan "${no_aslr[@]}"
  suite e2e
else
  suites=(release)
  suite release
fi

echo
for preset in "${suites[@]}"; do
  if [[ -f $logs/$preset-test.log ]]; then
    echo "== $preset: ctest says"
    closing_lines "$preset"
    if [[ " ${failed[*]-} " == *" $preset test "* ]]; then failures "$preset"; fi
  fi
done
echo
if ((${#failed[@]} > 0)); then
  (IFS=,; echo "FAILED after ${SECONDS} s: ${failed[*]}")
  exit 1
fi
echo "All passed in ${SECONDS} s."
