"""What the documentation names must exist: commands and their flags, presets, tests, benches, config
keys and their values, files, identifiers, and what links lead to."""

import fnmatch
import json
import re
import shlex
import subprocess

FLAG = re.compile(r"^--?[a-z][\w-]*")
HELP_FLAG = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")
SHELL_WORDS = {"|", "||", "&&", ";", "(", ")", "&"}
SOURCES = ("*.h", "*.cc", "*.py", "*.sh", "*.txt", "*.cmake")
GTEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\s*\)")
# What looks like a name of ours and is not: placeholders, names of other people's.
FOREIGN = {"filter/x.cc", "tests/filter/x_test.cc", "url/links-48k.txt", "PascalCase", "snake_case",
           "kPascalCase", "feImage", "FastLocalBloomImpl", "url_aggregator"}
NOT_KEYS = {"h", "cc", "py", "toml", "jsonl", "txt", "md"}  # file names such as crawl.toml


def simple_commands(command):
    """The words of each simple command; of a command with a here-document those of its first line."""
    words = shlex.shlex(command.split("\n")[0] if "<<" in command else command, posix=True,
                        punctuation_chars="|&;()")
    words.whitespace_split = True
    found = [[]]
    for word in words:
        if word in SHELL_WORDS:
            found.append([])
        else:
            found[-1].append(word)
    return [each for each in found if each]


class Names:
    def __init__(self, root, trawl, build):
        self.root, self.trawl, self.build = root, str(trawl), build
        self.folders = sorted(each.name for each in root.iterdir()
                              if each.is_dir() and not each.name.startswith(".") and each.name != "build")
        files = [each for folder in self.folders for pattern in SOURCES
                 for each in (root / folder).rglob(pattern)]
        self.file_names = {each.name for each in files}
        texts = {each: each.read_text(errors="replace") for each in files}
        self.words = {each.stem for each in files}
        for each, text in texts.items():
            if each.name != "documentation_test.py":  # which has names that do not exist
                self.words.update(re.findall(r"\w+", text))
        self.tests = {f"{suite}.{name}" for each, text in texts.items()
                      if each.suffix == ".cc" for suite, name in GTEST.findall(text)}
        listed = self._output("ctest", "--test-dir", build, "-N")
        self.tests.update(re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE))
        self.presets = json.loads((root / "CMakePresets.json").read_text())
        self.benches = set(re.findall(r"add_executable\((\w+)", (root / "bench/CMakeLists.txt").read_text()))
        self.bench_text = "".join(text for each, text in texts.items() if each.parent == root / "bench")
        self.keys = set(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \|", (root / "docs/config.md").read_text(),
                                   re.MULTILINE))
        self.tables = {key.split(".")[0] for key in self.keys}
        self._read_help()

    def _output(self, *command):
        finished = subprocess.run([str(each) for each in command], capture_output=True, text=True,
                                  timeout=60, check=False)
        return finished.stdout + finished.stderr

    def _read_help(self):
        """`flags` and `helps` by the words of a command: ("filter", "build")."""
        self.flags, self.helps = {}, {}

        def read(words):
            text = self.helps[words] = self._output(self.trawl, *words, "--help")
            listed = text.split("Examples:")[0]
            self.flags[words] = set(HELP_FLAG.findall(listed))
            commands = re.search(r"^Subcommands:\n((?:  .*\n)+)", listed, re.MULTILINE)
            if commands:
                for name in re.findall(r"^  (\S+)", commands.group(1), re.MULTILINE):
                    read((*words, name))

        read(())

    # --- commands ---

    def of_command(self, command):
        """What is wrong with the names of a command."""
        try:
            commands = simple_commands(command)
        except ValueError as error:
            return [f"cannot be parsed: {error}"]
        return [complaint for words in commands for complaint in self._of_simple_command(words)]

    def is_command(self, text):
        word = text.split()[0] if text.split() else ""
        return word in ("trawl", "ctest", "cmake") or word in self.benches or \
            bool(re.match(r"(scripts|bench/peers)/[\w.]+$|build/\w+/(bench|tests)/", word))

    def _of_simple_command(self, words):
        for place, word in enumerate(words):
            name, rest = word.rsplit("/", 1)[-1], words[place + 1:]
            if word == "trawl" or word.endswith("/trawl"):
                return self._of_trawl(rest)
            if word == "ctest":
                return self._of_ctest(rest)
            if word == "cmake":
                return self._of_cmake(rest)
            if word == "bench/peers/run.py":
                return self._of_peers(rest)
            if word.startswith("scripts/"):
                return self._of_script(word, rest)
            if (word.startswith("build/") and "/bench/" in word) or word in self.benches:
                return self._of_bench(name, rest)
            if word.startswith("build/") and "/tests/" in word:
                return self._of_test_program(name, rest)
        return []

    def _of_trawl(self, words):
        command = ()
        while words and (*command, words[0]) in self.flags:
            command, words = (*command, words[0]), words[1:]
        text = " ".join(["trawl", *command])
        has_commands = any(len(each) > len(command) and each[:len(command)] == command
                           for each in self.flags)
        if has_commands and words and not words[0].startswith("-"):
            names = words[0].split("|")  # `trawl frontier dump|load`
            if not all((*command, name) in self.flags for name in names):
                return [f"there is no `{text} {words[0]}`"]
            return []
        complaints = []
        for place, word in enumerate(words):
            flag = FLAG.match(word)
            if flag and flag.group(0) not in self.flags[command]:
                complaints.append(f"`{text}` has no {flag.group(0)}")
            if flag and flag.group(0) == "--set" and place + 1 < len(words):
                key = words[place + 1].split("=")[0]
                if key not in self.keys and key != "KEY":
                    complaints.append(f"there is no config key {key}")
        return complaints

    def _preset(self, words, kind):
        if "--preset" not in words:
            return []
        name = words[words.index("--preset") + 1]
        known = [each["name"] for each in self.presets[kind] if not each.get("hidden")]
        return [] if name in known else [f"there is no preset {name} of {kind}"]

    def _of_ctest(self, words):
        complaints = self._preset(words, "testPresets")
        if "-R" in words:
            pattern = re.compile(words[words.index("-R") + 1])
            if not any(pattern.search(test) for test in self.tests):
                complaints.append(f"there is no test {pattern.pattern}")
        return complaints

    def _of_cmake(self, words):
        kind = "workflowPresets" if "--workflow" in words else \
            "buildPresets" if "--build" in words else "configurePresets"
        return self._preset(words, kind)

    def _of_script(self, script, words):
        path = self.root / script
        if not path.exists():
            return [f"there is no {script}"]
        text = path.read_text()
        return [f"{script} does not know {word}" for word in words
                if re.match(r"-*[a-z]", word) and not re.search(rf"(?<![\w-]){word}\b", text)]

    def _of_peers(self, words):
        text = self._output("python3", "-B", self.root / "bench/peers/run.py", "--help")
        flags = [word for word in words if FLAG.match(word)]
        complaints = [f"bench/peers/run.py has no {flag}" for flag in flags if flag not in text]
        if words and not re.search(rf"[{{,]{re.escape(words[0])}[,}}]", text):
            complaints.append(f"bench/peers/run.py has no part {words[0]}")
        if len(words) == 1 or (words and words[1].startswith("-")):
            complaints.append("bench/peers/run.py needs the folder of a build")
        return complaints

    def _of_bench(self, name, words):
        if name not in self.benches:
            return [f"there is no bench {name}"]
        complaints = []
        for place, word in enumerate(words):
            flag = FLAG.match(word)
            if not flag:
                continue
            if word.startswith("--benchmark_filter="):
                if not re.search(word.split("=", 1)[1], self.bench_text):
                    complaints.append(f"no benchmark is called {word}")
            elif not word.startswith("--benchmark_") and f'"{flag.group(0)}"' not in self.bench_text:
                complaints.append(f"{name} has no {flag.group(0)}")
            if word == "--only" and place + 1 < len(words):
                for part in words[place + 1].split(","):
                    if part != "..." and f'"{part}"' not in self.bench_text:
                        complaints.append(f"{name} has no part {part}")
        return complaints

    def _of_test_program(self, name, words):
        lists = (self.root / "tests").rglob("CMakeLists.txt")
        if not any(f"trawl_unit_test({name}\n" in path.read_text() for path in lists):
            return [f"there is no test program {name}"]
        complaints = []
        for word in words:
            if word.startswith("--gtest_filter="):
                pattern = word.split("=", 1)[1].lstrip("-")
                if not fnmatch.filter(self.tests, pattern):
                    complaints.append(f"there is no test {pattern}")
        return complaints

    def of_help(self):
        """What is wrong with the examples that --help shows."""
        for words, text in self.helps.items():
            examples = text.split("Examples:")[-1]
            for example in re.findall(r"^ +(trawl .*?)(?:  +.*)?$", examples, re.MULTILINE):
                for complaint in self.of_command(example):
                    yield f"trawl {' '.join(words)} --help: {example}: {complaint}"

    # --- prose ---

    def of_page(self, page):
        """What is wrong with the names in the prose of a page: pairs of line and complaint."""
        for line, span in page.spans():
            for complaint in self._of_span(page, span):
                yield line, f"`{span}`: {complaint}"
        for line, target in page.links():
            complaint = self._of_link(page, target)
            if complaint:
                yield line, complaint

    def _of_span(self, page, span):
        key = re.fullmatch(r"([a-z_]+)\.([a-z_]+)(?: = (.+))?", span)
        table = re.fullmatch(r"\[{1,2}([a-z]+)(?:\.([a-z]+))?\]{1,2}", span)
        if span in FOREIGN:
            return []
        if self.is_command(span):
            return self.of_command(span)
        if re.match(r"--[a-z]", span):
            return self._of_flags(page, span)
        if table and (table.group(1) not in self.tables or
                      (table.group(2) and f"{table.group(1)}.{table.group(2)}" not in self.keys)):
            return ["there is no such table in a config"]
        if key and key.group(1) in self.tables and key.group(2) not in NOT_KEYS:
            return self._of_key(f"{key.group(1)}.{key.group(2)}", key.group(3))
        return self._of_file(page, span) if "/" in span else self._of_word(page, span)

    def _of_flags(self, page, span):
        room = re.fullmatch(r"docs/(filter|frontier)-command\.md", page.name)
        flags = {flag for command, flags in self.flags.items() for flag in flags
                 if not room or command[:1] == (room.group(1),)}
        complaints = []
        for word in span.split():
            flag = FLAG.match(word)
            if flag and flag.group(0) not in flags and not self._is_flag_of_a_script(flag.group(0)):
                complaints.append(f"no command{' of this page' if room else ''} has {flag.group(0)}")
        return complaints

    def _is_flag_of_a_script(self, flag):
        return flag.startswith("--benchmark_") or f'"{flag}"' in self.bench_text or any(
            flag in path.read_text() for folder in ("scripts", "bench/peers", "examples")
            for path in (self.root / folder).iterdir() if path.is_file())

    def _of_key(self, key, value):
        if key not in self.keys:
            return ["there is no such config key"]
        if value is None or "..." in value:
            return []
        more = [] if key == "output.warc" or not key.startswith("output.") else ["--set", "output.warc=true"]
        text = self._output(self.trawl, "check-config", "/dev/null", "--set",
                            'crawl.seeds=["http://a.example/"]', "--set", "crawl.state_dir=state",
                            *more, "--set", f"{key}={value}")
        return [] if "/dev/null: ok" in text else [text.strip()]

    def _of_file(self, page, span):
        first = span.split("/")[0]
        is_header = first == "trawl" and span.endswith(".h")
        if not re.fullmatch(r"[\w./*-]+", span) or "..." in span or \
                not (is_header or first in self.folders):
            return []
        span = re.sub(r"\b(KIND|NAME)(?=\b|_)", "*", span)  # stands for a name to choose
        here = (self.root / page.name).parent
        for base in (self.root, self.root / "include", here):
            for pattern in (span.rstrip("/"), span + ".*"):
                if any(base.glob(pattern)):
                    return []
        return ["there is no such file"]

    def _of_word(self, page, span):
        """File names, and identifiers of C++: they occur in the sources."""
        if re.fullmatch(r"\w+\.(h|cc|py|sh)", span):
            return [] if span in self.file_names else ["there is no such file"]
        if not re.fullmatch(r"[A-Za-z_]\w*((::|\.)\w+)*(\(\))?", span):
            return []
        is_code = "::" in span or span.endswith("()") or \
            (re.search(r"[a-z]_[a-z]|[a-z][A-Z]", span) and page.name not in self.word_lists)
        missing = [word for word in re.findall(r"\w+", span) if is_code and word not in self.words]
        return [f"{', '.join(missing)}: not in the sources"] if missing else []

    word_lists = ("docs/canonical-keys.md",)  # a page that lists parameters of other people's URLs

    def _of_link(self, page, target):
        if re.match(r"[a-z]+:", target):
            return None
        path, _, anchor = target.partition("#")
        file = (self.root / page.name).parent / path
        if path and not file.exists():
            return f"{target}: a link to nothing"
        if anchor:
            other = page if not path else type(page)(path, file.read_text())
            if anchor not in other.anchors():
                return f"{target}: there is no such heading"
        return None
