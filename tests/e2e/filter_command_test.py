"""`trawl filter`: lines added are found, errors are refused, and the exit codes are right."""

import json
import os
import re
import signal
import subprocess
import sys

import trawl_testing as t

KINDS = ("blocked", "growing", "classic", "counting", "cuckoo")
KEY = "000102030405060708090a0b0c0d0e0f"
HEADER_BYTES = 4096
CHUNK_BYTES = 64 * 1024
MIB = 1 << 20

SELECTED, NONE_SELECTED, TROUBLE = 0, 1, 2


def urls(what, count):
    return [f"https://example.org/{what}/{i}" for i in range(count)]


def text_of(lines):
    return "".join(f"{line}\n" for line in lines).encode()


class FilterCommand:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        self.count = 0

    # --- helpers ---

    def new_path(self, suffix):
        self.count += 1
        return self.directory / f"{self.count}{suffix}"

    def file(self, contents):
        path = self.new_path(".txt")
        path.write_bytes(contents if isinstance(contents, bytes) else text_of(contents))
        return path

    def command(self, *arguments):
        return [self.options.trawl, "filter", *map(str, arguments)]

    def run(self, *arguments, stdin=b"", **more):
        return subprocess.run(self.command(*arguments), input=stdin, capture_output=True,
                              cwd=self.directory, timeout=120, check=False, **more)

    def expect(self, finished, code, what, *patterns):
        """The exit code, and what standard error must say."""
        said = finished.stderr.decode(errors="replace")
        self.test.check(finished.returncode == code,
                        f"{what}: exit code {finished.returncode}, expected {code}", said)
        for pattern in patterns:
            self.test.check(re.search(pattern, said, re.IGNORECASE),
                            f"{what}: the message does not match {pattern!r}", said)
        return finished

    def build(self, lines, *arguments):
        path = self.new_path(".filter")
        finished = self.run("build", "-o", path, *arguments, stdin=text_of(lines))
        self.expect(finished, t.EXIT_DONE, f"build {' '.join(map(str, arguments))}")
        return path

    def check(self, path, lines, *arguments):
        """The lines that are printed."""
        finished = self.run("check", path, *arguments, stdin=text_of(lines))
        printed = finished.stdout.decode().split("\n")[:-1]
        code = SELECTED if printed else NONE_SELECTED
        what = f"check {path.name} {' '.join(arguments)}"
        self.expect(finished, code, what)
        # A sanitizer's end would pass for "none selected".
        self.test.check(not finished.stderr, f"{what}: not silent", finished.stderr)
        return printed

    def info(self, path, *arguments):
        finished = self.run("info", path, "--json", *arguments)
        self.expect(finished, t.EXIT_DONE, f"info {path.name}")
        return json.loads(finished.stdout)

    def run_measured(self, *arguments):
        """What it printed, and its peak memory in bytes: as the child of a small process, since a
        new process starts with the peak of the one it was forked from."""
        report = self.new_path(".memory")
        command = [sys.executable, "-c", MEASURE, report, *self.command(*arguments)]
        finished = subprocess.run(command, capture_output=True, cwd=self.directory, timeout=120,
                                  check=False)
        self.expect(finished, t.EXIT_DONE, " ".join(map(str, arguments)))
        return finished.stderr.decode(), int(report.read_text()) * 1024

    # --- what is built is found ---

    def every_kind(self):
        inside, outside = urls("in", 200_000), urls("out", 200_000)
        for kind in KINDS:
            path = self.build(inside, "--kind", kind, "--capacity", "200K", "--fpr", 0.01)
            self.test.check(self.check(path, inside) == inside, f"{kind}: not all lines found")
            wrong = len(self.check(path, outside))
            # A growing filter keeps some of its budget for layers to come, and a cuckoo filter's
            # tags have a whole number of bits.
            least = 200 if kind in ("growing", "cuckoo") else 1700
            self.test.check(least <= wrong <= 2300, f"{kind}: {wrong} false positives of 2000")
            info = self.info(path)
            self.test.check(info["kind"] == kind, f"{kind}: info says {info['kind']}")
            self.test.check(197_000 <= info["inserted"] <= 200_000, f"{kind}: keys in", info)
            self.test.check(info["target_rate"] == 0.01, f"{kind}: the rate requested", info)
            self.test.check(info["file_bytes"] == path.stat().st_size, f"{kind}: file size", info)
            self.test.check(0.001 < info["current_rate"] < 0.0105, f"{kind}: the rate now", info)
            self.test.check(not info["overfull"], f"{kind}: overfull", info)
            self.test.check(self.info(path, "--verify")["verified"], f"{kind}: verified")

    def growing_beyond_its_first_layer(self):
        inside, outside = urls("in", 200_000), urls("out", 200_000)
        path = self.build(inside, "--kind", "growing", "--capacity", "10e3", "--fpr", 0.01)
        info = self.info(path)
        self.test.check(info["layers"] > 1 and not info["overfull"], "it did not grow", info)
        self.test.check(self.check(path, inside) == inside, "grown: not all lines found")
        self.test.check(info["better_capacity"] == 200_000, "what would have been better", info)
        wrong = len(self.check(path, outside))
        self.test.check(200 <= wrong <= 2300, f"grown: {wrong} false positives of 2000")
        right = self.info(self.build(inside, "--kind", "growing", "--capacity", "300e3"))
        self.test.check(right["better_capacity"] is None and right["layers"] == 1,
                        "one that is large enough", right)
        default = self.info(self.build(urls("in", 10)))
        self.test.check(default["kind"] == "growing" and default["target_rate"] == 1e-6,
                        "the default without a capacity", default)
        default = self.info(self.build(urls("in", 10), "--capacity", "2.5K"))
        self.test.check(default["kind"] == "blocked" and default["capacity"] == 2500,
                        "the default with a capacity", default)

    def check_and_invert_partition(self):
        inside, outside = urls("in", 5000), urls("out", 5000)
        mixed = [line for pair in zip(inside, outside) for line in pair]
        for kind in KINDS:
            path = self.build(inside, "--kind", kind, "--capacity", 5000, "--fpr", 0.05)
            found, absent = self.check(path, mixed), self.check(path, mixed, "--invert")
            selected = set(found)
            self.test.check(found == [line for line in mixed if line in selected],
                            f"{kind}: the lines are not in order")
            self.test.check(absent == [line for line in mixed if line not in selected],
                            f"{kind}: --invert does not print the others")
            self.test.check(set(inside) <= selected, f"{kind}: lines lost")
            for arguments, expected in ((["-c"], found), (["-c", "-v"], absent)):
                finished = self.run("check", path, *arguments, stdin=text_of(mixed))
                self.test.check(finished.stdout.decode() == f"{len(expected)}\n",
                                f"{kind}: check {arguments}", finished.stdout)

    def lines(self):
        longest = b"x" * (16 * MIB)
        first = self.file(b"unix\ndos\r\n\n\r\nzero\0byte\n")
        second = self.file(b"\xff\xfe raw\n" + longest + b"\r\nno end")
        path = self.new_path(".filter")
        finished = self.run("build", "-o", path, "--capacity", 100, first, "-", second,
                            stdin=b"from stdin\n")
        self.expect(finished, t.EXIT_DONE, "several inputs", r"\b7 lines")
        keys = [b"unix", b"dos", b"zero\0byte", b"from stdin", b"\xff\xfe raw", longest, b"no end"]
        finished = self.run("check", path, stdin=b"\r\n".join(keys))
        self.test.check(finished.stdout == b"\n".join(keys) + b"\n", "not the keys of the lines")
        for absent in (b"dos\r", b"zero", b"x", b" "):
            finished = self.run("check", path, stdin=absent + b"\r\n")
            self.expect(finished, NONE_SELECTED, f"{absent!r} is not a key")
        too_long = self.file(b"a\n\nb\n" + longest + b"x\nc\n")
        for arguments in (["build", "-o", self.new_path(".filter")], ["check", path]):
            code = TROUBLE if arguments[0] == "check" else t.EXIT_FAILURE
            self.expect(self.run(*arguments, too_long), code, f"{arguments[0]}: a line too long",
                        re.escape(f"{too_long}:4: "), "16 MiB")

    # --- sizes, before anything is built ---

    def sizes(self, *arguments):
        """The tables, each as {kind: row}."""
        finished = self.run("size", "--json", *arguments)
        self.expect(finished, t.EXIT_DONE, f"size {' '.join(map(str, arguments))}")
        return [{row["kind"]: row for row in table["filters"]}
                for table in json.loads(finished.stdout)["tables"]]

    def expect_built(self, row, lines, *arguments):
        """`build` with these arguments makes what `size` said."""
        what = f"{row} and build {arguments}"
        path = self.build(lines, "--kind", row["kind"], *arguments)
        info = self.info(path)
        for key in ("memory_bytes", "hashes", "capacity", "target_rate"):
            self.test.check(info[key] == row[key], f"{what}: another {key}", info)
        self.test.check(row["bits"] == 8 * info["memory_bytes"], f"{what}: bits", info)
        if len(lines) == row["capacity"]:
            self.test.check(info["file_bytes"] == row["file_bytes"], f"{what}: the file", info)
            self.test.check(abs(info["current_rate"] / row["rate"] - 1) < 0.03,
                            f"{what}: another rate", info)
        return path

    def what_size_says_is_built(self):
        lines = urls("in", 100_000)
        table, = self.sizes("--capacity", "100K", "--fpr", "1e-3")
        self.test.check(list(table) == list(KINDS), "the kinds", table)
        for row in table.values():
            self.expect_built(row, lines, "--capacity", "100K", "--fpr", "1e-3")
        for arguments, bits, hashes in (
                (["--bits", 2 << 24, "--hashes", 6], 2 << 24, 6),
                (["--bits-per-key", 20, "--hashes", 14], 2_000_384, 14),
                (["--bits-per-key", "20"], 2_000_384, 14),
                (["--bits-per-key", "9.59"], 959_488, 7)):
            table = self.sizes("--capacity", "100K", *arguments)[0]
            classic = table["classic"]
            self.test.check((classic["bits"], classic["hashes"]) == (bits, hashes),
                            f"size {arguments}", classic)
            self.expect_built(classic, lines, "--capacity", "100K", *arguments)
            for kind in set(KINDS) - {"classic"}:
                row = table[kind]
                self.test.check(row["bits"] <= bits, f"size {arguments}: {kind} is larger", row)
                self.expect_built(row, ["a"], "--capacity", "100K", "--fpr", row["target_rate"])
        classic = self.sizes("--capacity", "100K", "--fpr", 0.01, "--hashes", 3)[0]["classic"]
        self.expect_built(classic, lines, "--capacity", "100K", "--fpr", 0.01, "--hashes", 3)
        classic = self.sizes("--bits", "1M", "--hashes", 6, "--fpr", 0.01)[0]["classic"]
        path = self.expect_built(classic, ["a"], "--bits", "1M", "--hashes", 6, "--fpr", 0.01)
        like = self.info(self.build(["b"], "--like", path))
        for key in ("memory_bytes", "hashes", "capacity", "target_rate", "hash_key"):
            self.test.check(like[key] == self.info(path)[key], f"--like: another {key}", like)
        both = self.new_path(".filter")
        self.expect(self.run("merge", "-o", both, path, path), t.EXIT_DONE, "merge them")

    def what_fits(self):
        fitting, lowest = self.sizes("--capacity", "800K", "--max-memory", "1MiB", "--bits-per-key",
                                     "10")[1:]
        for kind, row in fitting.items():
            self.test.check(row["capacity"] == 838_860 and row["memory_bytes"] <= MIB,
                            f"{kind}: 10 bits a key in 1 MiB", row)
        for kind, row in lowest.items():
            self.test.check(row["capacity"] == 800_000 and 0.8 * MIB < row["memory_bytes"] <= MIB,
                            f"{kind}: 800,000 keys in 1 MiB", row)
            self.expect_built(row, ["a"], "--capacity", "800K", "--fpr", row["target_rate"])
        most, = self.sizes("--max-memory", "1MiB", "--fpr", "0.01")
        for kind, row in most.items():
            self.expect_built(row, ["a"], "--capacity", row["capacity"], "--fpr", "0.01")
            more = self.sizes("--capacity", row["capacity"] + 1, "--fpr", "0.01")[0][kind]
            self.test.check(row["memory_bytes"] <= MIB < more["memory_bytes"],
                            f"{kind}: not the most keys in 1 MiB", (row, more))

    def sizes_as_text(self):
        finished = self.run("size", "--capacity", "10G", "--fpr", "1e-4", "--bits-per-key", 20,
                            "--hashes", 14, "--max-memory", "24GiB")
        self.expect(finished, t.EXIT_DONE, "size as text")
        text = finished.stdout.decode()
        for pattern in (r"^10000000000 keys at a false-positive rate of 0.0001:$",
                        r"^classic +10000000000 +200000000000 +20.00 +14 +6.71e-05 +25000.0 +23841.9 ",
                        r"^blocked +10000000000 +\d+ +22.17 +11 +0.0001 +27708.1 +26424.5 ",
                        r"24.0 GiB \(25769803776 bytes\)"):
            self.test.check(re.search(pattern, text, re.MULTILINE), f"no {pattern}", text)
        # A kind that cannot be has a row that says why.
        finished = self.run("size", "--capacity", 1000, "--fpr", "1e-12")
        self.expect(finished, t.EXIT_DONE, "a rate that cuckoo cannot have")
        self.test.check(re.search(rb"^cuckoo +impossible: .* 32 bits", finished.stdout,
                                  re.MULTILINE), "cuckoo: why", finished.stdout)

    def senseless_sizes(self):
        output = self.new_path(".filter")
        path = self.build(["a"], "--kind", "classic", "--capacity", 100)
        for arguments, *patterns in (
                (["size"], "--capacity N", "--max-memory SIZE"),
                (["size", "--fpr", "0.1"], "--capacity N"),
                (["size", "--capacity", 10, "--fpr", 2], "--fpr", "below 1"),
                (["size", "--capacity", 0], "--capacity", "at least 1"),
                (["size", "--capacity", 10, "--bits-per-key", 0], "--bits-per-key", "above 0"),
                (["size", "--capacity", 10, "--bits-per-key=-1"], "--bits-per-key", "above 0"),
                (["size", "--capacity", 10, "--bits-per-key", "nan"], "--bits-per-key"),
                (["size", "--capacity", 10, "--bits-per-key", "few"], "--bits-per-key", "19.2"),
                (["size", "--capacity", 10, "--hashes", 0], "--hashes", "from 1 to 64"),
                (["size", "--capacity", 10, "--hashes", 65], "--hashes", "from 1 to 64"),
                (["size", "--capacity", 10, "--hashes", "1.5"], "--hashes", "whole number"),
                (["size", "--capacity", 10, "--bits", 0], "--bits", "at least 1"),
                (["size", "--capacity", 10, "--bits", "2<<24"], "--bits", "number of bits"),
                (["size", "--capacity", 10, "--bits", 10, "--bits-per-key", 3], "give one"),
                (["size", "--max-memory", "0MiB"], "--max-memory", "not the size of a filter"),
                (["size", "--max-memory", "much"], "--max-memory", "512MiB"),
                (["size", "--capacity", "1e18", "--fpr", "1e-15"], "bytes"),
                (["size", "--capacity", 10, "words"], "words"),
                (["build", "-o", output, "--capacity", 10, "--hashes", 3], "--kind classic"),
                (["build", "-o", output, "--bits", 1000], "--kind classic"),
                (["build", "-o", output, "--kind", "cuckoo", "--capacity", 10, "--bits-per-key", 9],
                 "cuckoo", "--kind classic"),
                (["build", "-o", output, "--kind", "classic", "--bits-per-key", 9],
                 "needs --capacity"),
                (["build", "-o", output, "--kind", "classic", "--capacity", 10, "--bits", 9,
                  "--bits-per-key", 9], "give one"),
                (["build", "-o", output, "--kind", "classic", "--capacity", 10, "--bits", 9,
                  "--fpr", 0.1], "--fpr", "--bits", "leave out --fpr"),
                (["build", "-o", output, "--kind", "classic", "--capacity", "1M", "--bits", 1000],
                 "finds every key", "more bits"),
                (["build", "-o", output, "--like", path, "--hashes", 3], "--hashes", "--like")):
            finished = self.run(*arguments)
            self.expect(finished, t.EXIT_USAGE, " ".join(map(str, arguments)), *patterns)
            self.test.check(not finished.stdout, f"{arguments}: it printed", finished.stdout)
        self.test.check(not output.exists(), "senseless sizes wrote a file")
        with open("/dev/full", "wb", buffering=0) as full:
            finished = subprocess.run(self.command("size", "--capacity", 10), stdout=full,
                                      check=False, stderr=subprocess.PIPE, timeout=60)
            self.expect(finished, t.EXIT_NO_SPACE, "size to a full disk", "standard output")

    # --- exit codes and pipes ---

    def exit_codes_in_a_shell(self):
        path = self.build(["known"], "--capacity", 100)
        script = """
            for line in known unknown; do
                if printf '%s\\n' "$line" | "$1" filter check -q "$2"; then echo "$line yes"
                else echo "$line no"; fi
            done
            "$1" filter check -q "$2" /no/such/file 2> /dev/null; echo "$?"
            "$1" filter check -q /no/such/filter < /dev/null 2> /dev/null; echo "$?"
            "$1" filter check --no-such-option "$2" 2> /dev/null; echo "$?"
            printf 'known\\n' | "$1" filter check -v "$2"; echo "$?"
        """
        finished = subprocess.run(["sh", "-c", script, "sh", self.options.trawl, str(path)],
                                  capture_output=True, text=True, check=False, timeout=60)
        self.test.check(finished.stdout.split("\n") ==
                        ["known yes", "unknown no", "2", "2", "2", "1", ""],
                        "the exit codes of check", finished.stdout + finished.stderr)

    def pipes(self):
        path = self.build(["known"], "--capacity", 100)
        with subprocess.Popen(self.command("check", path), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as check:
            for _ in range(3):  # each line is answered before the next is there
                check.stdin.write(b"unknown\nknown\n")
                check.stdin.flush()
                self.test.check(check.stdout.readline() == b"known\n", "no answer")
        with subprocess.Popen(self.command("check", "-q", path), stdin=subprocess.PIPE) as check:
            check.stdin.write(b"unknown\nknown\n")
            check.stdin.flush()
            t.wait_until(lambda: check.poll() is not None, "-q to end at the first line")
            self.test.check(check.returncode == SELECTED, "-q: exit code", check.returncode)
        many = self.file(["known"] * 100_000)
        with subprocess.Popen(self.command("check", path, many), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as check:
            check.stdout.readline()
            check.stdout.close()
            said = check.stderr.read()
        self.test.check(not said, "a closed pipe is not an error", said)
        self.test.check(check.returncode in (TROUBLE, -signal.SIGPIPE), "a closed pipe: exit code",
                        check.returncode)
        with open("/dev/full", "wb", buffering=0) as full:
            for arguments, code in ((["check", path, many], TROUBLE),
                                    (["check", "-c", path, many], TROUBLE),
                                    (["info", path], t.EXIT_NO_SPACE)):
                finished = subprocess.run(self.command(*arguments), stdout=full, check=False,
                                          stderr=subprocess.PIPE, timeout=60)
                self.expect(finished, code, f"{arguments[0]} to a full disk", "space",
                            "standard output")

    def reports(self):
        lines = self.file(["a", "b", "b"])
        path = self.new_path(".filter")
        finished = self.run("build", "-o", path, "--capacity", 100, lines)
        self.expect(finished, t.EXIT_DONE, "the summary", "3 lines, 1 of them already present", "2 keys")
        self.test.check(not finished.stdout, "build prints to standard output", finished.stdout)
        for kind in KINDS:
            finished = self.run("build", "-o", path, "--force", "--kind", kind, "--capacity", 100,
                                lines)
            self.expect(finished, t.EXIT_DONE, f"{kind}: the summary", "3 lines, 1 of them already")
        finished = self.run("build", "-o", path, "--capacity", 100, "--force", "-q", lines)
        self.test.check(finished.returncode == 0 and not finished.stderr, "-q is not quiet",
                        finished.stderr)
        many = urls("in", 30_000)
        for quiet in ([], ["-q"]):
            path = self.new_path(".filter")
            finished = self.run("build", "-o", path, "--capacity", "1K", "--fpr", "1e-3", *quiet,
                                stdin=text_of(many))
            self.expect(finished, t.EXIT_DONE, "an overfull filter", "warning.*overfull",
                        r"--capacity of at least \d+")
        finished = self.run("info", path)
        self.expect(finished, t.EXIT_DONE, "info of an overfull filter", "warning.*overfull")
        text = finished.stdout.decode()
        self.test.check(re.search(r"^capacity +1000 keys$", text, re.MULTILINE) and
                        re.search(r"^target rate +0.001$", text, re.MULTILINE), "info", text)
        self.test.check(self.check(path, many) == many, "overfull: not all lines found")

    # --- changes of filters ---

    def change(self, what, path, lines, *arguments):
        finished = self.run(what, path, *arguments, stdin=text_of(lines))
        self.expect(finished, t.EXIT_DONE, f"{what} {path.name}")
        return finished.stderr.decode()

    def added_and_erased(self):
        first, second = urls("first", 20_000), urls("second", 20_000)
        for kind in KINDS:
            sizing = ["--kind", kind, "--capacity", "50K", "--fpr", "1e-6", "--key", KEY]
            path = self.build(first, *sizing)
            path.chmod(0o640)
            said = self.change("add", path, [*first[:10], *second])
            self.test.check("20010 lines, 10 of them already present" in said, f"{kind}: added", said)
            self.test.check(path.stat().st_mode & 0o777 == 0o640, f"{kind}: the permissions")
            self.test.check(self.check(path, first + second, "--verify") == first + second,
                            f"{kind}: lines that were added are not found")
            self.test.check(39_990 <= self.info(path)["inserted"] <= 40_000, f"{kind}: keys in")
            if kind != "counting":  # which counts how often a key came
                at_once = self.build(first + second, *sizing)
                self.test.check(kind == "cuckoo" or path.read_bytes() == at_once.read_bytes(),
                                f"{kind}: another file than one built at once")
            before = path.read_bytes()
            finished = self.run("erase", path, stdin=text_of([*first[10:], "https://never.in/"]))
            if kind not in ("counting", "cuckoo"):
                self.expect(finished, t.EXIT_FAILURE, f"erase from {kind}", re.escape(str(path)),
                            f"{kind} filter", "counting and cuckoo")
                self.test.check(path.read_bytes() == before, f"{kind}: erase changed the file")
                continue
            self.expect(finished, t.EXIT_DONE, f"erase from {kind}", "19991 lines, 1 of them not present")
            self.test.check(len(self.check(path, first)) in range(10, 12), f"{kind}: not erased")
            self.test.check(self.check(path, second) == second, f"{kind}: others were erased")
            left = [file.name for file in self.directory.glob(f"{path.name}?*")]
            self.test.check(not left, f"{kind}: files are left behind", left)

    def small_filters_are_small(self):
        lines = urls("in", 21)
        sizing = ["--capacity", 21, "--fpr", "1e-6"]
        tables = json.loads(self.run("size", *sizing, "--json").stdout)["tables"]
        sizes = {row["kind"]: row["file_bytes"] for row in tables[0]["filters"]}
        for kind in KINDS:
            path = self.build(lines, "--kind", kind, *sizing)
            size = path.stat().st_size
            self.test.check(size < 5000, f"{kind}: {size} bytes for 21 keys")
            self.test.check(size == sizes[kind], f"{kind}: filter size says {sizes[kind]}", size)
            self.test.check(self.check(path, lines, "--verify") == lines, f"{kind}: not all found")

    def overfull_is_about_the_rate(self):
        path = self.new_path(".filter")
        # More keys than planned for, but the tags have whole bits.
        finished = self.run("build", "-o", path, "--kind", "cuckoo", "--capacity", 1000,
                            "--fpr", "1e-4", stdin=text_of(urls("in", 1010)))
        self.expect(finished, t.EXIT_DONE, "a few more keys", "1010 lines")
        self.test.check(b"warning" not in finished.stderr, "a warning", finished.stderr)
        for kind in ("blocked", "classic", "counting"):
            path = self.build(urls("in", 40_000), "--kind", kind, "--capacity", "1K",
                              "--fpr", "1e-3")
            info = self.info(path)
            seen = len(self.check(path, urls("out", 10_000))) / 10_000
            self.test.check(abs(info["current_rate"] - seen) < 0.02, f"{kind}: a rate of {seen}",
                            info)
            self.test.check(info["overfull"], f"{kind}: not overfull", info)

    def adding_is_refused(self):
        path = self.build(urls("in", 900), "--kind", "cuckoo", "--capacity", 1000, "--fpr", "1e-4")
        before = path.read_bytes()
        self.expect(self.run("add", path, stdin=text_of(urls("more", 10_000))), t.EXIT_FAILURE,
                    "add to a full filter", "is full: it has", "the file is unchanged", re.escape(str(path)))
        self.expect(self.run("add", path, path), t.EXIT_FAILURE, "add a filter to itself",
                    "the filter and an input")
        self.expect(self.run("add", path, self.directory / "missing"), t.EXIT_FAILURE,
                    "add from a missing file", "No such file")
        self.expect(self.run("add", self.directory / "missing"), t.EXIT_FAILURE,
                    "add to a missing file", "No such file")
        self.expect(self.run("add", self.file(["words"])), t.EXIT_FAILURE, "add to words",
                    "not a filter file")
        self.test.check(path.read_bytes() == before, "a refused add changed the file")

    def added_at_the_same_time(self):
        path = self.build(["old"], "--capacity", "100K", "--fpr", "1e-6")
        link = self.new_path(".link")
        link.symlink_to(path)
        parts = [urls(f"part{i}", 1000) for i in range(8)]
        files = [self.file(part) for part in parts]
        slow = subprocess.Popen(self.command("add", path), stdin=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        adders = [subprocess.Popen(self.command("add", link if i % 2 else path, file),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                  for i, file in enumerate(files)]
        slow.stdin.write(b"slow\n")
        slow.communicate(timeout=60)
        said = [adder.communicate(timeout=60)[0] for adder in adders]
        self.test.check(slow.returncode == 0 and not any(a.returncode for a in adders),
                        "adders at the same time", said)
        everything = ["old", "slow", *(line for part in parts for line in part)]
        found = self.check(path, everything, "--verify")
        self.test.check(found == everything, f"{len(everything) - len(found)} lines are lost")
        self.test.check(link.is_symlink(), "the link was replaced by a file")

    def killed_while_adding(self):
        path = self.build(["old"], "--capacity", "20M", "--fpr", "1e-4")
        lines = urls("new", 20_000)
        command = self.command("add", path, self.file(lines))
        for _ in range(3):
            with subprocess.Popen(command, stderr=subprocess.PIPE) as adding:
                t.wait_until(lambda: adding.poll() is not None or
                             any(self.directory.glob(f"{path.name}?*")), "it to write")
                adding.kill()
            for left in self.directory.glob(f"{path.name}.tmp-*"):
                left.unlink()  # so that the next is waited for
            found = self.check(path, ["old", *lines], "--verify")
            self.test.check(len(found) in (1, 1 + len(lines)) and found[0] == "old",
                            "killed: neither the old file nor the new", len(found))
        self.expect(self.run(*command[2:]), t.EXIT_DONE, "again after kills")
        self.test.check(self.check(path, lines) == lines, "the new file")

    def progress(self):
        path = self.new_path(".filter")
        with subprocess.Popen(self.command("build", "-o", path, "--capacity", "1M", "--progress"),
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as build:
            os.set_blocking(build.stderr.fileno(), False)
            said = b""

            def told():
                nonlocal said
                build.stdin.write(b"line\n")
                build.stdin.flush()
                said += build.stderr.read() or b""
                return b"\n" in said

            t.wait_until(told, "a line of progress")
            build.stdin.close()
        self.test.check(re.match(rb"[\d.]+( k)? lines, .*/s, fill [\d.]+ %\n", said), "progress",
                        said)

    # --- merge ---

    def merge(self):
        left, right = urls("left", 40_000), urls("right", 40_000)
        for kind in ("blocked", "classic"):
            sizing = ["--kind", kind, "--capacity", "100K", "--fpr", "1e-3"]
            whole = self.build(left + right, *sizing, "--key", KEY)
            a = self.build(left, *sizing, "--key", KEY)
            b = self.build(right, "--like", a)
            merged = self.new_path(".filter")
            self.expect(self.run("merge", "-o", merged, a, b), t.EXIT_DONE, f"merge {kind}")
            # The header counts keys, which the merged filter can but estimate.
            self.test.check(merged.read_bytes()[HEADER_BYTES:] == whole.read_bytes()[HEADER_BYTES:],
                            f"{kind}: the merged bits are others")
            self.test.check(self.check(merged, left + right) == left + right, f"{kind}: lines lost")
            info = self.info(merged, "--verify")
            self.test.check(info["hash_key"] == KEY, f"{kind}: the hash key", info)
            self.test.check(abs(info["inserted"] - 80_000) < 800, f"{kind}: keys, estimated", info)
            before = merged.read_bytes()
            self.expect(self.run("merge", "-o", merged, a, b), t.EXIT_FAILURE, "merge onto a file",
                        "exists", "--force")
            self.test.check(merged.read_bytes() == before, f"{kind}: the file was changed")
            self.expect(self.run("merge", "-o", a, a, b, "--force"), t.EXIT_DONE, "merge onto one")
            self.test.check(a.read_bytes() == before, f"{kind}: merged onto one of the two")

    def merge_refused(self):
        like = ["--capacity", 1000, "--fpr", "1e-3", "--key", KEY]
        path = self.build(["a"], *like)
        output = self.new_path(".filter")
        cases = [
            (self.build(["b"], "--capacity", 2000, "--fpr", "1e-3", "--key", KEY),
             [r"capacities differ \(1000 and 2000\)"]),
            (self.build(["b"], "--capacity", 1000, "--fpr", "1e-2"),
             [r"rates differ \(0.001 and 0.01\)", "hash keys differ", "--like"]),
            (self.build(["b"], "--kind", "classic", *like), ["kinds differ"]),
            (self.build(["b"], "--kind", "counting", *like),
             ["counting filter", "only blocked and classic filters can be merged"]),
            (self.build(["b"], "--kind", "cuckoo", *like), ["cuckoo filter", "only blocked and classic"]),
            (self.build(["b"], "--kind", "growing", *like), ["growing filter", "only blocked and classic"]),
            (self.directory / "no-such.filter", ["no-such.filter", "No such file"]),
            (self.file(["not a filter"]), ["not a filter file"]),
            (self.directory, ["directory"]),
        ]
        for other, patterns in cases:
            self.expect(self.run("merge", "-o", output, path, path, other), t.EXIT_FAILURE,
                        f"merge with {other.name}", re.escape(str(other)), *patterns)
            self.test.check(not output.exists(), f"merge with {other.name} wrote a file")
        self.expect(self.run("merge", "-o", output, path), t.EXIT_USAGE, "merge of one")

    # --- with exact keys ---

    def exact(self):
        present, absent = urls("in", 5_000), urls("out", 5_000)
        for kind in KINDS:
            sizing = ["--kind", kind, "--capacity", "10K", "--fpr", "0.2"]
            path = self.build(present, *sizing)
            if kind != "cuckoo":  # whose tags have so many bits at least
                self.test.check(len(self.check(path, absent)) > 20, f"{kind}: nothing to exclude")
            path = self.build([*present, *present[:100]], *sizing, "--exact")
            self.test.check(self.check(path, [*absent, *present], "--verify") == present,
                            f"{kind}: found")
            info = self.info(path, "--verify")
            self.test.check((info["exact"], info["exact_keys"], info["exact_file_bytes"]) ==
                            (True, 5_000, 64 + 16 * 5_000), f"{kind}: info", info)
        on_disk = self.build(present, "--capacity", "4M", "--fpr", "0.2", "--exact",
                             "--max-memory", "1MiB")
        self.test.check(self.check(on_disk, [*absent, *present]) == present, "built on disk")
        none = self.build([], "--capacity", 10, "--exact")
        self.test.check(self.check(none, present) == [], "no key")

    def exact_changed(self):
        first, second, absent = urls("first", 5_000), urls("second", 5_000), urls("out", 5_000)
        sizing = ["--capacity", "12K", "--fpr", "0.2", "--key", KEY]
        path = self.build(first, *sizing, "--exact")
        keys = path.with_name(path.name + ".keys")
        path.chmod(0o640)
        said = self.change("add", path, [*first[:10], *second])
        self.test.check("5010 lines, 10 of them already present" in said, "add", said)
        self.test.check(keys.stat().st_mode & 0o777 == 0o640, "the keys' permissions", keys.stat())
        self.test.check(self.check(path, [*absent, *second, *first]) == [*second, *first], "added")
        both, other = self.new_path(".filter"), self.build(absent[:10], *sizing, "--exact")
        self.expect(self.run("merge", "-o", both, path, other), t.EXIT_DONE, "merge")
        self.test.check(self.check(both, [*absent, *second]) == [*absent[:10], *second], "merged")
        plain = self.build(absent, *sizing)
        self.expect(self.run("merge", "-o", both, path, plain, "--force"), t.EXIT_DONE,
                    "merge with one without keys", "without exact keys", re.escape(str(plain)),
                    "removed")
        self.test.check(self.check(both, absent) == absent, "merged with one without keys")
        # A new filter in its place: with keys of its own, or none.
        self.expect(self.run("build", "-o", path, *sizing, "--exact", stdin=text_of(second)),
                    t.EXIT_FAILURE, "build over it", "exists")
        self.expect(self.run("build", "-o", path, *sizing, "--exact", "--force",
                             stdin=text_of(second)), t.EXIT_DONE, "build --exact --force")
        self.test.check(self.check(path, [*first, *second]) == second, "built again")
        self.expect(self.run("build", "-o", path, *sizing, "--force", stdin=text_of(first)),
                    t.EXIT_DONE, "build --force", "removed")
        self.test.check(not keys.exists() and len(self.check(path, second)) > 100,
                        "built without keys")

    def exact_refused(self):
        lines = urls("in", 1_000)
        for kind in ("counting", "cuckoo"):
            path = self.build(lines, "--kind", kind, "--capacity", "1K", "--fpr", "0.01", "--exact")
            self.expect(self.run("erase", path, stdin=text_of(lines[:5])), t.EXIT_FAILURE,
                        f"erase from an exact {kind} filter", re.escape(f"{path}.keys"))
            self.test.check(self.check(path, lines) == lines, f"{kind}: a refused erase")
        path = self.build(lines, "--capacity", "1K", "--fpr", "0.01", "--exact")
        keys = path.with_name(path.name + ".keys")
        whole = keys.read_bytes()
        stale = self.build(lines, "--capacity", "1K", "--fpr", "0.01", "--exact")
        for what, contents, arguments, patterns in (
                ("cut short", whole[:-16], [], ["damaged"]),
                ("no keys", b"my own notes", [], ["damaged"]),
                ("a changed key", whole[:500] + bytes([whole[500] ^ 1]) + whole[501:],
                 ["--verify"], ["damaged"]),
                ("another filter's", stale.with_name(stale.name + ".keys").read_bytes(), [],
                 ["--exact", "remove"])):
            keys.write_bytes(contents)
            commands = [["check", path, *arguments], ["info", path, *arguments]]
            commands.append(["add", path])
            for command in commands:
                finished = self.run(*command, stdin=text_of(lines))
                self.test.check(finished.returncode in (t.EXIT_FAILURE, TROUBLE),
                                f"{what}: {command[0]} exits with {finished.returncode}")
                self.expect(finished, finished.returncode, f"{what}: {command[0]}",
                            re.escape(str(keys)), *patterns)
        keys.write_bytes(b"my own notes")
        self.expect(self.run("build", "-o", path, "--capacity", "1K", "--exact", "--force"),
                    t.EXIT_FAILURE, "over a file of others", re.escape(str(keys)), "another file")
        self.expect(self.run("build", "-o", path, "--capacity", "1K", "--force"), t.EXIT_DONE,
                    "next to a file of others")
        self.test.check(keys.read_bytes() == b"my own notes", "a file of others was changed")

    def exact_apart(self):
        """Keys that do not lie where the filter does are neither lost nor left behind."""
        lines = urls("in", 1_000)
        path = self.build(lines, "--capacity", "1K", "--fpr", "0.01", "--exact")
        keys = path.with_name(path.name + ".keys")
        whole = keys.read_bytes()
        moved = self.new_path(".filter")
        path.rename(moved)
        for arguments in ([], ["--exact"]):
            self.expect(self.run("build", "-o", path, "--capacity", "1K", *arguments,
                                 stdin=text_of(lines)),
                        t.EXIT_FAILURE, f"build {arguments} next to keys", re.escape(str(keys)))
        self.test.check(keys.read_bytes() == whole, "the keys of a filter that was moved are gone")
        path.symlink_to(moved)
        self.test.check(self.check(path, lines) == lines, "keys next to a link")
        self.expect(self.run("add", path, stdin=b"new\n"), t.EXIT_FAILURE,
                    "add by a link with keys next to it", re.escape(str(keys)), "symbolic link")
        keys.rename(moved.with_name(moved.name + ".keys"))
        self.expect(self.run("add", path, stdin=b"new\n"), t.EXIT_DONE, "add by a link")
        self.test.check(self.check(path, lines + ["new"], "--verify") == lines + ["new"],
                        "added by a link")

    def exact_between(self):
        """As a kill leaves them between the two renames of an add or a merge, and before the first."""
        lines = urls("in", 1_000)
        # With another hash key the filter might hold "new" by chance, and fit the old keys as well.
        path = self.build(lines, "--capacity", "2K", "--fpr", "0.2", "--key", KEY, "--exact")
        keys = path.with_name(path.name + ".keys")
        coming = path.with_name(path.name + ".keys.new")
        old, old_filter = keys.read_bytes(), path.read_bytes()
        self.expect(self.run("add", path, stdin=b"new\n"), t.EXIT_DONE, "add")
        self.test.check(path.read_bytes() != old_filter, "a line that the filter held by chance")
        self.test.check(not coming.exists(), "keys that took their place lie there twice")
        keys.rename(coming)
        for before in (old, None):
            keys.unlink(missing_ok=True)
            if before is not None:
                keys.write_bytes(before)
            known, absent = lines + ["new"], urls("out", 1_000)
            self.test.check(self.check(path, known + absent, "--verify") == known,
                            "between the renames: other lines than those that are in")
        self.expect(self.run("add", path, stdin=b"newer\n"), t.EXIT_DONE, "add between the renames")
        self.test.check(self.check(path, known + ["newer"] + absent, "--verify") ==
                        known + ["newer"], "added between the renames")
        known += ["newer"]
        # Others' under the name that new keys take first, and damaged ones.
        for contents, command in ((b"my own notes", "add"), (old[:-16], "check")):
            coming.write_bytes(contents)
            if command == "check":
                keys.rename(self.directory / "away")
            finished = self.run(command, path, stdin=text_of(known))
            self.test.check(finished.returncode in (t.EXIT_FAILURE, TROUBLE),
                            f"{command} with such keys exits with {finished.returncode}")
            self.expect(finished, finished.returncode, f"{command} with such keys",
                        re.escape(str(coming)))
            self.test.check(coming.read_bytes() == contents, f"{command} changed such keys")
        (self.directory / "away").rename(keys)
        # Keys that were to belong to a filter that never came.
        coming.write_bytes(old)
        self.test.check(self.check(path, known + absent) == known, "before the first rename")
        self.expect(self.run("build", "-o", path, "--capacity", "2K", "--force",
                             stdin=text_of(lines)), t.EXIT_DONE, "build over it")
        self.test.check(not keys.exists() and not coming.exists(), "keys of no filter are left")

    def exact_killed(self):
        lines = self.file(urls("new", 200_000))
        path = self.build(["old"], "--capacity", "200K", "--fpr", "0.01", "--exact")
        command = self.command("build", "-o", path, "--capacity", "200K", "--fpr", "0.01",
                               "--exact", "--force", lines)
        for _ in range(5):
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as build:
                t.wait_until(lambda: build.poll() is not None or
                             any(self.directory.glob(f"{path.name}*.tmp-*")), "it to write")
                build.kill()
            for left in self.directory.glob(f"{path.name}*.tmp-*"):
                left.unlink()
            finished = self.run("check", path, "--verify", "--count", lines)
            # Old, new, or reported as neither.
            self.test.check(finished.stdout in (b"0\n", b"200000\n") or
                            b"does not belong to the current version" in finished.stderr, "killed", finished)
        self.expect(self.run(*command[2:]), t.EXIT_DONE, "again after kills")
        self.test.check(self.run("check", path, "--verify", "--count", lines).stdout ==
                        b"200000\n", "the new file")

    # --- larger than memory ---

    def larger_than_memory(self):
        lines = self.file(urls("in", 400_000))
        sizing = ["--capacity", "20M", "--fpr", "1e-4", "--key", KEY]  # 53 MiB
        _, least = self.run_measured("build", "-o", self.new_path(".filter"), "--capacity", 10,
                                     "-q", lines)
        in_memory, on_disk = self.new_path(".filter"), self.new_path(".filter")
        text, memory = self.run_measured("build", "-o", in_memory, *sizing, lines)
        disk_text, disk_memory = self.run_measured("build", "-o", on_disk, *sizing, "--max-memory",
                                                   "4MiB", lines)
        same = subprocess.run(["cmp", in_memory, on_disk], check=False, capture_output=True)
        self.test.check(same.returncode == 0, "--max-memory makes another file", same.stdout)
        self.test.check(text.split(":", 1)[1] == disk_text.split(":", 1)[1], "another summary",
                        text + disk_text)
        left = [path.name for path in self.directory.glob(f"{on_disk.name}?*")]
        self.test.check(not left, "the spool was left behind", left)
        if not self.options.sanitized:
            self.test.check(disk_memory < least + 6 * MIB < memory,
                            f"peak memory in KiB: {least >> 10} for a small filter, "
                            f"{disk_memory >> 10} on disk, {memory >> 10} in memory")
        self.expect(self.run("check", on_disk, lines, "-c"), SELECTED, "check it")
        swept = self.new_path(".filter")
        self.run_measured("build", "-o", swept, *sizing, "--max-memory", "4MiB", "--max-spool",
                          "1MiB", lines)
        same = subprocess.run(["cmp", in_memory, swept], check=False, capture_output=True)
        self.test.check(same.returncode == 0, "--max-spool makes another file", same.stdout)
        path = self.build(["a"], "--capacity", 1000, "--max-memory", "1MiB")
        self.test.check(self.check(path, ["a", "b"]) == ["a"], "smaller than --max-memory")

    def classic_larger_than_memory(self):
        lines = self.file(urls("in", 200_000))
        sizing = ["--kind", "classic", "--capacity", "10M", "--fpr", "1e-4", "--key", KEY]  # 23 MiB
        _, least = self.run_measured("build", "-o", self.new_path(".filter"), "--capacity", 10,
                                     "-q", lines)
        path = self.new_path(".filter")
        text, memory = self.run_measured("build", "-o", path, *sizing, "--max-memory", "4MiB",
                                         "--max-spool", "1MiB", lines)
        self.test.check(re.search(r": 200000 lines; (199|200)\d{3} keys, 22\.\d MiB", text),
                        "its summary", text)
        left = [path.name for path in self.directory.glob(f"{path.name}?*")]
        self.test.check(not left, "the spool was left behind", left)
        if not self.options.sanitized:
            self.test.check(memory < least + 6 * MIB, "peak memory in KiB",
                            f"{least >> 10} for a small filter, {memory >> 10} on disk")
        found = self.check(path, urls("in", 200_000))
        self.test.check(len(found) == 200_000, "keys are lost", len(found))
        found = self.check(path, urls("out", 10_000))
        self.test.check(len(found) <= 3, "too many are found", len(found))

    def max_memory_refused(self):
        output = self.new_path(".filter")
        for kind in ("counting", "cuckoo"):
            self.expect(self.run("build", "-o", output, "--kind", kind, "--capacity", "10M",
                                 "--fpr", "1e-4", "--max-memory", "2MiB"), t.EXIT_USAGE,
                        f"a {kind} filter larger than --max-memory", f"{kind} filter",
                        r"takes [\d.]+ MiB", "only --kind blocked and classic")
        for arguments in (["--kind", "growing", "--capacity", "10"], []):
            self.expect(self.run("build", "-o", output, "--max-memory", "2MiB", *arguments),
                        t.EXIT_USAGE, "a growing filter with --max-memory", "growing", "--capacity")
        self.test.check(not output.exists(), "a refused build wrote a file")

    # --- what goes wrong ---

    def usage(self):
        path = self.build(["a"], "--capacity", 100)
        output = self.new_path(".filter")
        for option, value, *patterns in (
                ("--capacity", "0", "at least 1"),
                ("--capacity", "1e30", "at most 1e18"),
                ("--capacity", "99999999999999999999", "at most 1e18"),
                ("--capacity", "1e999", "number of keys"),
                ("--capacity", "1.5", "whole number"),
                ("--capacity", "many", "number of keys", "10M"),
                ("--capacity", "10Q", "number of keys"),
                ("--capacity", "-5", ),
                ("--capacity", "", ),
                ("--capacity", "nan", "number of keys"),
                ("--capacity", "inf", ),
                ("--capacity", "0x10", "number of keys"),
                ("--fpr", "0", "above 0 and below 1"),
                ("--fpr", "1", "above 0 and below 1"),
                ("--fpr", "2", "above 0 and below 1"),
                ("--fpr", "nan", "rate"),
                ("--fpr", "low", "rate"),
                ("--fpr", "1e-400", "rate"),
                ("--fpr", "1e-300", "rate"),
                ("--kind", "bloom", "bloom", "blocked, growing"),
                ("--key", "00", "32 hexadecimal digits"),
                ("--key", KEY[:-1] + "g", "hexadecimal digits"),
                ("--key", KEY + "00", "32 hexadecimal digits"),
                ("--max-memory", "lots", "512MiB"),
                ("--max-memory", "512", "too small"),
                ("--max-memory", "1KiB", "at least 1MiB"),
                ("--max-memory", "0MiB", "at least 1MiB")):
            arguments = [] if option == "--capacity" else ["--capacity", "100"]
            self.expect(self.run("build", "-o", output, *arguments, f"{option}={value}"),
                        t.EXIT_USAGE, f"{option} {value}", *patterns)
        for arguments, *patterns in (
                (["build"], "--output"),
                (["build", "-o", output, "--like", path, "--fpr", "0.1"], "--fpr", "--like"),
                (["build", "-o", output, "--kind", "classic"], "--kind classic", "--capacity"),
                (["build", "-o", output, "--no-such-option"], ),
                (["build", "-o", output, "--kind", "cuckoo", "--capacity", "100", "--fpr", "1e-14"],
                 "rate"),
                (["info"], "FILE"),
                (["check"], "FILE"),
                ([], "subcommand"),
                (["sort"], )):
            self.expect(self.run(*arguments), t.EXIT_USAGE, " ".join(map(str, arguments)),
                        *patterns)
        self.test.check(not output.exists(), "wrong usage wrote a file")
        for arguments in ([], ["size"], ["build"], ["add"], ["erase"], ["check"], ["info"], ["merge"]):
            finished = self.run(*arguments, "--help")
            self.test.check(finished.returncode == 0 and b"Usage: trawl filter" in finished.stdout,
                            f"help of {arguments}", finished.stderr)

    def missing_and_wrong_files(self):
        path, words = self.build(["a"], "--capacity", 100), self.file(["words"])
        missing = self.directory / "no-such-file"
        output = self.new_path(".filter")
        for wrong, pattern in ((missing, "No such file"), (self.directory, "directory")):
            self.expect(self.run("build", "-o", output, words, wrong), t.EXIT_FAILURE,
                        f"build from {wrong.name}", re.escape(str(wrong)), pattern)
            self.expect(self.run("check", path, words, wrong), TROUBLE,
                        f"check {wrong.name}", re.escape(str(wrong)), pattern)
        for wrong, pattern in ((missing, "No such file"), (self.directory, "directory"),
                               (words, "not a filter file"),
                               (self.file(b""), "not a filter file")):
            where = re.escape(str(wrong))
            self.expect(self.run("check", wrong, words), TROUBLE, "check", where, pattern)
            self.expect(self.run("info", wrong), t.EXIT_FAILURE, "info", where, pattern)
            self.expect(self.run("build", "-o", output, "--like", wrong), t.EXIT_FAILURE, "--like",
                        where, pattern)
        pipe = self.new_path(".pipe")
        os.mkfifo(pipe)
        self.expect(self.run("check", pipe, words), TROUBLE, "check a pipe",
                    re.escape(f"{pipe} is not a regular file"))
        self.expect(self.run("build", "-o", missing / "x.filter"), t.EXIT_FAILURE,
                    "into a missing directory", re.escape(str(missing)), "No such file")
        for special in (self.directory, "/dev/null"):
            self.expect(self.run("build", "-o", special, "--force"), t.EXIT_FAILURE,
                        f"build onto {special}", "not a regular file")
        self.expect(self.run("build", "-o", words, "--force", words), t.EXIT_FAILURE,
                    "build onto its input", "both input and output")
        self.test.check(words.read_bytes() == b"words\n", "the input was replaced")
        before = path.read_bytes()
        self.expect(self.run("build", "-o", path, words), t.EXIT_FAILURE, "build onto a file",
                    re.escape(str(path)), "exists", "--force")
        self.test.check(path.read_bytes() == before, "the file was replaced")
        self.expect(self.run("build", "-o", path, words, "--force"), t.EXIT_DONE, "with --force")
        self.test.check(self.check(path, ["a", "words"]) == ["words"], "--force did not replace")
        self.test.check(not output.exists(), "a failed build wrote a file")

    def damage(self):
        for kind in KINDS:
            lines = urls("in", 50_000)
            path = self.build(lines, "--kind", kind, "--capacity", "100K", "--fpr", "1e-4")
            intact = path.read_bytes()
            for what, at, pattern in (("its header", 20, "header"),
                                      ("chunk 0", HEADER_BYTES + 100, "chunk 0"),
                                      ("chunk 1", HEADER_BYTES + CHUNK_BYTES, "chunk 1"),
                                      ("its end", len(intact) - 1, "end mark")):
                broken = bytearray(intact)
                broken[at] ^= 0x10
                path.write_bytes(broken)
                said = ["damaged", re.escape(str(path)), pattern]
                self.expect(self.run("info", path, "--verify"), t.EXIT_FAILURE,
                            f"{kind}: info, damage to {what}", *said)
                self.expect(self.run("check", path, "--verify"), TROUBLE,
                            f"{kind}: check, damage to {what}", *said)
            path.write_bytes(intact[:len(intact) // 2])
            self.expect(self.run("check", path), TROUBLE, f"{kind}: cut short", "damaged")
            path.write_bytes(intact)
            self.test.check(self.check(path, lines, "--verify") == lines, f"{kind}: intact again")

    def too_large(self):
        output = self.new_path(".filter")
        for kind in KINDS:
            self.expect(self.run("build", "-o", output, "--kind", kind, "--capacity", "1000T"),
                        t.EXIT_NO_SPACE, f"{kind}: a filter for 10^15 keys",
                        r"needs \S+ [TP]iB of memory")
        finished = self.run("build", "-o", output, "--capacity", "1000T")
        self.expect(finished, t.EXIT_NO_SPACE, "the way out", "--max-memory")
        self.test.check(not output.exists(), "a filter too large wrote a file")

    def full_cuckoo(self):
        output = self.new_path(".filter")
        finished = self.run("build", "-o", output, "--kind", "cuckoo", "--capacity", 1000,
                            "--fpr", "1e-4", stdin=text_of(urls("in", 100_000)))
        self.expect(finished, t.EXIT_FAILURE, "a full cuckoo filter", "full: it has [0-9]{4} keys",
                    "planned for 1000", "nothing was written", "--capacity")
        self.test.check(not output.exists(), "a full cuckoo filter was written")

    def killed(self):
        for arguments in ([], ["--max-memory", "1MiB"]):
            sizing = ["--capacity", "2M", "--fpr", "1e-4", *arguments]
            path = self.build(["old"], *sizing)
            before = path.read_bytes()
            command = self.command("build", "-o", path, *sizing, "--force", "--progress")
            with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as build:
                build.stdin.write(text_of(urls("in", 200_000)))
                build.stdin.flush()
                self.test.check(build.poll() is None, "it did not wait for more lines")
                build.kill()
            self.test.check(path.read_bytes() == before, f"{arguments}: killed, another file")
            lines = urls("new", 1000)
            finished = self.run("build", "-o", path, *sizing, "--force", stdin=text_of(lines))
            self.expect(finished, t.EXIT_DONE, f"{arguments}: again after a kill")
            self.test.check(self.check(path, ["old", *lines], "--verify") == lines,
                            f"{arguments}: built after a kill")
            left = [path.name for path in self.directory.glob(f"{path.name}?*")]
            self.test.check(not left, f"{arguments}: files are left behind", left)

    def interrupted(self):
        sizing = ["--capacity", "2M", "--fpr", "1e-4", "--max-memory", "1MiB"]
        path = self.build(["old"], *sizing)
        spool = path.with_name(path.name + ".spool")
        before = path.read_bytes()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            command = self.command("build", "-o", path, *sizing, "--force")
            with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as build:
                build.stdin.write(text_of(urls("in", 200_000)))
                build.stdin.flush()
                t.wait_until(lambda: spool.exists() and os.listdir(spool), "the spool")
                self.expect(self.run(*command[2:], stdin=b"x\n"), t.EXIT_FAILURE,
                            "a second build of one file", re.escape(str(spool)), "in use")
                build.send_signal(number)
                t.wait_until(lambda: build.poll() is not None, "the end")
            self.test.check(build.returncode == -number, f"interrupted by {number}: exit code",
                            build.returncode)
            self.test.check(not spool.exists(), f"interrupted by {number}: the spool is there")
            self.test.check(path.read_bytes() == before, f"interrupted by {number}: another file")
        spool.mkdir()
        own = [spool / name for name in ("my.keys", "range-my.keys")]
        for file in own:
            file.write_bytes(b"mine")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as build:
            build.stdin.write(text_of(urls("in", 200_000)))
            build.stdin.flush()
            t.wait_until(lambda: len(os.listdir(spool)) > len(own), "the spool")
            build.send_signal(signal.SIGTERM)
            t.wait_until(lambda: build.poll() is not None, "the end")
        self.test.check(sorted(spool.iterdir()) == own, "interrupted: the spool's files alone go",
                        os.listdir(spool))
        for file in own:
            file.unlink()
        spool.rmdir()
        ignoring = subprocess.Popen(["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *command],
                                    stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        with ignoring as build:
            build.stdin.write(text_of(urls("in", 200_000)))
            build.stdin.flush()
            t.wait_until(lambda: spool.exists() and os.listdir(spool), "the spool")
            build.send_signal(signal.SIGHUP)
            build.stdin.close()
            said = build.stderr.read()
        self.test.check(build.returncode == 0, "under nohup", said)

    def interrupted_while_writing(self):
        path = self.build(["old"], "--capacity", "20M", "--fpr", "1e-4", "--key", KEY)
        own = path.with_name(path.name + ".tmp")
        own.write_bytes(b"mine")
        before = path.read_bytes()
        lines = self.file(urls("new", 20_000))
        for arguments in ([], ["--max-memory", "2MiB"]):
            command = self.command("build", "-o", path, "--like", path, "--force", *arguments,
                                   lines)
            interrupted = 0
            for _ in range(5):
                with subprocess.Popen(command, stderr=subprocess.PIPE) as build:
                    t.wait_until(lambda: build.poll() is not None or
                                 any(self.directory.glob(f"{own.name}-*")), "it to write")
                    build.send_signal(signal.SIGTERM)
                if build.returncode == -signal.SIGTERM:
                    interrupted += 1
                left = [file.name for file in self.directory.glob(f"{path.name}?*")]
                self.test.check(left == [own.name], f"{arguments}: files are left behind", left)
                self.test.check(self.info(path, "--verify")["kind"] == "blocked", "another file")
                path.write_bytes(before)
            self.test.check(interrupted > 0, f"{arguments}: no build was interrupted")
        self.test.check(own.read_bytes() == b"mine", "a file of somebody else's was changed")

    def killed_while_writing(self):
        path = self.build(["old"], "--capacity", "20M", "--fpr", "1e-4")
        lines = self.file(urls("new", 20_000))
        command = self.command("build", "-o", path, "--like", path, "--force", lines)
        for _ in range(3):
            with subprocess.Popen(command, stderr=subprocess.PIPE) as build:
                t.wait_until(lambda: build.poll() is not None or
                             any(self.directory.glob(f"{path.name}?*")), "it to write")
                build.kill()
            for left in self.directory.glob(f"{path.name}.tmp-*"):
                left.unlink()  # so that the next is waited for
            found = self.check(path, ["old", "https://example.org/new/0"], "--verify")
            self.test.check(len(found) == 1, "killed: neither the old file nor the new", found)
        self.expect(self.run(*command[2:]), t.EXIT_DONE, "again after kills")
        self.test.check(self.check(path, ["old"]) == [], "the new file")

    def full_disk(self):
        disk = self.directory / "disk"
        disk.mkdir()
        with t.tmpfs(disk, "1m") as works:
            if not works:
                print("  left out: cannot mount a small file system here")
                return
            path = disk / "x.filter"
            self.expect(self.run("build", "-o", path, "--capacity", 1000, stdin=b"old\n"),
                        t.EXIT_DONE, "a small filter")
            before = path.read_bytes()
            lines = self.file(urls("in", 300_000))
            for arguments in ([], ["--max-memory", "1MiB"]):
                finished = self.run("build", "-o", path, "--capacity", "1M", "--force", *arguments,
                                    lines)
                self.expect(finished, t.EXIT_NO_SPACE, f"{arguments}: a full disk",
                            re.escape(str(path)), "No space left")
                self.test.check(path.read_bytes() == before, f"{arguments}: the old file")
                self.test.check(os.listdir(disk) == [path.name], f"{arguments}: files left behind",
                                os.listdir(disk))


def filter_command(test, directory, options):
    t.run_cases(test, FilterCommand(test, directory, options), HELPERS, options.only)


HELPERS = {"new_path", "file", "command", "run", "expect", "build", "check", "info", "run_measured",
           "sizes", "expect_built", "change"}
MEASURE = """
import os, sys
process = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""

if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--sanitized", action="store_true", help="memory is not measured")
    arguments.add_argument("only", nargs="*", help="run these cases alone")
    t.main(filter_command, arguments.parse_args())
