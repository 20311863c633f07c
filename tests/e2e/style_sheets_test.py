"""`trawl links` on style sheets, held against tinycss2, another reader of CSS: on all the style
sheets of this machine, and on damaged and random ones."""

import json
import pathlib
import random
import subprocess

import trawl_testing as t

try:
    import tinycss2
except ImportError:
    tinycss2 = None

BASE = "http://h.example/dir/s.css"
# Where packages of Debian have style sheets; scripts/deps.sh test installs some.
FOLDERS = ["/usr/share/javascript", "/usr/share/doc", "/usr/share/nodejs", "/usr/share/gtk-doc",
           "/usr/lib/python3/dist-packages"]
MOST_SHEETS = 400
PIECES = ["url(", "URL( ", "'", '"', ")", "\\", "\n", "@import ", "@import", " ", "{", "}", ";", "/*",
          "*/", "#", "a", "7", "-", "<!--", "-->", "\r\n", "@x ", "(", "\x01", "\u00e9", "image-set(",
          "@font-face{", "x.png", "b.css", "\\66 ", "\\)", "url(c.png)", "'d.png'"]


def tokens(values):
    """What is in component values, in order, with the brackets of functions and blocks."""
    for value in values:
        if value.type == "function":
            arguments = value.arguments
            if value.lower_name == "url":
                arguments = [argument for argument in arguments if argument.type != "whitespace"]
                if arguments and arguments[0].type == "string":
                    yield "url", arguments[0].value
                    arguments = arguments[1:]
            yield "function", value.lower_name
            yield from tokens(arguments)
            yield ")", None
        elif value.type in ("() block", "{} block", "[] block"):
            yield value.type[0], None
            yield from tokens(value.content)
            yield value.type[1], None
        elif value.type == "error":
            yield value.kind, None
        else:
            yield value.type, getattr(value, "value", None)


def references(css):
    """The uses and URLs, by the tokens of tinycss2."""
    imports_count, at, after_import, font_face = True, None, False, False
    depth = image_set = 0
    for kind, value in tokens(tinycss2.parse_component_value_list(css)):
        imported = after_import
        if kind not in ("comment", "whitespace", "<!--", "-->") and value not in ("<!--", "-->"):
            after_import = False
        if kind == "at-keyword":
            at = value.lower()
            after_import = at == "import"
        elif kind in ("{", "}", "literal") and (kind != "literal" or value in ";{}"):
            if kind == "{":
                imports_count = False
            if kind != "literal":
                font_face = kind == "{" and at == "font-face"
            at, depth, image_set = None, 0, 0
        elif kind in ("function", "("):
            depth += 1
            if value in ("image-set", "-webkit-image-set") and not image_set:
                image_set = depth
        elif kind == ")" and depth:
            depth -= 1
            if depth < image_set:
                image_set = 0
        elif kind in ("string", "url"):
            named = value.lstrip("".join(map(chr, range(33))))
            if not named or named.startswith("#"):
                continue
            if imported:
                if imports_count:
                    yield "import", value
            elif at is None and (kind == "url" or (image_set and depth == image_set)):
                yield "font" if font_face else "image", value


class StyleSheets:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options

    def printed(self, css):
        path = self.directory / "sheet.css"
        path.write_bytes(css)
        finished = subprocess.run([self.options.trawl, "links", "-q", path, "--base", BASE],
                                  capture_output=True, timeout=60, check=False)
        self.test.check(finished.returncode == t.EXIT_DONE, "exit code", finished.stderr.decode())
        lines = [line.split("\t") for line in finished.stdout.decode().splitlines()]
        self.test.check(all(line[0] == "resource" and line[2] == "follow" for line in lines), "columns",
                        lines)
        return [(line[1].removeprefix("css@"), line[3]) for line in lines]

    def urls(self, found):
        """What a base page with these URLs as links has: they are resolved by one parser."""
        found = list(found)
        page = "".join(f'<a href="{escape(url)}">' for _, url in found)
        finished = subprocess.run([self.options.trawl, "links", "--json", "-", "--base", BASE,
                                   "--content-type", "text/html; charset=utf-8"],
                                  input=page.encode(), capture_output=True, timeout=60, check=False)
        return [json.loads(line)["url"] for line in finished.stdout.splitlines()[:-1]]

    def compare(self, css, what):
        text = css.decode("utf-8", errors="replace").removeprefix("\ufeff")
        expected = list(references(text))
        printed = self.printed(css)
        urls = self.urls(expected)
        self.test.check([url for _, url in printed] == urls, f"{what}: URLs",
                        f"{css!r}\ngot      {printed}\nexpected {expected}")
        if len(urls) == len(expected):
            self.test.check([use for use, _ in printed] == [use for use, _ in expected],
                            f"{what}: uses", f"{css!r}\ngot      {printed}\nexpected {expected}")
        return len(printed)

    def real_sheets(self):
        sheets = sorted(path for folder in FOLDERS for path in pathlib.Path(folder).rglob("*.css"))
        sheets = [sheet for sheet in sheets if sheet.is_file()][:MOST_SHEETS]
        found = sum(self.compare(sheet.read_bytes(), str(sheet)) for sheet in sheets)
        print(f"{len(sheets)} style sheets with {found} URLs")

    def damaged_sheets(self):
        seed = random.randrange(1 << 32)
        source = random.Random(seed)
        for i in range(300):
            css = "".join(source.choices(PIECES, k=source.randrange(1, 40)))
            self.compare(css.encode(), f"seed {seed}, {i}")


def escape(url):
    return "".join(f"&#{ord(c)};" if c in "&\"<>\r" else c for c in url)


def style_sheets(test, directory, options):
    if tinycss2 is None:
        raise t.Skip("python3-tinycss2 is missing: run scripts/deps.sh test")
    t.run_cases(test, StyleSheets(test, directory, options), ("printed", "urls", "compare"),
                options.only)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("only", nargs="*", help="run these cases alone")
    t.main(style_sheets, arguments.parse_args())
