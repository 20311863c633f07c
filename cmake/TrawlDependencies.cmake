# Every library that Trawl needs, with its Debian package, so that an error names the package to
# install instead of a missing file.
find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is missing: run scripts/deps.sh, or apt-get install pkg-config")
endif()

function(trawl_missing what package)
  message(FATAL_ERROR "${what} is missing: run scripts/deps.sh, or apt-get install ${package}")
endfunction()

# trawl_find_pkg(<module> <debian package>): imports PkgConfig::<module> or fails with the package.
macro(trawl_find_pkg module package)
  pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
  if(NOT ${module}_FOUND)
    trawl_missing(${module} ${package})
  endif()
endmacro()

# trawl_find_config(<cmake package> <debian package>)
macro(trawl_find_config name package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    trawl_missing(${name} ${package})
  endif()
endmacro()

trawl_find_config(Threads libc6-dev)
trawl_find_config(tl-expected libexpected-dev)
trawl_find_config(RocksDB librocksdb-dev)
trawl_find_config(CLI11 libcli11-dev)
trawl_find_config(fmt libfmt-dev)
trawl_find_config(spdlog libspdlog-dev)
trawl_find_config(tomlplusplus libtomlplusplus-dev)
trawl_find_config(nlohmann_json nlohmann-json3-dev)
trawl_find_config(CURL libcurl4-openssl-dev)
trawl_find_pkg(libxxhash libxxhash-dev)
trawl_find_pkg(libidn2 libidn2-dev)
trawl_find_pkg(libpsl libpsl-dev)
trawl_find_pkg(gumbo libgumbo-dev)
find_library(GUMBO_ARCHIVE libgumbo.a HINTS ${gumbo_LIBRARY_DIRS})
if(NOT GUMBO_ARCHIVE)
  trawl_missing(libgumbo.a libgumbo-dev)
endif()
trawl_find_config(LibXml2 libxml2-dev)
trawl_find_config(ZLIB zlib1g-dev)
trawl_find_pkg(libmicrohttpd libmicrohttpd-dev)
trawl_find_pkg(libcares libc-ares-dev)
trawl_find_pkg(libbrotlidec libbrotli-dev)
trawl_find_pkg(libzstd libzstd-dev)
trawl_find_pkg(libdeflate libdeflate-dev)
trawl_find_pkg(minizip libminizip-dev)
trawl_find_pkg(re2 libre2-dev)
trawl_find_pkg(hiredis libhiredis-dev)
trawl_find_pkg(jemalloc libjemalloc-dev)
find_package(OpenSSL QUIET COMPONENTS Crypto SSL)
if(NOT OpenSSL_FOUND)
  trawl_missing(OpenSSL libssl-dev)
endif()

# RocksDB as the rooms link it: the shared library, except in a program with the property
# TRAWL_STATIC_ROCKSDB. Loading the shared one takes longer than the rest of RocksDB's start.
set(TRAWL_ROCKSDB "$<IF:$<BOOL:$<TARGET_PROPERTY:TRAWL_STATIC_ROCKSDB>>,RocksDB::rocksdb,RocksDB::rocksdb-shared>")
set(TRAWL_ROCKSDB_IS_STATIC OFF)
# ThreadSanitizer must see the code of std that RocksDB shares with ours.
if(TRAWL_STATIC_ROCKSDB AND NOT TRAWL_SANITIZE AND TARGET RocksDB::rocksdb)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES RocksDB::rocksdb)
  check_cxx_source_compiles("
    #include <rocksdb/db.h>
    int main() {
      rocksdb::DB* db = nullptr;
      return rocksdb::DB::Open({}, {}, &db).ok();
    }" TRAWL_ROCKSDB_ARCHIVE_LINKS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  set(TRAWL_ROCKSDB_IS_STATIC ${TRAWL_ROCKSDB_ARCHIVE_LINKS})
endif()

find_path(CONCURRENTQUEUE_INCLUDE concurrentqueue/concurrentqueue.h)
if(NOT CONCURRENTQUEUE_INCLUDE)
  trawl_missing(moodycamel::ConcurrentQueue libconcurrentqueue-dev)
endif()

if(TRAWL_SANITIZE OR TRAWL_BUILD_FUZZERS)
  set(TRAWL_PYTHON OFF)  # Python itself is not built with sanitizers
endif()
if(TRAWL_PYTHON)
  # Any version's headers have the limited API.
  find_path(PYTHON_INCLUDE Python.h
            PATH_SUFFIXES python3.11 python3.13 python3.12 python3.10)
  if(NOT PYTHON_INCLUDE)
    trawl_missing("Python.h (or -DTRAWL_PYTHON=OFF)" python3-dev)
  endif()
endif()

if(TRAWL_BUILD_TESTS)
  trawl_find_config(GTest "libgtest-dev libgmock-dev")
  trawl_find_pkg(libbrotlienc libbrotli-dev)
endif()
if(TRAWL_BUILD_BENCH)
  trawl_find_config(benchmark libbenchmark-dev)
endif()
