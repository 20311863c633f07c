"""The reference of the public interfaces: made without a warning, everything is in it, and each
mistake in a comment is found."""

import ast
import pathlib
import shutil
import subprocess
import xml.etree.ElementTree as xml

import trawl_testing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Calls whose text must be on the page of their class, so that comments reach the reader.
SHOWN = {
    "cpp/classtrawl_1_1Frontier.html": ["Admits the URLs that are new.", "Makes the lease expire"],
    "cpp/classtrawl_1_1GrowingBloomFilter.html": ["Layers of blocked filters"],
    "cpp/structtrawl_1_1UrlRequest.html": ["within a host, higher priorities are leased first"],
    "cpp/namespacetrawl.html": ["a value outside what the call or the key allows"],
    "c/trawl_8h.html": ["another process, or another handle, has the directory open",
                        "Admits the URLs that are new.", "Sets the defaults and struct_size."],
    "c/structtrawl__request.html": ["higher ones of a host are leased first"],
    "python.html": ["class Frontier", "def offer(", "Leases up to", "async def lease(self"],
}

# Sources with a mistake in each comment, and the complaint.
WRONG = {
    "include/trawl/wrong.h": """// A file.
#pragma once
namespace trawl {
// See Wrong::no_such_member and trawl/no_such_file.h.
struct Wrong {
  int member;  // \\nosuchcommand; Wrong::member is right, and so are <a href> and trawl/wrong.h
};
}  // namespace trawl
""",
    "include/trawl/trawl.h": """/* A file. */
/* See trawl_no_such_call(); trawl_wrong() is right. */
TRAWL_EXPORT void trawl_wrong(void);
#ifdef __cplusplus
#endif
""",
    "bindings/python/trawl/__init__.pyi": '''"""A module."""
class Undocumented: ...
class Wrong:
    """See Wrong.no_such_method() and Wrong.right()."""
    def right(self) -> None:
        """Right."""
''',
}
COMPLAINTS = ["Wrong::no_such_member", "no_such_file.h", "nosuchcommand", "trawl_no_such_call",
              "trawl.Undocumented has no docstring", "Wrong.no_such_method()"]


def make(output, *sources):
    return subprocess.run([ROOT / "scripts/api_reference.sh", output, *sources], timeout=240,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def is_documented(node):
    return any("".join(node.find(part).itertext()).strip()
               for part in ("briefdescription", "detaileddescription"))


def check_cpp(test, folder):
    """Every public type has a comment, and so has every call of a frontier."""
    types = 0
    for path in folder.glob("*.xml"):
        for compound in xml.parse(path).getroot().iter("compounddef"):
            name = compound.find("compoundname").text
            is_type = compound.get("kind") in ("class", "struct") and compound.get("prot") == "public"
            if is_type and name.startswith("trawl::"):
                types += 1
                test.check(is_documented(compound), f"{name} has no comment")
            for member in compound.iter("memberdef"):
                wanted = (member.get("kind") == "enum" and member.get("prot") == "public"
                          or member.get("kind") == "function" and name == "trawl::Frontier")
                if wanted and name.startswith("trawl"):
                    test.check(is_documented(member), f"{name}::{member.find('name').text} has no comment")
    test.check(types > 80, f"{types} types of C++")


def check_c(test, folder):
    """Every exported function, and every struct, has a comment."""
    functions = {}
    for path in folder.glob("*.xml"):
        for compound in xml.parse(path).getroot().iter("compounddef"):
            if compound.get("kind") == "struct":
                test.check(is_documented(compound), f"{compound.find('compoundname').text} has no comment")
            for member in compound.iter("memberdef"):
                if member.get("kind") == "function":
                    functions[member.find("name").text] = is_documented(member)
    exported = (ROOT / "bindings/c/exported_symbols.txt").read_text().split()
    test.check(len(exported) > 80, f"{len(exported)} exported symbols")
    for name in exported:
        test.check(functions.get(name), f"{name} has no comment" if name in functions else f"{name} is missing")


def check_python(test, page):
    text = page.read_text(encoding="utf-8")
    names = 0
    for path in (ROOT / "bindings/python/trawl").rglob("*.pyi"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                names += 1
                kind = "class" if isinstance(node, ast.ClassDef) else "def"
                test.check(f"{kind} {node.name}" in text, f"python.html: no {kind} {node.name}")
    test.check(names > 100, f"{names} names of Python")


def api_reference(test, directory, _):
    if not shutil.which("doxygen"):
        raise t.Skip("doxygen is missing")
    output = directory / "reference"
    made = make(output)
    test.check(made.returncode == 0 and "warning" not in made.stdout, "the reference", made.stdout)
    check_cpp(test, output / "xml/cpp")
    check_c(test, output / "xml/c")
    check_python(test, output / "python.html")
    for page, texts in SHOWN.items():
        shown = " ".join((output / page).read_text(encoding="utf-8").split())
        for text in texts:
            test.check(text in shown, f"{page} does not show: {text}")

    wrong = directory / "wrong"
    for name, text in WRONG.items():
        (wrong / name).parent.mkdir(parents=True, exist_ok=True)
        (wrong / name).write_text(text)
    made = make(directory / "wrong-reference", wrong)
    test.check(made.returncode == 1, f"mistakes: exit status {made.returncode}", made.stdout)
    for complaint in COMPLAINTS:
        test.check(complaint in made.stdout, f"not complained of: {complaint}", made.stdout)
    lines = [line for line in made.stdout.splitlines() if line.strip()]
    test.check(len(lines) == len(COMPLAINTS), "other complaints", made.stdout)


if __name__ == "__main__":
    t.main(api_reference, t.parser(__doc__).parse_args())
