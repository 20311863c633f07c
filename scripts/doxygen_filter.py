#!/usr/bin/env python3
"""Prints a public header with its plain comments as Doxygen's. docs/Doxyfile runs it on each file.

The comment directly above a declaration, or behind it on the same line, belongs to it; the one that
begins a file describes the file. `Type::member`, trawl_function() and names of files become
references, so that Doxygen warns of those that do not exist.
"""

import os
import re
import sys

# Names of other libraries are not ours to resolve.
MEMBER = re.compile(r"(?<![\w:/])((?!std::|tl::)[A-Za-z]\w*::\w+)")
FUNCTION = re.compile(r"(?<![\w:/])(trawl_\w+)\(\)")
FILE = re.compile(r"(?<![\w/])(include/trawl|trawl|docs)/([\w-]+\.(?:h|md))")
CODE_SPAN = re.compile(r"(`[^`]*`)")

# What every function with such a name does; the header says it once.
BY_NAME = {
    "init": "Sets the defaults and struct_size. Ignores NULL.",
    "free": "Releases the object. Ignores NULL.",
}

sources = "."


def file_reference(found):
    folder, name = found.groups()
    folder = "include/trawl" if folder == "trawl" else folder
    exists = os.path.exists(os.path.join(sources, folder, name))
    return found.group() if exists else rf'\ref {found.group()} "{found.group()}"'


def text_of(comment):
    """The comment as markup that shows the same text."""
    parts = CODE_SPAN.split(comment)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"[<>#&]", lambda found: "\\" + found.group(), parts[i])
        parts[i] = MEMBER.sub(r'\\ref trawl::\1 "\1"', parts[i])
        parts[i] = FUNCTION.sub(r'\\ref \1 "\1()"', parts[i])
        parts[i] = FILE.sub(file_reference, parts[i])
    return "".join(parts)


def is_comment(line):
    return re.match(r" *//", line)


def belongs(lines, number):
    """Whether the block of comments with this line begins the file or stands above code."""
    begin = end = number
    while begin >= 0 and is_comment(lines[begin]):
        begin -= 1
    while end < len(lines) and is_comment(lines[end]):
        end += 1
    return begin < 0 or (end < len(lines) and bool(lines[end].strip()))


def cpp(lines):
    """`//` becomes `///`, or `///<` behind code."""
    behind_code = None  # the column of the comment behind the code of the lines before
    for number, line in enumerate(lines):
        comment = re.match(r"( *)// ?(.*)", line)
        code = re.match(r"(.*\S +)// (.*)", line)
        if comment and behind_code == len(comment[1]):
            yield f"{comment[1]}///< {text_of(comment[2])}"
        elif comment:
            behind_code = None
            file = "/// \\file\n" if number == 0 else ""
            yield f"{file}{comment[1]}/// {text_of(comment[2])}" if belongs(lines, number) else line
        elif code and code[1].count('"') % 2 == 0:
            behind_code = len(code[1])
            yield f"{code[1]}///< {text_of(code[2])}"
        else:
            behind_code = None
            yield line


def c(source):
    """`/*` becomes `/**`, or `/**<` behind code; a comment with dashes begins a group."""
    groups = 0

    def convert(found):
        nonlocal groups
        before, comment, after = found.groups()
        heading = re.fullmatch(r" ---- (.*) ---- ", comment)
        if heading:
            groups += 1
            end = "/** @} */ " if groups > 1 else ""
            return f"{before}{end}/** @name {text_of(heading[1])} */ /** @{{ */{after}"
        mark = "<" if before.strip() else " \\file\n *" if found.start() == 0 else ""
        return f"{before}/**{mark}{text_of(comment)}*/{after}"

    source = re.sub(r"^([^\n]*?)/\*(.*?)\*/(\n)", convert, source, flags=re.MULTILINE | re.DOTALL)
    source = re.sub(r"(?<!\*/\n)^(?=TRAWL_EXPORT void trawl_\w+_(init|free)\()",
                    lambda found: f"/** {BY_NAME[found[1]]} */ ", source, flags=re.MULTILINE)
    end = source.rindex("#ifdef __cplusplus")
    return source[:end] + ("/** @} */\n" if groups else "") + source[end:]


if __name__ == "__main__":
    sources = os.path.join(os.path.dirname(sys.argv[1]), "..", "..")
    with open(sys.argv[1], encoding="utf-8") as header:
        text = header.read()
    text = c(text) if text.startswith("/*") else "\n".join(cpp(text.split("\n")))
    # \file took a line: without this one the lines of warnings are those of the header.
    sys.stdout.write(text.replace("\n\n", "\n", 1))
