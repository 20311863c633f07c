#!/usr/bin/env bash
# Formats all C++ files that git tracks.
#
#   scripts/format.sh            rewrites them
#   scripts/format.sh --check    only names those that are not formatted, and fails if there are any
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1-}" in
  '' | --check) ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac
if ! command -v clang-format >/dev/null; then
  echo "format.sh: clang-format is missing: run scripts/deps.sh test" >&2
  exit 1
fi

# safe.directory: a checkout may belong to another user than the one who builds it.
tracked=$(git -c safe.directory="$PWD" ls-files -- '*.h' '*.cc')
files=()
while IFS= read -r file; do
  # A tracked file may have been deleted and not committed yet.
  if [[ -f $file ]]; then files+=("$file"); fi
done <<<"$tracked"
if ((${#files[@]} == 0)); then
  echo "format.sh: git tracks no C++ files here" >&2
  exit 1
fi

if [[ ${1-} != --check ]]; then
  clang-format -i "${files[@]}"
  echo "Formatted ${#files[@]} files."
  exit 0
fi

if complaints=$(clang-format --dry-run -Werror "${files[@]}" 2>&1); then
  echo "All ${#files[@]} files are formatted."
  exit 0
fi
mapfile -t unformatted < <(
  sed -n 's/:[0-9]*:[0-9]*: error: code should be clang-formatted.*//p' <<<"$complaints" | sort -u
)
if ((${#unformatted[@]} == 0)); then
  echo "$complaints" >&2
else
  echo "Not formatted; run scripts/format.sh:" >&2
  printf '  %s\n' "${unformatted[@]}" >&2
fi
exit 1
