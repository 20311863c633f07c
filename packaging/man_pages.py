#!/usr/bin/env python3
"""Writes a manual page for trawl and one for each of its commands.

    man_pages.py TRAWL DIRECTORY
"""

import gzip
import pathlib
import sys
import textwrap

import help_reference


def roff(text):
    """Escapes a text; a line must not begin with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def verbatim(text):
    return [".EX", roff(text.strip("\n")), ".EE"]


def paragraphs(text):
    """Filled paragraphs; what is indented, or in columns, stays as it is."""
    for part in textwrap.dedent(text).strip("\n").split("\n\n"):
        lines = part.split("\n")
        if any(line.startswith(" ") or "  " in line.strip() for line in lines):
            yield ".PP"
            yield from verbatim(part)
        else:
            yield from (".PP", roff(part))


def option_term(option):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option["names"])
    return names + (f" \\fI{roff(option['value'])}\\fR" if option.get("value") else "")


def option_text(option):
    text = roff(option.get("text", ""))
    if option.get("default"):
        text += f" (default: {roff(option['default'])})"
    return text


def page(command, version):
    yield f'.TH "{roff(command.name.upper())}" 1 "" "Trawl {roff(version)}" "Trawl"'
    yield ".SH NAME"
    yield f"{roff(command.name)} \\- {roff(command.summary)}"
    yield ".SH SYNOPSIS"
    yield from verbatim(command.usage)
    if command.description:
        yield ".SH DESCRIPTION"
        yield from paragraphs(command.description)
    if command.positionals:
        yield ".SH ARGUMENTS"
        for each in command.positionals:
            yield from (".TP", f"\\fI{roff(each['name'])}\\fR", roff(each.get("text", "")))
    if command.options:
        yield ".SH OPTIONS"
        for each in command.options:
            yield from (".TP", option_term(each), option_text(each))
    if command.commands:
        yield ".SH COMMANDS"
        for each in command.commands:
            yield from (".TP", f"\\fB{roff(each.path[-1])}\\fR", f"{roff(each.summary)}; see \\fB{roff(each.name)}\\fR(1)")
    for section in command.sections:
        yield f'.SH "{roff(section["title"].upper())}"'
        yield from paragraphs(section["text"])
    yield ".SH SEE ALSO"
    others = ["trawl"] if command.path else []
    if len(command.path) > 1:
        others.append("-".join(["trawl"] + command.path[:-1]))
    others += [each.name for each in command.commands]
    yield ", ".join(f"\\fB{roff(name)}\\fR(1)" for name in others)


def main():
    program, version = help_reference.of_program(sys.argv[1])
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for command in program.all():
        text = "\n".join(page(command, version)) + "\n"
        # Without a time in it, so that two builds give the same file.
        (directory / f"{command.name}.1.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
