#!/usr/bin/env bash
# Installs the libraries into an empty prefix, and builds programs against what lies there alone:
# with pkg-config, and with CMake. The headers are self-contained, and nobody links more than what
# was asked for.
#
#   installed_package_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name trawl.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2206  # CXX may have arguments
cxx=(${CXX:-c++} -std=c++20 -Wall -Wextra -Wpedantic -Werror)

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# compile SOURCE PROGRAM MODULE: with what pkg-config says.
compile() {
  # shellcheck disable=SC2046
  "${cxx[@]}" "$1" -o "$2" $(pkg-config --cflags --libs "$3")
}

# needs PROGRAM LIBRARY: the program loads the library, directly or through another library.
needs() {
  [[ $(ldd "$1") == *"lib$2"[.-]* ]]
}

# quietly NAME COMMAND...: its output is shown only if it fails.
quietly() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 || { cat "$log"; fail "$*"; }
}

# Each header stands alone, and brings in none of the libraries behind the frontier and the crawler.
headers=$(cd "$prefix/include/trawl" && ls)
[[ $headers == *frontier.h* ]] || fail "frontier.h is not installed"
for header in $headers; do
  "${cxx[@]}" -I "$prefix/include" -x c++ -fsyntax-only -MD -MF "$work/includes" - \
    <<<"#include \"trawl/$header\"
#include \"trawl/$header\"" || fail "trawl/$header is not self-contained"
  [[ $(<"$work/includes") == *"trawl/$header"* ]] || fail "the includes of trawl/$header are not listed"
  if grep -E '/(rocksdb|curl|concurrentqueue|fmt|spdlog)/' "$work/includes"; then
    fail "trawl/$header includes a header that its users need not have"
  fi
done

# pkg-config
compile "$source/examples/filter.cc" "$work/filter" trawl-filter
printf 'a\nb\na\nb\nc\n' | "$work/filter" >"$work/out"
[[ $(cat "$work/out") == $'a\nb\nc' ]]
compile "$source/examples/links.cc" "$work/links" trawl-parse
compile "$source/tests/e2e/installed_parsers.cc" "$work/parsers" trawl-parse
"$work/parsers"
echo '<a href=b?c&amp;d>' | "$work/links" http://site.example/a | cmp - <(echo 'http://site.example/b?c&d')
compile "$source/examples/embed-frontier/scraper.cc" "$work/scraper" trawl

# The C interface: its header is C11, its programs are linked to the shared library alone.
c=(${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror)
mkdir "$work/c"
for example in scraper event_loop filter; do
  # shellcheck disable=SC2046
  "${c[@]}" "$source/examples/c/$example.c" -o "$work/c/$example" $(pkg-config --cflags --libs trawl-c)
done
compile "$source/examples/c/page.cc" "$work/c/page" trawl-c
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libtrawl.so.0)") \
  "$source/tests/e2e/c_examples_test.sh" "$work/c" "$source"
if readelf -d "$work/c/page" | grep -E 'NEEDED.*(rocksdb|gumbo|xxhash)'; then
  fail "a program of the C interface links the libraries behind it"
fi

# CMake: a user of one component needs nothing of the others, not even their packages.
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
set(CMAKE_DISABLE_FIND_PACKAGE_RocksDB ON)
set(CMAKE_DISABLE_FIND_PACKAGE_CURL ON)
find_package(trawl 0.1 REQUIRED COMPONENTS filter)
add_executable(filter filter.cc)
target_link_libraries(filter PRIVATE trawl::filter)
if(TARGET trawl::frontier OR TARGET trawl::parse)
  message(FATAL_ERROR "the filter alone was asked for")
endif()
find_package(trawl 0.1 REQUIRED COMPONENTS parse OPTIONAL_COMPONENTS python)
if(trawl_python_FOUND)
  message(FATAL_ERROR "there is no such component")
endif()
add_executable(parsers installed_parsers.cc)
target_link_libraries(parsers PRIVATE trawl::parse)
set(CMAKE_DISABLE_FIND_PACKAGE_RocksDB OFF)
find_package(trawl 0.1 REQUIRED)
add_executable(frontier frontier.cc)
target_link_libraries(frontier PRIVATE trawl::frontier)
CMAKE
cp "$source/examples/filter.cc" "$source/tests/e2e/installed_parsers.cc" "$work/user"
cp "$source/examples/embed-frontier/scraper.cc" "$work/user/frontier.cc"
quietly configure cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$prefix"
quietly build cmake --build "$work/user/build" -j2
"$work/user/build/parsers"
printf 'x\nx\n' | "$work/user/build/filter" | cmp - <(echo x)

# The example project, copied out of the tree: it must not find anything there.
cp -r "$source/examples/embed-frontier" "$work/embed"
quietly embed-configure cmake -S "$work/embed" -B "$work/embed/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_DISABLE_FIND_PACKAGE_CURL=ON
quietly embed-build cmake --build "$work/embed/build"
python3 -B "$source/tests/e2e/embed_frontier_test.py" "$work/embed/build/scraper"

for program in "$work/filter" "$work/user/build/filter" "$work/links" "$work/parsers"; do
  if needs "$program" rocksdb || needs "$program" curl; then
    fail "$program links RocksDB or libcurl: $(ldd "$program")"
  fi
done
for program in "$work/scraper" "$work/user/build/frontier" "$work/embed/build/scraper"; do
  needs "$program" rocksdb || fail "$program does not load RocksDB: the list of its libraries is wrong"
  if needs "$program" curl; then fail "$program links libcurl: $(ldd "$program")"; fi
done
echo "installed package: ok"
