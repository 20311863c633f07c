#!/usr/bin/env bash
# Writes the reference of the C++, C and Python interfaces, as HTML, from the comments of the public
# headers and the stubs. Fails on any warning, such as a reference to what does not exist.
#
#     scripts/api_reference.sh [OUTPUT [SOURCES]]   default: build/reference, this tree
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=$(realpath -m "${1:-build/reference}")
sources=$(realpath "${2:-.}")
version=$(sed -n 's/^project(trawl VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if ! command -v doxygen >/dev/null; then
  echo "api_reference.sh: doxygen is missing: run scripts/deps.sh test" >&2
  exit 1
fi
mkdir -p "$output/xml"

# reference NAME LANGUAGE SETTING...: one run of Doxygen.
reference() {
  local name=$1 language=$2
  shift 2
  rm -rf "${output:?}/$name" "$output/xml/$name"
  {
    cat docs/Doxyfile
    printf '%s\n' "PROJECT_NAME = \"Trawl for $language\"" "PROJECT_NUMBER = $version" \
      "OUTPUT_DIRECTORY = \"$output\"" "HTML_OUTPUT = $name" "XML_OUTPUT = xml/$name" \
      "STRIP_FROM_PATH = \"$sources/include\"" "STRIP_FROM_INC_PATH = \"$sources/include\"" "$@"
  } | doxygen - 2>&1 | awk '!shown[$0]++' >&2  # it repeats itself
}

status=0
reference cpp C++ "INPUT = \"$sources/include/trawl\"" "EXCLUDE = \"$sources/include/trawl/trawl.h\"" \
  || status=1
reference c C "INPUT = \"$sources/include/trawl/trawl.h\"" 'OPTIMIZE_OUTPUT_FOR_C = YES' \
  'PREDEFINED = TRAWL_EXPORT=' || status=1
scripts/python_reference.py "$sources/bindings/python/trawl" "$output/python.html" || status=1
cat >"$output/index.html" <<HTML
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Trawl $version</title>
<ul><li><a href="cpp/annotated.html">C++</a><li><a href="c/trawl_8h.html">C</a><li><a href="python.html">Python</a></ul>
HTML
if ((status == 0)); then echo "The reference is in $output/index.html"; fi
exit "$status"
