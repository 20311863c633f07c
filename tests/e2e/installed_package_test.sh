#!/usr/bin/env bash
# Installs the libraries into an empty prefix, and builds programs against what lies there alone:
# with pkg-config, and with CMake.
#
#   installed_package_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name trawl.pc)")
export PKG_CONFIG_PATH
${CXX:-c++} -std=c++20 -Wall -Wextra -Werror "$source/examples/filter.cc" -o "$work/filter" \
  $(pkg-config --cflags --libs trawl-filter)
printf 'a\nb\na\nb\nc\n' | "$work/filter" >"$work/out"
[[ $(cat "$work/out") == $'a\nb\nc' ]]

${CXX:-c++} -std=c++20 -Wall -Wextra -Werror "$source/examples/links.cc" -o "$work/links" \
  $(pkg-config --cflags --libs trawl-parse)
${CXX:-c++} -std=c++20 -Wall -Wextra -Werror "$source/tests/e2e/installed_parsers.cc" \
  -o "$work/parsers" $(pkg-config --cflags --libs trawl-parse)
"$work/parsers"
echo '<a href=b?c&amp;d>' | "$work/links" http://site.example/a | cmp - <(echo 'http://site.example/b?c&d')

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
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
find_package(trawl 0.1 REQUIRED)
add_executable(frontier frontier.cc)
target_link_libraries(frontier PRIVATE trawl::frontier)
CMAKE
cp "$source"/examples/{filter,frontier}.cc "$source/tests/e2e/installed_parsers.cc" "$work/user"
cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/cmake.log" ||
  { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/user/build" -j2 >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/user/build/parsers"
printf 'x\nx\n' | "$work/user/build/filter" | cmp - <(echo x)
echo "installed package: ok"
