#!/usr/bin/env bash
# Runs the examples of the C interface; the scraper is killed twice on the way.
#
#   c_examples_test.sh DIRECTORY_OF_PROGRAMS SOURCE_DIR
set -euo pipefail
programs=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# gives EXPECTED COMMAND...: compares what a command prints.
gives() {
  local expected=$1 printed
  shift
  printed=$("$@") || fail "$* ended with $?"
  [[ $printed == "$expected" ]] || fail "$* printed: $printed"
}

for example in "$source"/examples/c/*.c "$source"/examples/c/*.cc; do
  (($(wc -l <"$example") < 80)) || fail "$example is too long for an example"
done
python3 -B "$source/tests/e2e/embed_frontier_test.py" "$programs/scraper"
# One host waits for its delay, the other does not.
gives $'https://a.example/1\nhttps://b.example/\nhttps://a.example/2' \
  "$programs/event_loop" https://a.example/1 https://a.example/2 not-a-url https://b.example/ 2>"$work/err"
grep -q 'not a URL: not-a-url' "$work/err" || fail "event_loop accepts any text"
gives $'a\nb' "$programs/filter" "$work/seen.filter" < <(printf 'a\nb\na\n')
gives c "$programs/filter" "$work/seen.filter" < <(printf 'a\nb\nc\n')
echo rubbish >"$work/broken"
if "$programs/filter" "$work/broken" </dev/null 2>"$work/err"; then fail "filter reads any file"; fi
grep -q "$work/broken" "$work/err" || fail "filter does not name the file: $(cat "$work/err")"
printf 'User-agent: *\nDisallow: /private\n' >"$work/robots.txt"
gives 'https://a.example/b?c=1&d=2' "$programs/page" https://a.example/ "$work/robots.txt" \
  < <(echo '<a href="/b?d=2&c=1"></a><a href="/private/x"></a>')
echo "C examples: ok"
