#!/usr/bin/env python3
"""Checks the house's rooms: each folder is one CMake target that compiles the folder's files and no
others, and includes point one way, between folders and between files. Prints what is wrong.

    scripts/check_rooms.py            # exit status 1 if something is wrong
    scripts/check_rooms.py --arrows   # prints which folder includes which
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOUSE = ("base", "url", "filter", "frontier", "crawler")
# A room may include rooms of lower floors. "frontier" is the folder itself, the face of its rooms.
FLOORS = [
    ["base"],
    ["url", "filter/bits", "filter/hash"],
    ["filter/snapshot"],
    ["filter/blocked", "filter/classic", "filter/cuckoo"],
    ["filter/growing", "filter/counting"],
    ["filter/mapped"],
    ["filter/exact"],
    ["filter"],
    ["frontier/common"],
    ["frontier/store", "frontier/memory", "frontier/redis"],
    ["frontier/commit", "frontier/schedule", "frontier/shared"],
    ["frontier/recovery"],
    ["frontier"],
    ["crawler/parse/encoding", "crawler/patterns", "crawler/sample_site", "crawler/status/page",
     "crawler/tally", "crawler/warc"],
    ["crawler/parse/css", "crawler/parse/headers", "crawler/parse/scripts"],
    ["crawler/parse/html", "crawler/parse/robots"],
    ["crawler/parse/sitemap"],
    ["crawler/parse"],
    ["crawler/config"],
    ["crawler/log"],
    ["crawler/http", "crawler/resp"],
    ["crawler/output", "crawler/crash"],
    ["crawler/decide", "crawler/wacz"],
    ["crawler/state"],
    ["crawler/run"],
    ["crawler/explain", "crawler/status"],
    ["crawler/cli"],
    ["crawler"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Commands that read a frontier themselves may include its headers.
ADMIN = re.compile(r"crawler/(cli/(cluster|frontier)_\w+|explain/url_knowledge)\.(cc|h)$")
# CMake calls that compile files: a library, a program, a room of a library, a test.
TARGET = re.compile(r"\b(add_library|add_executable|trawl_room|trawl_unit_test)\s*\(([^)]*)\)")
SOURCE = re.compile(r"[^\s\"()]+\.(?:cc|c)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def room_of(name):
    return name.rpartition("/")[0]


def wrong_targets(files):
    """Sources named by another folder's CMakeLists.txt, or by none; folders with several targets."""
    compiled = collections.Counter()
    for name in files:
        if not name.endswith("CMakeLists.txt"):
            continue
        folder = room_of(name)
        text = re.sub(r"#.*", "", (ROOT / name).read_text())
        targets = 0
        for _, body in TARGET.findall(text):
            sources = SOURCE.findall(body)
            targets += bool(sources)
            for source in sources:
                if "${" in source and "/" not in source:
                    continue  # named by an argument of the enclosing function
                if "/" in source:
                    yield f"{name}: compiles {source}, which is in another folder"
                else:
                    compiled[f"{folder}/{source}"] += 1
        if folder.split("/")[0] in HOUSE and targets > 1:
            yield f"{name}: {targets} targets; a folder must be one"
    for name in files:
        if not name.endswith(".cc") or name.split("/")[0] not in HOUSE:
            continue
        if compiled[name] != 1:
            yield f"{name}: compiled by {compiled[name]} targets of its folder, must be by one"
    for name, count in compiled.items():
        if name not in files:
            yield f"{room_of(name)}/CMakeLists.txt: names {name}, which does not exist"


def includes_of(files):
    for name in files:
        if name.endswith((".h", ".cc", ".inc")):
            for included in INCLUDE.findall((ROOT / name).read_text(errors="replace")):
                yield name, included


def wrong_includes(files):
    """Includes of a folder on the same floor or above, and of files that do not exist."""
    known = set(files)
    for name, included in includes_of(files):
        top = name.split("/")[0]
        if included.startswith("trawl/"):
            if f"include/{included}" not in known:
                yield f"{name}: includes {included}, which does not exist"
            continue
        if top == "include":
            yield f"{name}: a public header includes {included}"
        own = top == "bindings" and room_of(included) == room_of(name)
        if top in ("examples", "bindings") and not own:
            yield f"{name}: includes {included}; {top} may include only include/trawl, bindings their own folder too"
        if top not in HOUSE:
            continue
        if included not in known:
            yield f"{name}: includes {included}, which does not exist; write the path from the root"
            continue
        here, there = room_of(name), room_of(included)
        if here == there:
            continue
        if top == "crawler" and there.split("/")[0] == "frontier" and not ADMIN.match(name):
            yield f"{name}: includes {included}; the crawler may include only headers of include/trawl"
        if here not in FLOOR_OF or there not in FLOOR_OF:
            yield f"{name}: {here if here not in FLOOR_OF else there} is on no floor of {__file__}"
        elif FLOOR_OF[here] <= FLOOR_OF[there]:
            yield f"{name}: includes {included}, which is not below {here}"


def circles(files):
    """Files that include each other. In frontier/ a source and its header count as one."""
    def unit(name):
        return name.rpartition(".")[0] if name.startswith("frontier/") else name

    arrows = collections.defaultdict(set)
    for name, included in includes_of(files):
        if name.split("/")[0] in HOUSE and unit(name) != unit(included):
            arrows[unit(name)].add(unit(included))
    state = {}

    def visit(name, path):
        state[name] = "open"
        for to in sorted(arrows.get(name, ())):
            if state.get(to) == "open":
                yield "a circle: " + " -> ".join([*path[path.index(to):], to])
            elif to not in state:
                yield from visit(to, [*path, to])
        state[name] = "done"

    for name in sorted(arrows):
        if name not in state:
            yield from visit(name, [name])


def print_arrows(files):
    rooms = collections.defaultdict(set)
    for name, included in includes_of(files):
        here, there = room_of(name), room_of(included)
        if here in FLOOR_OF and there in FLOOR_OF and here != there:
            rooms[here].add(there)
    for floor in reversed(FLOORS):
        for room in floor:
            print(f"{room} -> {' '.join(sorted(rooms[room])) or '(include/trawl alone)'}")


def main():
    sys.setrecursionlimit(10_000)
    files = tracked()
    if sys.argv[1:] == ["--arrows"]:
        print_arrows(files)
        return 0
    wrong = [*wrong_targets(files), *wrong_includes(files), *circles(files)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
