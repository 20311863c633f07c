"""A page of Markdown as the test of the documentation sees it: blocks of code, code in the prose,
links, headings, tables of keys."""

import dataclasses
import re

FENCE = re.compile(r"^( *)(```+|~~~+)\s*(\S*)")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


@dataclasses.dataclass
class Block:
    page: str       # the path of the page below the root
    line: int       # of the fence; for code without a fence, of its first line
    language: str   # "" where a fence has none, "indented" without a fence
    text: str       # with a line end after each line

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def first_line(self):
        return self.text.split("\n", 1)[0]


class Page:
    def __init__(self, name, text):
        self.name = name
        self.lines = text.split("\n")
        self.blocks = []
        self.prose = []  # the lines, those of code emptied
        self._split()

    def _split(self):
        fence = None  # the indentation, the marks, and the block that is open
        in_list = False
        for number, line in enumerate(self.lines, 1):
            opens = FENCE.match(line)
            previous = self.prose[-1] if self.prose else ""
            if fence is not None:
                self.prose.append("")
                if line.strip() == fence[1]:
                    fence = None
                else:
                    fence[2].text += line.removeprefix(fence[0]) + "\n"
                continue
            if opens:
                block = Block(self.name, number, opens.group(3), "")
                self.blocks.append(block)
                fence = (opens.group(1), opens.group(2), block)
                self.prose.append("")
                continue
            if line.startswith("    ") and not in_list and not previous.strip():
                before = self.lines[number - 2] if number > 1 else ""
                last = self.blocks[-1] if self.blocks else None
                if last and last.language == "indented" and before.startswith("    "):
                    last.text += line[4:] + "\n"
                else:
                    self.blocks.append(Block(self.name, number, "indented", line[4:] + "\n"))
                self.prose.append("")
                continue
            if line.strip():
                in_list = bool(LIST_ITEM.match(line)) or (in_list and line.startswith(" ")) or \
                    (in_list and bool(previous.strip()))
            self.prose.append(line)
        if fence is not None:
            raise ValueError(f"{fence[2].place}: a fence without an end")

    def spans(self):
        """The code within the prose: pairs of line number and text."""
        text = "\n".join(self.prose)
        for found in SPAN.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            # In tables a | in code is escaped.
            yield number, " ".join(found.group(2).replace("\\|", "|").split())

    def links(self):
        text = "\n".join(self.prose)
        without_code = SPAN.sub(lambda found: re.sub(r"[^\n]", "x", found.group(0)), text)
        for found in LINK.finditer(without_code):
            yield text.count("\n", 0, found.start()) + 1, found.group(1)

    def anchors(self):
        """Those of the headings, as GitHub makes them."""
        anchors = set()
        for line in self.prose:
            heading = re.match(r"^#+ +(.*?) *#*$", line)
            if heading:
                words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
                slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
                count = sum(1 for each in anchors if re.fullmatch(re.escape(slug) + r"(-\d+)?", each))
                anchors.add(f"{slug}-{count}" if count else slug)
        return anchors

    def keys_of_table(self, heading):
        """The first column of the first table below that heading, which holds code."""
        keys = []
        below = False
        for line in self.prose:
            if line.startswith("#"):
                if keys:
                    break
                below = line.lstrip("# ") == heading
            found = re.match(r"^\| (`[^|]+`) \|", line)
            if below and found:
                keys += re.findall(r"`([^`]+)`", found.group(1))
            elif keys and not line.startswith("|"):
                break
        return keys
