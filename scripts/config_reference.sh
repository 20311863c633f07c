#!/usr/bin/env bash
# Writes config/quickstart.toml and the table of docs/config.md from the rows of
# crawler/config/config_keys.cc.
#
#     scripts/config_reference.sh [TRAWL]     default: build/release/crawler/trawl
set -euo pipefail
cd "$(dirname "$0")/.."
trawl=${1:-build/release/crawler/trawl}

quickstart=$("$trawl" config-reference)
table=$("$trawl" config-reference --markdown)
page=$(sed '/^## Keys$/q' docs/config.md)
printf '%s\n' "$quickstart" > config/quickstart.toml
printf '%s\n\n%s\n' "$page" "$table" > docs/config.md
