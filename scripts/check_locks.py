#!/usr/bin/env python3
"""Checks with clang that data is used with its locks held: see base/thread_annotations.h.

    scripts/check_locks.py               # exit status 1, with clang's errors, if something is wrong
    scripts/check_locks.py --each-lock   # removes one lock after the other: clang must object

Also reports mutexes that guard nothing by their annotations, and the standard library's mutexes and
locks, which clang does not follow, outside base/mutex.h.

Reads the sources as they are built, and builds nothing.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = "-fsyntax-only -Wthread-safety -Werror"


def configure():
    done = subprocess.run(["cmake", "--preset", "locks"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cmake --preset locks failed:\n{done.stdout}{done.stderr}")
    return json.loads((ROOT / "build/locks/compile_commands.json").read_text())


def check(entry):
    """Clang's errors for one source; None if there are none."""
    command = re.sub(r" -o \S+ -c ", f" {CHECK} ", entry["command"])
    done = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def included(text):
    """The repository's files that a source includes."""
    for name in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
        for path in (pathlib.Path(name), ROOT / name, ROOT / "include" / name):
            if path.is_absolute() and path.exists():
                yield path
                break


def uses_locks(source, known):
    """Whether it includes the annotations, directly or indirectly."""
    if source not in known:
        known[source] = source == ROOT / "base/thread_annotations.h"
        known[source] = known[source] or any(
            [uses_locks(path, known) for path in included(source.read_text())])
    return known[source]


ROOMS = ("include", "base", "url", "filter", "frontier", "crawler", "bindings")
STANDARD = re.compile(
    r"\bstd::((?:\w+_)?mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable\w*)\b")
MEMBER = re.compile(r"^ *(?:static |mutable )*(std::array<)?(?:Shared)?Mutex(?:, \w+>)? (\w+)"
                    r"(?: TRAWL_\w+\([^)]*\))?(?: = \{\})?;", re.MULTILINE)
GUARDS = r"TRAWL_(?:PT_)?(?:GUARDED_BY|REQUIRES(?:_SHARED)?)\([^;{]*?\b"


def unguarding(path):
    """(line, what) for each mutex of a file that clang does not follow, or that guards nothing."""
    text = re.sub(r"//.*", "", path.read_text())
    line = lambda match: text.count("\n", 0, match.start()) + 1
    if path != ROOT / "base/mutex.h":
        for match in STANDARD.finditer(text):
            yield line(match), f"std::{match.group(1)}: use what base/mutex.h has"
    for match in MEMBER.finditer(text):
        names = [match.group(2)]
        # Of an array of mutexes, functions choose the one that is to be held.
        if match.group(1):
            names += re.findall(r"\bMutex& (\w+)\(", text)
        if not any(re.search(GUARDS + name + r"\b", text) for name in names):
            yield line(match), f"{match.group(2)} guards nothing: say what, by annotation"


def check_mutexes():
    found = [f"{path.relative_to(ROOT)}:{line}: {what}" for room in ROOMS
             for path in sorted((ROOT / room).rglob("*")) if path.suffix in (".h", ".cc")
             for line, what in unguarding(path)]
    print("\n".join(found), end="\n" if found else "")
    return len(found)


# A lock that is held to the end of its scope. It is replaced by an object of its class that locks
# nothing.
SCOPED = re.compile(r"^( *)(?:const )?((?:Mutex|Reader|Writer)Lock|StoreUse|LockIfUsed) (\w+)\(.*\);",
                    re.MULTILINE)
CALLED = re.compile(r"^( *)(?!lock\.)[\w.]+\.lock\(\);", re.MULTILINE)


def without_each_lock(path):
    """(line, text) for each lock of the file: the text without that lock."""
    text = path.read_text()
    for match in SCOPED.finditer(text):
        indent, kind, name = match.groups()
        instead = f"{indent}[[maybe_unused]] {kind}& {name} = *static_cast<{kind}*>(nullptr);"
        yield text.count("\n", 0, match.start()) + 1, \
            text[:match.start()] + instead + text[match.end():]
    for match in CALLED.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, text[:match.start()] + text[match.end():]


def objects_to(path, text, command):
    """Whether clang reports a missing lock if the file's text is `text`."""
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / path.name
        changed.write_text(text)
        overlay = pathlib.Path(folder) / "overlay.yaml"
        overlay.write_text(json.dumps({"version": 0, "roots": [
            {"type": "file", "name": str(path), "external-contents": str(changed)}]}))
        done = subprocess.run(f"{command} -ivfsoverlay {overlay}", shell=True, capture_output=True,
                              text=True)
    # Not that a lock is released which was never taken: that says nothing of the data.
    return re.search("requires holding|expecting .* to be held", done.stderr) is not None


def check_each_lock(entries):
    known = {}
    cases = []
    for entry in entries:
        source = pathlib.Path(entry["file"])
        if not uses_locks(source, known):
            continue
        # Check the sources of a unity build one by one.
        for one in [path for path in included(source.read_text())] or [source]:
            command = re.sub(r" -o \S+ -c \S+", f" {CHECK} {one}", entry["command"])
            cases.append((one, command))
    done, work = set(), []
    for source, command in cases:
        for path in [source, *included(source.read_text())]:
            if path not in done and uses_locks(path, known) and path.name != "mutex.h":
                done.add(path)
                work += [(path, line, text, command) for line, text in without_each_lock(path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda case: objects_to(case[0], case[2], case[3]), work)
        missed = [case for case, objected in zip(work, found) if not objected]
    for path, line, _, _ in missed:
        print(f"{path.relative_to(ROOT)}:{line}: clang does not miss this lock: annotate the data that it guards")
    print(f"{len(work)} locks removed, {len(missed)} not missed")
    return 1 if missed or not work else 0


def main():
    known = {}
    entries = configure()
    if "--each-lock" in sys.argv[1:]:
        return check_each_lock(entries)
    entries = [one for one in entries if uses_locks(pathlib.Path(one["file"]), known)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [said for said in pool.map(check, entries) if said]
    print("".join(wrong), end="")
    mutexes = check_mutexes()
    print(f"{len(entries)} sources, {len(wrong)} with errors; {mutexes} mutexes that guard nothing")
    return 1 if wrong or mutexes else 0


if __name__ == "__main__":
    sys.exit(main())
