#!/usr/bin/env python3
"""Checks that documentation, comments and messages are in plain English: finds phrases that are
banned, and pages that have grown too long. Prints each place and what to write instead.
CONTRIBUTING.md says why.

Of code it reads the comments and the string literals; of pages everything except code. Text between
backticks is not checked."""

import bisect
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A pattern, and what to write instead. A space in a pattern also matches a line break.
BANNED = (
    (r"\b(tells?|told|telling)\b", "reports, prints, returns, says"),
    (r"\bwhoever\b", "the caller, the user, a thread that"),
    (r"\bbut for\b", "except"),
    (r"\bby itself\b", "automatically, alone"),
    (r"\bof its own accord\b", "automatically"),
    (r"\bfor ever\b", "forever, without end"),
    (r"\b(lest|whither|whence|anew|seldom)\b", "so that ... not, to where, from where, again, rarely"),
    (r"\bnot so\b(?! \w)", "0 disables it"),
    (r"(?<!there )(?<!There )\b(is|are|was|were) no (?!longer\b|more than\b|less than\b|later\b)\w",
     "is not a"),
    (r"\bas it comes\b", "unchanged, in the order received"),
    (r"\bat all events\b", "in any case"),
    (r"\bmend(s|ed|ing)?\b", "repair, fix"),
    (r"\bin vain\b", "without success, its fetch failed"),
    (r"\bso long\b(?! (as|that)\b)", "this long, for this time"),
    (r"\bbeside\b(?!\()", "next to, in addition to"),
    (r"\b(be it|if need be)\b", "whether, if necessary"),
    (r"\bnow and then\b", "from time to time"),
    (r"\bcomes? of\b", "results from, follows from"),
    (r"\b(for|of|by|to) who\b", "for callers that"),
    (r", say\b(?=[).;:])", "for example, before the example"),
    (r"\bof which (nothing|none|no)\b", "of these ... none"),
    (r"\bnobody else\b", "no other thread, no other process"),
)
# Folders whose code is not in plain English yet.
NOT_CLEAN = ()
# Pages with limits, in words: all of docs/ except formats, keys and commands; lines of the README.
MAX_WORDS_OF_GUIDES = 27_250
MAX_LINES_OF_README = 150
NOT_GUIDES = {"api.md", "cluster-command.md", "formats.md", "config.md", "filter-command.md",
              "frontier-command.md", "page-commands.md"}

# The comments and strings of each language.
LITERALS = r'R"\w*\([\s\S]*?\)\w*"|"(?:[^"\\\n]|\\.)*"'
CPP = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|'(?:[^'\\\n]|\\.)'|" + LITERALS)
PYTHON = re.compile(r'#[^\n]*|"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
SHELL = re.compile(r'#[^\n]*|"(?:[^"\\]|\\.)*"|\'[^\']*\'')
PIECES = {".h": CPP, ".cc": CPP, ".py": PYTHON}
NOT_PROSE = re.compile(r"\S")


def tracked(*patterns):
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", *patterns], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    return [path for path in (ROOT / name for name in listed.stdout.split()) if path.is_file()]


def prose_of_page(page, text):
    """The page with code blocks, code and the generated tables of config keys blanked."""
    text = re.sub(r"^```[\s\S]*?^```", blank, text, flags=re.MULTILINE)
    if page.name == "config.md":
        text = re.sub(r"^\|[^\n]*", blank, text, flags=re.MULTILINE)
    return text


def blank(found):
    return NOT_PROSE.sub("\0", found.group(0))


def prose_of_code(path, text):
    """The comments and strings of the code, without the marks of comments; all else is blanked."""
    pieces = PIECES.get(path.suffix, SHELL)
    prose, end = [], 0
    for piece in pieces.finditer(text):
        prose.append(NOT_PROSE.sub("\0", text[end:piece.start()]))
        # The quotes too: the literals of a message that goes over several lines are one text.
        prose.append(re.sub(r'^(//+|#+)|^["\']|["\']$', lambda mark: " " * len(mark.group(0)),
                            piece.group(0)))
        end = piece.end()
    prose.append(NOT_PROSE.sub("\0", text[end:]))
    return "".join(prose)


def problems_of(path, prose, banned):
    prose = re.sub(r"`[^`\n]*`", "\0", prose)
    # A line break is a space to a pattern; `breaks` has where each line but the first starts.
    breaks, parts, length = [], [], 0
    for line in prose.split("\n"):
        part = " ".join(line.split()) + " "
        parts.append(part if part != " " else "")
        length += len(parts[-1])
        breaks.append(length)
    text = "".join(parts)
    for pattern, instead in banned:
        for found in pattern.finditer(text):
            line = bisect.bisect_right(breaks, found.start()) + 1
            yield f"{path.relative_to(ROOT)}:{line}: {found.group(0)!r}: write {instead}"


def main():
    banned = [(re.compile(pattern, re.IGNORECASE), instead)
              for pattern, instead in BANNED]
    problems = []
    pages = [page for page in tracked("*.md") if page.name != "CHANGELOG.md" and
             page.parent.name != "bench"]
    for page in pages:
        problems += problems_of(page, prose_of_page(page, page.read_text(encoding="utf-8")), banned)
    code = [path for path in tracked("*.h", "*.cc", "*.py", "*.sh", "*.cmake", "*CMakeLists.txt",
                                     "*.cmake.in")
            if not path.relative_to(ROOT).as_posix().startswith(NOT_CLEAN) and path.name !=
            pathlib.Path(__file__).name]
    for path in code:
        text = path.read_text(encoding="utf-8", errors="replace")
        problems += problems_of(path, prose_of_code(path, text), banned)
    guides = sum(len(page.read_text(encoding="utf-8").split()) for page in pages
                 if page.parent == ROOT / "docs" and page.name not in NOT_GUIDES)
    if guides > MAX_WORDS_OF_GUIDES:
        problems.append(f"docs/: {guides} words in guides, {MAX_WORDS_OF_GUIDES} at most")
    lines = len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > MAX_LINES_OF_README:
        problems.append(f"README.md: {lines} lines, {MAX_LINES_OF_README} at most")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {len(code)} files of code, {guides} words in guides, "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
