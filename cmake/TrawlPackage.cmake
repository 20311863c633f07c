# The Debian packages: trawl, libtrawl0 with the shared library, libtrawl-dev with headers and
# libraries, and python3-trawl. `cpack` makes all.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trawl)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The Trawl authors")
set(CPACK_PACKAGE_CONTACT "The Trawl authors <trawl@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL program library development)
if(TRAWL_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME trawl)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION web)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS ca-certificates)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS publicsuffix)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"web crawler that fetches each URL once and survives kill -9
 Trawl crawls web sites from the command line or from a config file, obeys
 robots.txt and delays, and continues after a crash with nothing lost. It
 writes one line of JSON for each fetch, and if asked for, the pages as files
 or as WARC archives.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtrawl0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/packaging/triggers")
file(WRITE ${PROJECT_BINARY_DIR}/packaging/triggers "activate-noawait ldconfig\n")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"durable URL frontier and filters for C
 The shared library of the crawler Trawl: its URL frontier, its filters of URLs
 already seen, and its parsers, with a C interface.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-trawl)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.10)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-scrapy)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"durable URL frontier and filters for Python
 The package trawl: the URL frontier of the crawler Trawl, its filters of URLs
 already seen, and its parsers of links, robots.txt and sitemaps.")

# Static libraries: their users link the libraries behind them, as the .pc files say.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtrawl-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(JOIN ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  librocksdb-dev libxxhash-dev libidn2-dev libpsl-dev libfmt-dev libgumbo-dev libxml2-dev zlib1g-dev
  libhiredis-dev libssl-dev libexpected-dev "libtrawl0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"durable URL frontier and filters for C++20 and C
 Headers, libraries, and files for CMake and pkg-config, to embed the
 URL frontier of the crawler Trawl, its filters of URLs already seen, or its
 parsers of links, robots.txt and sitemaps into a program of your own.")

include(CPack)
