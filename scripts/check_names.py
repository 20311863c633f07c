#!/usr/bin/env python3
"""Checks that a header declares what its name promises. Prints what is wrong; exit status 1 then.

A header that declares classes, structs, enumerations or aliases is named after one of them, or after
several (`config_keys.h`: ConfigKey), or after a nested one (`Filter::State`: `filter_state.h`). A header
named after a subject instead is in SUBJECTS, with a word on why. No header has the name of a type that
another one declares.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("include/", "base/", "url/", "filter/", "frontier/", "crawler/")
SUBJECTS = {
    "base/ascii.h": "classes of characters",
    "base/coding.h": "how records are written and read",
    "base/file_io.h": "files, open or temporary",
    "base/fork_generation.h": "processes and their children",
    "base/utf8.h": "one character after another",
    "base/utf8_validation_x86.h": "a version for one processor",
    "crawler/cli/command_search.h": "commands and options by name",
    "crawler/cli/commands.h": "the commands of trawl",
    "crawler/cli/control_target.h": "the running crawl a command is about",
    "crawler/cli/filter_commands.h": "the commands of trawl filter",
    "crawler/cli/frontier_commands.h": "the commands of trawl frontier",
    "crawler/cli/typed_urls.h": "URLs and lists of them, as people type them",
    "crawler/config/config_kinds.h": "kinds of config keys",
    "crawler/config/related_keys.h": "what keys mean to each other",
    "crawler/config/seed_file.h": "reading one",
    "crawler/decide/host_limits.h": "limits on URLs and on pages of a host",
    "crawler/parse/encoding/decoders.h": "one function for each family",
    "crawler/parse/encoding/encoding_index.h": "the indexes of the Encoding Standard",
    "crawler/parse/encoding/index_corrections.h": "tables",
    "crawler/parse/html/character_references.h": "decoding them",
    "crawler/parse/html/token_masks_x86.h": "versions for some processors",
    "crawler/resp/command_handlers.h": "the functions behind the commands of trawl serve",
    "crawler/run/crawl_control.h": "the values of the calls that steer a crawl",
    "crawler/warc/http_head.h": "heads of messages as archives keep them",
    "crawler/warc/record_text.h": "what all records are written with",
    "crawler/wacz/wacz_package.h": "writing one",
    "filter/exact/exact_keys_format.h": "a file format",
    "filter/hash/siphash.h": "the hash SipHash",
    "filter/snapshot/snapshot_format.h": "a file format",
    "frontier/recovery/filter_recovery.h": "a filter from checkpoint and log",
    "frontier/recovery/frontier_repair.h": "a filter from what is left",
    "frontier/store/process_env.h": "an environment of RocksDB",
    "include/trawl/canonical_profile.h": "Profile and its rules",
    "include/trawl/filter.h": "what all filters have in common",
    "include/trawl/frontier_dump.h": "reading a frontier that is not open",
    "include/trawl/frontier_options.h": "options of all frontiers",
    "include/trawl/link_header.h": "parsing one",
    "include/trawl/set_aside.h": "URLs set aside",
    "include/trawl/sizing.h": "sizes of filters",
    "include/trawl/trawl.h": "the C interface",
    "include/trawl/url_groups.h": "which hosts belong together",
    "url/url_byte_masks_x86.h": "versions for some processors",
    "url/url_credentials.h": "leaving them out",
}
ATTRIBUTE = r"(?:TRAWL_\w+(?:\([^)]*\))?\s+|alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*"
TYPE = re.compile(
    r"^(?:template\s*<[^;{]*?>\s*)?(?:class|struct|union|concept|enum(?:\s+(?:class|struct))?)\s+"
    + ATTRIBUTE + r"([\w:]+)(?:\s+final)?\s*(?::[^;{]*)?\{",
    re.MULTILINE,
)
ALIAS = re.compile(r"^(?:template\s*<[^;{]*?>\s*)?(?:__extension__\s+)?using\s+(\w+)\s*=", re.MULTILINE)


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    names = listed.stdout.decode().split("\0")
    return [n for n in names if n.endswith(".h") and n.startswith(ROOMS) and (ROOT / n).is_file()]


def types_in(text):
    """The types and the aliases declared at the beginning of a line, that is, in a namespace."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return [name.replace("::", "") for name in TYPE.findall(text)], ALIAS.findall(text)


def promised(header):
    """The type that a header's name promises, in lower case, and its singular."""
    name = pathlib.PurePath(header).stem.replace("_", "")
    singular = [name[:-1]] if name.endswith("s") else []
    return [name, *singular, *([name[:-3] + "y"] if name.endswith("ies") else [])]


def main():
    headers = tracked()
    types = {}
    aliases = {}
    home = collections.defaultdict(set)
    for header in headers:
        types[header], aliases[header] = types_in((ROOT / header).read_text())
        for name in types[header]:
            home[name.lower()].add((name, header))
    wrong = [f"{name}: in SUBJECTS of scripts/check_names.py, but there is no such header, or it need not be there"
             for name in SUBJECTS if name not in headers]
    for header in headers:
        names = {name.lower() for name in types[header] + aliases[header]}
        meant = promised(header)
        keeps = any(name in names for name in meant)
        if keeps and header in SUBJECTS:
            wrong.append(f"{header}: needs no entry in SUBJECTS of scripts/check_names.py")
        if keeps:
            continue
        for name, other in sorted(home.get(meant[0], ())):
            wrong.append(f"{header}: has the name of {name}, which {other} declares")
        if types[header] and header not in SUBJECTS:
            wrong.append(f"{header}: declares {', '.join(types[header])}; name it after one of them")
    print("\n".join(wrong) if wrong else f"{len(headers)} headers declare what their names promise.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
