#!/usr/bin/env bash
# Installs the Debian packages that are missing.
#
#   scripts/deps.sh [build|test|fuzz]...     default: build test
#
# Works as root or with sudo. Does nothing if no package is missing.
set -euo pipefail

build_packages=(
  cmake ninja-build g++ pkg-config ccache git ca-certificates python3
  libcurl4-openssl-dev libgumbo-dev libconcurrentqueue-dev librocksdb-dev
  libtomlplusplus-dev libcli11-dev libspdlog-dev libfmt-dev
  libidn2-dev libpsl-dev libxxhash-dev
  libxml2-dev zlib1g-dev libminizip-dev libdeflate-dev libbrotli-dev libzstd-dev
  libc-ares-dev libre2-dev libssl-dev
  libhiredis-dev # parses the replies of Redis
  libjemalloc-dev # the program's malloc
  nlohmann-json3-dev libmicrohttpd-dev libexpected-dev
  python3-dev    # the Python package
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev clang-format
  clang          # checks that locks are held where they must be
  curl openssl jq
  nginx-light    # serves the real site of tests/e2e
  dpkg-dev mmdebstrap systemd  # the Debian packages, and an empty system to install them into
  chromium chromium-driver  # tests/e2e looks at the status page with it
  wget           # its files' names, and its WARC files, are compared with ours
  strace         # counts reads
  python3-tinycss2 libjs-bootstrap  # its reading of style sheets is compared with ours, on these
  wget2          # bench/peers measures against it
  prometheus     # promtool checks the metrics
  redis-tools python3-redis  # clients of trawl serve
  redis-server   # the tests of the shared frontier; bench/resp_bench.py measures against it
  doxygen        # the API reference
  mypy python3-pytest python3-aiohttp python3-scrapy  # the Python package is tested with them
  python3-setuptools python3-wheel python3-pip python3-venv  # its wheel
  cmake-doc      # the HTML pages that tests/e2e crawls; with those below it also holds the link
                 # engines against each other on them
  apache2-doc git-doc libstdc++-12-doc postgresql-doc-15 python3.11-doc
)
fuzz_packages=(clang libclang-rt-14-dev)

usage() {
  echo "usage: scripts/deps.sh [build|test|fuzz]..." >&2
  exit 2
}

wanted=()
for group in "${@:-default}"; do
  case $group in
    default) wanted+=("${build_packages[@]}" "${test_packages[@]}") ;;
    build) wanted+=("${build_packages[@]}") ;;
    test) wanted+=("${test_packages[@]}") ;;
    fuzz) wanted+=("${build_packages[@]}" "${fuzz_packages[@]}") ;;
    *) usage ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "deps.sh: this is not Debian; install the equivalents of: ${wanted[*]}" >&2
  exit 1
fi

# The query fails if it does not know one of the names, but still prints the others.
installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "${wanted[@]}" 2>/dev/null || true) "
missing=()
for package in "${wanted[@]}"; do
  [[ $installed == *" installed:$package "* ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "Dependencies: nothing is missing."
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  # Without a terminal sudo could not ask for a password.
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    as_root=(sudo)
  else
    echo "deps.sh: packages are missing. Run as root, then start again:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
fi

# A server that is installed for the tests must not start as a service. Debian runs this file before
# it starts one; an administrator's own file is not changed.
policy=/usr/sbin/policy-rc.d
our_policy=
cleanup() {
  if [[ -n $our_policy ]]; then
    "${as_root[@]}" rm -f "$policy"
    rm -f "$our_policy"
  fi
}
new_services=()
if [[ " ${missing[*]} " == *" nginx-light "* && ! -e /usr/sbin/nginx ]]; then
  new_services+=(nginx)
fi
if [[ " ${missing[*]} " == *" redis-server "* && ! -e /usr/bin/redis-server ]]; then
  new_services+=(redis-server)
fi
if ((${#new_services[@]} > 0)) && [[ ! -e $policy ]]; then
  our_policy=$(mktemp)
  trap cleanup EXIT
  # 101: the action is forbidden.
  printf '%s\n' '#!/bin/sh' 'case " $* " in *" nginx "* | *" redis-server "*) exit 101 ;; esac' >"$our_policy"
  "${as_root[@]}" install -m 755 "$our_policy" "$policy"
fi

apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q
  -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
echo "Dependencies: installing ${missing[*]}"
"${apt[@]}" update
"${apt[@]}" install --no-install-recommends "${missing[@]}"

# Do not start them at the next boot either.
for service in "${new_services[@]}"; do
  "${as_root[@]}" update-rc.d "$service" disable >/dev/null 2>&1 || true
done
echo "Dependencies: installed ${#missing[@]} packages."
