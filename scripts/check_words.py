#!/usr/bin/env python3
"""Checks that the documentation is in plain English: finds phrases that are banned, and pages that
have grown too long. Prints each place and what to write instead. CONTRIBUTING.md says why."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A pattern, and what to write instead.
BANNED = (
    (r"\b(tells?|told|telling)\b", "reports, prints, returns, says"),
    (r"\bwhoever\b", "the caller, the user"),
    (r"\bbut for\b", "except"),
    (r"\bby itself\b", "automatically, alone"),
    (r"\bof its own accord\b", "automatically"),
    (r"\bfor ever\b", "forever, without end"),
    (r"\b(lest|whither|whence)\b", "or else, to where, from where"),
    (r"\bnot so\b(?! \w)", "0 disables it"),
    (r"(?<!there )(?<!There )\b(is|are|was|were) no (?!longer\b|more than\b|less than\b|later\b)\w",
     "is not a"),
    (r"\bas it comes\b", "unchanged, in the order received"),
    (r"\bat all events\b", "in any case"),
    (r"\bmend(s|ed|ing)?\b", "repair, fix"),
)
# Pages with limits, in words: all of docs/ except formats, keys and commands; lines of the README.
MAX_WORDS_OF_GUIDES = 16_000
MAX_LINES_OF_README = 150
NOT_GUIDES = {"formats.md", "config.md", "filter-command.md", "frontier-command.md",
              "page-commands.md"}


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True,
                            check=True)
    return [ROOT / name for name in listed.stdout.split()]


def prose_of(page):
    """The lines of a page, those of code blocks and generated tables of config keys emptied."""
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        yield "" if fenced or (page.name == "config.md" and line.startswith("|")) else line


def main():
    problems = []
    pages = [page for page in tracked("*.md") if page.name != "CHANGELOG.md" and
             page.parent.name != "bench"]
    for page in pages:
        for number, line in enumerate(prose_of(page), start=1):
            text = re.sub(r"`[^`]*`", "``", line)
            for pattern, instead in BANNED:
                for found in re.finditer(pattern, text, re.IGNORECASE):
                    problems.append(f"{page.relative_to(ROOT)}:{number}: {found.group(0)!r}: "
                                    f"write {instead}")
    guides = sum(len(page.read_text(encoding="utf-8").split()) for page in pages
                 if page.parent == ROOT / "docs" and page.name not in NOT_GUIDES)
    if guides > MAX_WORDS_OF_GUIDES:
        problems.append(f"docs/: {guides} words in guides, {MAX_WORDS_OF_GUIDES} at most")
    lines = len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > MAX_LINES_OF_README:
        problems.append(f"README.md: {lines} lines, {MAX_LINES_OF_README} at most")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {guides} words in guides, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
