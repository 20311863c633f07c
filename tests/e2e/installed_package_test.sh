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

export PKG_CONFIG_PATH=$work/prefix/lib/x86_64-linux-gnu/pkgconfig:$work/prefix/lib/pkgconfig
${CXX:-c++} -std=c++20 -Wall -Wextra -Werror "$source/examples/filter.cc" -o "$work/filter" \
  $(pkg-config --cflags --libs trawl-filter)
printf 'a\nb\na\nb\nc\n' | "$work/filter" >"$work/out"
[[ $(cat "$work/out") == $'a\nb\nc' ]]

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(trawl 0.1 REQUIRED COMPONENTS filter)
add_executable(filter filter.cc)
target_link_libraries(filter PRIVATE trawl::filter)
if(TARGET trawl::frontier)
  message(FATAL_ERROR "the frontier was not asked for")
endif()
find_package(trawl 0.1 REQUIRED)
add_executable(frontier frontier.cc)
target_link_libraries(frontier PRIVATE trawl::frontier)
CMAKE
cp "$source/examples/filter.cc" "$source/examples/frontier.cc" "$work/user"
cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/cmake.log" ||
  { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/user/build" -j2 >"$work/build.log" || { cat "$work/build.log"; exit 1; }
printf 'x\nx\n' | "$work/user/build/filter" | cmp - <(echo x)
echo "installed package: ok"
