"""Every command, config, snippet, name and link of README and docs works as it is written. The
commands run against loopback alone; a page with a mistake of each kind shows that they are found."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.request

import documented_commands as commands
import trawl_testing as t
from documentation_pages import NOT_RUN, PAGES, Needs
from documented_code import Code, program_of
from documented_names import Names
from local_internet import LocalInternet
from markdown_page import Page
from page_server import Server

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GLOBS = ("*.md", "docs/*.md", "*/README.md", "*/*/README.md", "bench/*.md")
HISTORY = {"CHANGELOG.md"}  # names what was there once

# A mistake of each kind, and a part of what must be said of it.
WRONG_PAGE = """# Wrong
A flag `trawl crawl --frsh`, a key `fetch.ca_fil`, a value `fetch.threads = 0`, `crawler/nothing.h`,
`Frontier::offerings`, `ctest --preset slow -R crash.none`, `frontier_bench --only nothing`,
[a](b.md), [c](#d).

```sh
trawl crawl my.toml --fresh
trawl filter build --fpr 2 crawled.txt
printf 'a\\n' | cat    # prints b
```
```console
$ printf '1 of 2\\n'
1 of 3
```
```sh
scripts/test.sh --none
```
```toml
[fetch]
thread = 1
```
```json
{"url":"http://a.example/","colour":"red"}
```
```cpp
#include <trawl/memory_frontier.h>
int main() {
  trawl::MemoryFrontier::create().value()->flush();
}
```
```cpp
auto filter = nothing();
```
```text
unknown
```
```
no language
```

    indented
"""
MISTAKES = (
    "`trawl crawl` has no --frsh", "fetch.ca_fil`: there is no such config key", "`fetch.threads = 0`: ",
    "`crawler/nothing.h`: there is no such file", "`Frontier::offerings`: offerings: not in",
    "there is no test crash.none",
    "frontier_bench has no part nothing", "b.md: a link to nothing", "#d: there is no such heading",
    "trawl crawl my.toml --fresh: exit status", "trawl filter build --fpr 2 crawled.txt: exit status",
    "cat    # prints b: prints something else", "printf '1 of 2\\n': prints something else",
    "scripts/test.sh does not know --none", 'unknown key "fetch.thread"',
    "no run writes a line with these keys",
    "[-Werror=unused-result]", "a snippet without surroundings", "a block of text that nothing checks",
    "a fence without a language", "code without a fence")


class Workplace:
    """The directory in which the blocks of a page run, and what is there for them."""

    def __init__(self, documentation, name, needs):
        self.root, self.build, self.options = ROOT, documentation.build, documentation.options
        self.documentation, self.needs = documentation, needs
        self.directory = documentation.directory / (name.replace("/", "_") + ".d")
        self.directory.mkdir()
        self.environment = dict(documentation.environment)
        self.substitutions = []
        self.samples = documentation.samples
        self.background = []

    def block(self, page, begin):
        return next(block for block in self.documentation.pages[page].blocks if block.text.startswith(begin))

    def write(self, name, text):
        (self.directory / name).write_text(text)

    def execute(self, *command, status=0):
        try:
            finished = subprocess.run(command, cwd=self.directory, env=self.environment, text=True,
                                      timeout=commands.TIMEOUT, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{' '.join(command[1:])}: does not end") from None
        if finished.returncode != status:
            raise RuntimeError(f"{' '.join(command[1:])}: exit status {finished.returncode}, not {status}\n"
                               f"{finished.stdout}")
        return finished.stdout

    def run(self, *arguments, status=0):
        return self.execute(self.options.trawl, *arguments, status=status)

    def trawl(self, *arguments):
        """By way of the local internet."""
        return self.execute(shutil.which("trawl", path=self.environment["PATH"]), *arguments)

    def serve_sample_site(self, options):
        port = t.free_port()
        site = subprocess.Popen(
            [self.options.trawl, "sample-site", *re.sub(r"--port \d+", "", options).split(),
             "--port", str(port)], cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.background.append(site)

        def listens():
            if site.poll() is not None:
                raise RuntimeError(f"trawl sample-site {options}: exit status {site.returncode}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        t.wait_until(listens, "the sample site to listen")
        return port

    def as_run(self, text):
        for old, new in self.substitutions:
            text = text.replace(old, new)
        return text

    def shell(self, command):
        yield from self.run_commands([(command, None)])

    def run_commands(self, listed):
        """Complaints of the commands of one block, which share a shell."""
        listed = [(self.as_run(command), shown) for command, shown in listed]
        results, rest = commands.run_commands([command for command, _ in listed], self.directory,
                                              self.environment)
        for place, (command, shown) in enumerate(listed):
            if place >= len(results):
                yield f"{command}: does not end\n{rest[-2000:]}"
                return
            status, printed = results[place]
            expected = next((code for begin, code in self.needs.exits.items()
                             if command.startswith(begin)), 0)
            is_asked = place + 1 < len(listed) and listed[place + 1][0] == "echo $?"
            if status != expected and not is_asked and not (status == 141 and "| head" in command):
                yield f"{command}: exit status {status}, not {expected}\n" + "\n".join(printed[-20:])
            shown = shown and [self.as_run(line) for line in shown]
            if shown and not commands.output_agrees(shown, printed, self.needs.numbers):
                yield f"{command}: prints something else:\n" + "\n".join(printed[:40])

    def end(self):
        for process in self.background:
            process.kill()
            process.wait()
        for file in self.directory.rglob("*.jsonl"):
            self.documentation.written.setdefault(file.name, []).extend(file.read_text().splitlines())


class Documentation:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        self.build = pathlib.Path(options.trawl).resolve().parent.parent
        self.pages = {}
        for glob in GLOBS:
            for path in ROOT.glob(glob):
                name = str(path.relative_to(ROOT))
                if name not in HISTORY and not name.startswith("build/"):
                    self.pages[name] = Page(name, path.read_text(encoding="utf-8"))
        self.names = Names(ROOT, options.trawl, self.build)
        self.code = Code(self.build, directory, options.compiler)
        self.complaints = []
        self.samples = []   # lines of JSON that commands print
        self.written = {}   # lines of files of JSON lines, by the name of the file
        self.shown = []     # blocks of JSON, looked at in the end
        self.not_run = set()
        self.environment = {}

    def complain(self, place, complaint):
        self.complaints.append(f"{place}: {complaint}")

    def use(self, internet):
        """A `trawl` and a curl whose requests go to the local internet."""
        programs = self.directory / "bin"
        programs.mkdir()
        proxy = f"http://{internet.address}"
        (programs / "trawl").write_text(f"""#!/bin/bash
case $1,$2 in
crawl,* | resume,*) more=(--set fetch.proxy={proxy} --set fetch.ca_file={internet.certificate}
                          --set politeness.delay=5ms) ;;
links,http*://127.* | robots,http*://127.* | sitemap,http*://127.*) ;;
links,http* | robots,http* | sitemap,http*) echo "only hosts of loopback may be asked" >&2; exit 99 ;;
esac
exec -a trawl "{self.options.trawl}" "$@" "${{more[@]}}"
""")
        (programs / "trawl").chmod(0o755)
        self.environment = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            "http_proxy": proxy, "https_proxy": proxy, "no_proxy": "127.0.0.1",
            "CURL_CA_BUNDLE": str(internet.certificate)}

    def check_page(self, page):
        needs = PAGES.get(page.name, Needs())
        work = Workplace(self, page.name, needs)
        for line, complaint in self.names.of_page(page):
            self.complain(f"{page.name}:{line}", complaint)
        try:
            if needs.setup:
                needs.setup(work)
            for block in page.blocks:
                for begin, prepare in needs.before.items():
                    if block.text.startswith(begin):
                        prepare(work)
                for complaint in self.of_block(work, block):
                    self.complain(block.place, complaint)
        except (RuntimeError, ValueError) as error:
            self.complain(page.name, str(error))
        finally:
            work.end()

    def of_block(self, work, block):
        if block.language in ("sh", "console"):
            return self.of_commands(work, block)
        handlers = {"toml": self.of_toml, "cpp": self.of_cpp, "c": self.of_c, "python": self.of_python,
                    "text": self.of_text, "json": self.of_json,
                    "cmake": self.of_cmake, "indented": lambda *_: ["code without a fence"],
                    "": lambda *_: ["a fence without a language"]}
        return handlers.get(block.language, lambda *_: [f"nothing checks {block.language}"])(work, block)

    def of_commands(self, work, block):
        to_run = []
        for command, shown in commands.commands_of(block):
            yield from (f"{command}: {complaint}" for complaint in self.names.of_command(command))
            why_not = next((pattern for pattern, _ in NOT_RUN if re.match(pattern, command)), None)
            if why_not:
                self.not_run.add(why_not)
            elif re.match(r"trawl sample-site (?!.*--list)", command):
                port = work.serve_sample_site(command.split("#")[0].removeprefix("trawl sample-site"))
                work.substitutions.append((re.search(r"--port (\d+)", command).group(1), str(port)))
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20).close()
            else:
                to_run.append((command, shown))
        yield from work.run_commands(to_run)

    def of_toml(self, work, block):
        if block.first_line.startswith("# ") and block.first_line.endswith(".toml"):
            name, more = block.first_line[2:], []
            work.write(name, block.text)
            fragments = [name]
        else:
            more = ["--set", 'crawl.seeds=["http://a.example/"]', "--set", "crawl.state_dir=unused"]
            fragments = []
            texts = block.text.split("\n\n") if work.needs.split_toml else [block.text]
            for number, text in enumerate(texts):
                fragments.append(f"fragment{number}.toml")
                work.write(fragments[-1], text)
        for name in fragments:
            try:
                work.run("check-config", name, *more)
            except RuntimeError as error:
                yield str(error)

    def of_text(self, work, block):
        for begin, check in work.needs.texts.items():
            if block.text.startswith(begin):
                return [] if isinstance(check, str) else check(work, block)
        return ["a block of text that nothing checks: add a check to documentation_pages.py"]

    def of_json(self, _, block):
        self.shown.append(block)
        return []

    def of_cpp(self, work, block):
        if block.page == "README.md":
            return []  # with its lines for CMake, below
        try:
            self.code.run(self.code.compile(block), cwd=work.directory)
        except RuntimeError as error:
            return [str(error)]
        return []

    def of_c(self, work, block):
        try:
            program = self.code.compile_c(block)
            for _ in range(2):
                self.code.run(program, cwd=work.directory)
        except RuntimeError as error:
            return [str(error)]
        return []

    def of_python(self, work, block):
        module = self.build / "bindings" / "python"
        try:
            for _ in range(2):
                self.code.run("/usr/bin/python3", "-B", "-c", block.text, cwd=work.directory,
                              env={**os.environ, "PYTHONPATH": str(module)})
        except RuntimeError as error:
            return [str(error)]
        return []

    def of_cmake(self, work, block):
        """README's scraper, built as README says, fetches a site once, and nothing when it is run again."""
        site = Server()
        links = "".join(f'<a href="https://example.com/{path}">' for path in ("", "one", "two"))
        for path in ("/", "/one", "/two"):
            site.serve(path, links.encode())
        snippet = next(each for each in self.pages["README.md"].blocks if each.language == "cpp")
        try:
            program = self.code.build_project(block.text, program_of(snippet), work.directory / "project")
            environment = {**os.environ, "SITE_PORT": str(site.http.server_port)}
            for _ in range(2):
                self.code.run(program, cwd=work.directory, env=environment)
        except RuntimeError as error:
            return [str(error)]
        finally:
            site.stop()
        asked = sorted(path for path, _ in site.requests)
        return [] if asked == ["/", "/one", "/two"] else [f"the scraper asks for {asked}"]

    def check_json(self):
        lines = [*self.samples, *(line for each in self.written.values() for line in each)]
        shapes = [commands.shape_of(value) for value in map(commands.read_json, lines) if value]
        for block in self.shown:
            for line in block.text.splitlines():
                shown = commands.read_json(line)
                if shown is None:
                    self.complain(block.place, f"not a JSON object: {line}")
                elif not any(commands.shapes_agree(commands.shape_of(shown), shape) for shape in shapes):
                    self.complain(block.place, f"no run writes a line with these keys: {line[:200]}")

    def check_keys(self):
        """Tables of keys have the keys of the lines, in order."""
        for name, needs in PAGES.items():
            for heading, file in needs.keys.items():
                written = {}
                for line in self.written.get(file, []):
                    written.update(dict.fromkeys(json.loads(line)))
                table = self.pages[name].keys_of_table(heading)
                if set(table) != set(written):
                    self.complain(f"{name}, {heading}", f"the table has {table}, lines have {list(written)}")

    def check_packages(self):
        """docs/dependencies.md has the packages that scripts/deps.sh installs."""
        lists = re.findall(r"^\w+_packages=\((.*?)\)$", (ROOT / "scripts/deps.sh").read_text(),
                           re.MULTILINE | re.DOTALL)
        packages = {package for text in lists for package in re.sub("#.*", "", text).split()}
        page = (ROOT / "docs/dependencies.md").read_text()
        for package in sorted(packages):
            if not re.search(rf"[ ,]{re.escape(package)}[ ,]", page):
                self.complain("docs/dependencies.md", f"the package {package} of scripts/deps.sh is missing")
        self.test.check(len(packages) > 30, f"scripts/deps.sh has {len(packages)} packages")

    def check_all(self):
        for page in self.pages.values():
            began = time.monotonic()
            self.check_page(page)
            print(f"{page.name}: {len(page.blocks)} blocks, {time.monotonic() - began:.1f} s", flush=True)
        self.check_json()
        self.check_keys()
        self.check_packages()
        for complaint in self.names.of_help():
            self.complain("--help", complaint)
        for pattern, why in NOT_RUN:
            if pattern not in self.not_run:
                self.complain("documentation_pages.py", f"no command is like {pattern} ({why})")
        for name in PAGES:
            if name not in self.pages:
                self.complain("documentation_pages.py", f"there is no page {name}")
        for complaint in self.complaints:
            self.test.check(False, complaint)
        blocks = sum(len(page.blocks) for page in self.pages.values())
        self.test.check(blocks > 60, f"{blocks} blocks of code in {len(self.pages)} pages")

    def check_mistakes(self):
        """Each mistake of the wrong page is found."""
        self.complaints, self.shown, before = [], [], self.test.failures
        page = self.pages["wrong.md"] = Page("wrong.md", WRONG_PAGE)
        self.check_page(page)
        self.check_json()
        for mistake in MISTAKES:
            self.test.check(any(mistake in complaint for complaint in self.complaints),
                            f"the wrong page: not found: {mistake}")
        self.test.check(len(self.complaints) == len(MISTAKES) and self.test.failures == before,
                        "the wrong page: other complaints than mistakes", "\n".join(self.complaints))


def documentation(test, directory, options):
    with LocalInternet(directory) as internet:
        pages = Documentation(test, directory, options)
        pages.use(internet)
        pages.check_all()
        pages.check_mistakes()
        hosts = internet.hosts()
        test.check("example.com" in hosts, f"the local internet was asked for {hosts} alone")


if __name__ == "__main__":
    parser = t.parser(__doc__)
    parser.add_argument("--compiler", default="c++")
    t.main(documentation, parser.parse_args())
