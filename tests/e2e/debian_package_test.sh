#!/usr/bin/env bash
# Makes the Debian packages, installs the program into an empty Debian system and crawls there, and builds
# a program against what the development package holds.
#
#   debian_package_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1 source=$2
[[ -f /etc/debian_version ]] || { echo "SKIPPED: this is not Debian"; exit 77; }
for tool in cpack dpkg-shlibdeps mmdebstrap; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is missing"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# quietly NAME COMMAND...: its output is shown only if it fails.
quietly() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 80 "$log"; fail "$*"; }
}

quietly cpack cpack --config "$build/CPackConfig.cmake" -B "$work/packages"
program=$(ls "$work"/packages/trawl_*.deb)
library=$(ls "$work"/packages/libtrawl0_*.deb)
development=$(ls "$work"/packages/libtrawl-dev_*.deb)
python=$(ls "$work"/packages/python3-trawl_*.deb)

# What they hold.
dpkg-deb --contents "$program" | awk '{print $6}' >"$work/program"
for file in usr/bin/trawl usr/share/man/man1/trawl.1.gz usr/share/man/man1/trawl-crawl.1.gz \
  usr/share/bash-completion/completions/trawl usr/share/zsh/vendor-completions/_trawl \
  usr/share/fish/vendor_completions.d/trawl.fish usr/lib/systemd/system/trawl@.service \
  usr/share/doc/trawl/examples/quickstart.toml usr/share/doc/trawl/copyright; do
  grep -qx "./$file" "$work/program" || fail "$program lacks $file"
done
if grep -E '/include/|\.a$|\.cmake$' "$work/program"; then fail "$program holds files for developers"; fi
dpkg-deb --contents "$library" | awk '{print $6}' >"$work/library"
grep -qx ./usr/lib/libtrawl.so.0 "$work/library" || fail "$library lacks libtrawl.so.0"
if grep -E '/(bin|include)/|\.a$|libtrawl\.so$' "$work/library"; then
  fail "$library holds what programs do not need to run"
fi
dpkg-deb --contents "$python" | awk '{print $6}' >"$work/python"
for file in __init__.py __init__.pyi aio.py py.typed _trawl.abi3.so; do
  grep -qx "./usr/lib/python3/dist-packages/trawl/$file" "$work/python" || fail "$python lacks $file"
done
dpkg-deb --contents "$development" | awk '{print $6}' >"$work/development"
for file in usr/include/trawl/frontier.h usr/include/trawl/trawl.h usr/lib/libtrawl.so usr/lib/libtrawl_frontier.a usr/lib/pkgconfig/trawl.pc usr/lib/pkgconfig/trawl-c.pc \
  usr/lib/cmake/trawl/trawlConfig.cmake; do
  grep -qx "./$file" "$work/development" || fail "$development lacks $file"
done
if grep -q '/bin/' "$work/development"; then fail "$development holds programs"; fi

# The service file is one that systemd accepts, and hardened.
if command -v systemd-analyze >/dev/null; then
  mkdir -p "$work/units"
  # The program that it starts is not installed here.
  sed 's#/usr/bin/trawl#/bin/true#' "$source/packaging/trawl@.service" >"$work/units/trawl@.service"
  quietly verify systemd-analyze --man=no verify "$work/units/trawl@.service"
  if [[ -s $work/verify.log ]]; then cat "$work/verify.log"; fail "the service file has mistakes"; fi
  quietly security systemd-analyze security --offline=true --threshold=25 "$work/units/trawl@.service"
fi

# What a user meets after the installation, run within the new system.
cat >"$work/as-user.sh" <<'USER'
set -euo pipefail
apt-get install -y -q --no-install-recommends /packages/trawl_*.deb
apt-get install -s -q --no-install-recommends /packages/libtrawl-dev_*.deb /packages/libtrawl0_*.deb >/dev/null
apt-get install -y -q --no-install-recommends /packages/libtrawl0_*.deb
test "$(/event_loop https://a.example/)" = https://a.example/
apt-get install -y -q --no-install-recommends /packages/python3-trawl_*.deb
python3 -c 'import trawl; assert trawl.BloomFilter().add("a"); trawl.Frontier("/tmp/frontier").close()'
cd /tmp
trawl --version
trawl help >/dev/null
trawl help crawl | grep -q -- --depth
trawl demo --pages 200 --directory /tmp/demo
test -s /tmp/demo/output/pages.jsonl
trawl check-config /usr/share/doc/trawl/examples/quickstart.toml
bash -n /usr/share/bash-completion/completions/trawl
. /usr/share/bash-completion/completions/trawl
completes() {  # completes WORD TO TYPED...
  local wanted="$1"
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _trawl
  [[ ${COMPREPLY[*]} == "$wanted" ]] || { echo "bash completes $* to: ${COMPREPLY[*]}"; exit 1; }
}
completes crawl trawl cr
completes crawl trawl help cr
completes load trawl frontier l
completes --scope trawl crawl --sc
completes "page prefix" trawl crawl --scope p
trawl crawl http://127.0.0.1:1/ >/tmp/refused 2>&1 && exit 1
grep -q allow_private_addresses /tmp/refused
dpkg -P trawl
test ! -e /usr/bin/trawl
echo all seen
USER
mode=root
((EUID == 0)) || mode=unshare
quietly install mmdebstrap --format=null --variant=minbase --mode="$mode" \
  --customize-hook="copy-in $work/packages /" --customize-hook="copy-in $work/as-user.sh /" \
  --customize-hook="copy-in $build/examples/c/event_loop /" \
  --customize-hook='chroot "$1" bash /as-user.sh' bookworm /dev/null
grep -q 'all seen' "$work/install.log" || fail "the installed program was not tried"

# The development package, where its libraries' own packages are installed.
dpkg-deb --extract "$development" "$work/dev"
PKG_CONFIG_PATH=$work/dev/usr/lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086
${CXX:-c++} -std=c++20 "$source/examples/embed-frontier/scraper.cc" -o "$work/scraper" \
  $(pkg-config --cflags --libs trawl)
echo "Debian packages: ok"
