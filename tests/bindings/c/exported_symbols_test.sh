#!/usr/bin/env bash
# libtrawl.so exports what bindings/c/exported_symbols.txt lists, trawl.h declares, and nothing else.
#
#   exported_symbols_test.sh LIBRARY SOURCE_DIR
set -euo pipefail
library=$1 source=$2
list=$source/bindings/c/exported_symbols.txt

compare() {
  if ! diff --label "$1" --label "$2" <(cat "$3") -; then
    echo "FAILED: $1 and $2 differ: a symbol that was released must stay; add new ones to both" >&2
    exit 1
  fi
}

# The sanitizers' own symbols are theirs.
nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort |
  compare exported_symbols.txt "$(basename "$library")" "$list"
grep -o '^TRAWL_EXPORT[^(]*(' "$source/include/trawl/trawl.h" | grep -o 'trawl_[a-z0-9_]*(' |
  tr -d '(' | LC_ALL=C sort | compare exported_symbols.txt trawl.h "$list"
echo "exported symbols: $(wc -l <"$list")"
