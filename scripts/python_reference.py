#!/usr/bin/env python3
"""Writes the reference of the Python package from its stubs, as one page of HTML.

    scripts/python_reference.py STUBS OUTPUT      STUBS: the folder of the .pyi files

Each class and function has its signature and its docstring. Fails if a public one has none, or if a
docstring names a `Class.method()` that there is not.
"""

import ast
import html
import pathlib
import re
import sys

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>trawl: Python reference</title><style>
body {{ font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }}
code, pre {{ font: 14px/1.4 monospace }} pre {{ background: #8882; padding: .5em; overflow-x: auto }}
dd {{ margin: 0 0 1em 2em }} nav a {{ margin-right: 1em }}
</style></head><body>
{body}
</body></html>
"""


class Reference:
    def __init__(self):
        self.body, self.names, self.missing, self.references = [], {}, [], []

    def text(self, docstring, place):
        for name in re.findall(r"\b[A-Z]\w+\.\w+(?=\(\))", docstring):
            self.references.append((place, name))
        for paragraph in docstring.split("\n\n"):
            shown = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(paragraph, quote=False))
            yield f"<p>{shown}</p>"

    def add(self, node, place, signature):
        """A class or function: its signature, then what its docstring says."""
        name = place.rsplit(".", 1)[-1]
        docstring = ast.get_docstring(node)
        if not docstring and not name.startswith("_"):
            self.missing.append(place)
        self.names[place] = node
        self.body.append(f'<dt id="{place}"><pre>{html.escape(signature, quote=False)}</pre></dt>')
        self.body.append("<dd>" + "".join(self.text(docstring or "", place)))

    def function(self, node, place):
        begin = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        decorators = "".join(f"@{ast.unparse(each)}\n" for each in node.decorator_list)
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        arguments = ast.unparse(node.args)
        if len(arguments) > 80:
            arguments = "\n    " + re.sub(r", (?=\*|\w+[:=,])", ",\n    ", arguments) + "\n"
        self.add(node, place, f"{decorators}{begin} {node.name}({arguments}){returns}")
        self.body.append("</dd>")

    def of_class(self, node, place):
        bases = ", ".join(ast.unparse(each) for each in node.bases)
        self.add(node, place, f"class {node.name}" + (f"({bases})" if bases else ""))
        self.body.append("<dl>")
        self.members(node.body, place)
        self.body.append("</dl></dd>")

    def members(self, nodes, place):
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                self.of_class(node, f"{place}.{node.name}")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.function(node, f"{place}.{node.name}")
            elif isinstance(node, (ast.AnnAssign, ast.Assign)):
                line = html.escape(ast.unparse(node), quote=False)
                before = self.body[-1]
                if before.startswith("<dt><pre>"):  # attributes that follow each other
                    self.body[-1] = before.replace("</pre>", f"\n{line}</pre>")
                else:
                    self.body.append(f"<dt><pre>{line}</pre></dt>")

    def module(self, path, name):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        docstring = ast.get_docstring(tree)
        if not docstring:
            self.missing.append(name)
        self.body.append(f'<h1 id="{name}">{name}</h1>' + "".join(self.text(docstring or "", name)))
        self.body.append("<dl>")
        self.members(tree.body, name)
        self.body.append("</dl>")

    def complaints(self):
        for place in self.missing:
            yield f"{place} has no docstring"
        known = {".".join(place.split(".")[-2:]) for place in self.names}
        for place, name in self.references:
            if name not in known:
                yield f"{place} refers to {name}(), which there is not"


def main(stubs, output):
    reference = Reference()
    paths = sorted(stubs.rglob("*.pyi"), key=lambda path: (path.stem != "__init__", str(path)))
    names = {}
    for path in paths:
        parts = ("trawl", *path.relative_to(stubs).with_suffix("").parts)
        names[path] = ".".join(part for part in parts if part != "__init__")
    links = "".join(f'<a href="#{name}">{name}</a>' for name in names.values())
    reference.body.append(f"<nav>{links}</nav>")
    for path in paths:
        reference.module(path, names[path])
    output.write_text(PAGE.format(body="\n".join(reference.body)), encoding="utf-8")
    complaints = list(reference.complaints())
    for complaint in complaints:
        print(f"python_reference.py: {complaint}", file=sys.stderr)
    if not paths:
        print(f"python_reference.py: {stubs} has no stubs", file=sys.stderr)
    return 1 if complaints or not paths else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: scripts/python_reference.py STUBS OUTPUT")
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
