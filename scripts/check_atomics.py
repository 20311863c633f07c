#!/usr/bin/env python3
"""Checks that each atomic operation names its memory order, and that what is not relaxed says why.

    scripts/check_atomics.py    # exit status 1, and a line for each operation that does not

An operation whose order is not relaxed needs a comment at most ten lines above it, in the same
function, that names the order and says what it pairs with, or where that is said ("as in ...",
"see ..."). Operators of atomics (`count++`, `flag = true`) name no order and are errors, too.
Reads the text of the sources: names that are declared as atomics in a file, or in a header of this
repository that it includes.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("include", "base", "url", "filter", "frontier", "crawler", "bindings", "examples")

ALWAYS_ATOMIC = r"fetch_(?:add|sub|and|or|xor)|compare_exchange_(?:weak|strong)|test_and_set"
OPERATION = re.compile(
    rf"(?:\.|->)\s*({ALWAYS_ATOMIC}|load|store|exchange|wait|clear|test)\s*\(|"
    r"\b(atomic_thread_fence)\s*\(")
ORDER = re.compile(r"memory_order(?:_|::)(relaxed|consume|acquire|release|acq_rel|seq_cst)")
REASON = re.compile(r"\bpairs?\b|\bas (?:in|for|said)\b|\bsee\b", re.IGNORECASE)
PLAIN = r"\b(?:bool|double|int|unsigned|u?int\d+_t|auto|\w*string\w*|size_t|[A-Z]\w+|thread)"
REACH = 10  # lines


def without_comments(text):
    """The code alone, with the places of everything kept."""
    def blank(match):
        part = match.group(0)
        return re.sub(r"[^\n]", " ", part) if part.startswith("/") else \
            part[0] + re.sub(r"[^\n]", " ", part[1:-1]) + part[-1]
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


def end_of(text, start, opening, closing):
    """The place behind the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place + 1
    return len(text)


def outermost(arguments):
    """What is in these brackets, without what is in brackets inside."""
    inside = arguments[1:-1]
    while re.search(r"[({\[][^(){}\[\]]*[)}\]]", inside):
        inside = re.sub(r"[({\[][^(){}\[\]]*[)}\]]", "_", inside)
    return inside.strip()


def atomics_of(code):
    """(name, place) of what the code declares as an atomic, or as an array of atomics."""
    aliases = []
    types = [(match.start(), match.end()) for match in re.finditer(r"std::atomic(?:_flag\b|(?=<))",
                                                                   code)]
    for start, end in types:
        if code[end:end + 1] == "<":
            end = end_of(code, end, "<", ">")
        alias = re.search(r"using\s+(\w+)\s*=\s*$", code[:start])
        if alias:
            aliases.append(alias.group(1))
            continue
        name = re.match(r"(?:\s*>|\s*,[^<>;(){}]*>)*(?:\[\])?>?\s*(?:const\b|[&\s])*(\w+)\s*[;,={\[)(]", code[end:])
        pointer = re.match(r"[\s>]*\*", code[end:])
        if name and not pointer and name.group(1) not in ("const", "noexcept", "operator"):
            if code[end + name.end() - 1] != "(":
                yield name.group(1), end + name.start(1)
    for alias in aliases:
        for match in re.finditer(rf"\b{alias}\b[\s&]+(\w+)\s*[;={{,)]", code):
            yield match.group(1), match.start(1)


@functools.cache
def code_of(path):
    return without_comments(path.read_text())


@functools.cache
def included(path):
    """The headers of this repository that a file includes, at whatever depth."""
    found = set()
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        for header in (ROOT / name, ROOT / "include" / name):
            if header.exists():
                found |= {header} | included(header)
    return frozenset(found)


@functools.cache
def names_in(path):
    """Those of atomics, and those that something else has (maybe the same)."""
    others = re.findall(rf"{PLAIN}[&*]?(?: const)?\s+(\w+)\b", code_of(path))
    return frozenset(name for name, _ in atomics_of(code_of(path))), frozenset(others)


def is_explained(lines, number, orders):
    """Whether a comment near line `number` (from 0) says what an operation pairs with."""
    comments = []
    for at in range(number, max(-1, number - REACH), -1):
        line = lines[at]
        if at != number and line == "}":  # the function before
            break
        comment = re.search(r"//(.*)", line)
        if comment:
            comments.insert(0, comment.group(1))
    text = " ".join(comments)
    said = set(re.findall(r"\w+", text))
    named = any(order in said or order == "acq_rel" and "release" in said for order in orders)
    return (named or "fence" in text) and REASON.search(text)


def mistakes_of(path):
    code = code_of(path)
    lines = path.read_text().splitlines()

    def at(place, what):
        number = code.count("\n", 0, place)
        return f"{path.relative_to(ROOT)}:{number + 1}: {what}: {lines[number].strip()}"

    places = {place for _, place in atomics_of(code)}
    # A source may implement what any header of its folder declares.
    mine = {path, *re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)}
    mine = {ROOT / one for one in mine if (ROOT / one).parent == path.parent}
    readable = {path, *included(path)}
    names = {name for one in readable for name in names_in(one)[0]
             if one in mine or not name.endswith("_")}  # a member that is private
    # Names that something else has, too, say nothing of what an operator is of.
    certain = names.difference(*(names_in(one)[1] for one in readable))

    for match in OPERATION.finditer(code):
        operation = match.group(1) or match.group(2)
        arguments = code[match.end() - 1:end_of(code, match.end() - 1, "(", ")")]
        orders = set(ORDER.findall(outermost(arguments)))
        if not orders:
            of = re.search(r"(\w+)(?:\[[^\]]*\])?\s*$", code[:match.start()])
            # Nothing else here has a load() of nothing, or a store() of one thing.
            always = re.fullmatch(ALWAYS_ATOMIC + "|atomic_thread_fence", operation) or \
                operation == "load" and arguments == "()" or \
                operation == "store" and "," not in outermost(arguments)
            if always or (of and of.group(1) in names):
                yield at(match.start(), "names no memory order")
        elif orders - {"relaxed"}:
            number = code.count("\n", 0, match.end())
            if not is_explained(lines, number, orders - {"relaxed"}):
                yield at(match.end(), "no comment says what this pairs with")

    for name in certain:
        for match in re.finditer(rf"\b{re.escape(name)}\b", code):
            before, after = code[:match.start()], code[match.end():]
            if match.start() in places or before.endswith("::"):
                continue
            changed = re.match(r"\s*(\+\+|--|[-+|&^]=)", after) or re.search(r"(\+\+|--)[\w.>-]*$",
                                                                             before[-60:])
            assigned = re.match(r"\s*=(?!=)", after) and not re.search(r"[{,(]\s*\.$", before[-60:])
            read = re.search(r"(\bif \(|\bwhile \(|&& |\|\| |!|\breturn )([\w>.-]+(\.|->))?$",
                             before[-60:]) and re.match(r"\s*(\)|;|&&|\|\||[<>!=]=|[<>] |\?)", after)
            if changed or assigned or read:
                yield at(match.start(), "an operator of an atomic names no memory order")


def main():
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*"))
             if path.suffix in (".h", ".cc", ".cpp")]
    mistakes = [mistake for path in files for mistake in mistakes_of(path)]
    print("\n".join(mistakes), end="\n" if mistakes else "")
    print(f"{len(files)} files, {len(mistakes)} mistakes")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
