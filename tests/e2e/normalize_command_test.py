"""`trawl normalize`: what it prints, which lines it takes as one, and what it says is wrong."""

import json
import os
import re
import subprocess
import sys

import trawl_testing as t

MIB = 1 << 20

# Rule, URL, key under that rule alone ("" where it must not change anything).
GOLDEN = [
    ("none", "HTTP://Example.COM:80/a/../%7ejoe#top", "http://example.com/~joe"),
    ("none", "https://bücher.example/straße?q=%c3%bc",
     "https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC"),
    ("none", "http://example.com//a/?utm_source=x&b=2&a=1", ""),
    ("none", "http://www.example.com/Index.html;jsessionid=1?", ""),
    ("sort_query", "http://shop.example/?size=4&col=red", "http://shop.example/?col=red&size=4"),
    ("sort_query", "http://shop.example/?f=b&f=a&c=1", "http://shop.example/?c=1&f=b&f=a"),
    ("sort_query", "http://shop.example/?f=b&f=a", ""),
    ("sort_query", "http://shop.example/b&a?c", ""),
    ("drop_parameters", "http://news.example/a?id=1&utm_medium=rss&fbclid=Iw",
     "http://news.example/a?id=1"),
    ("drop_parameters", "http://news.example/?gclid=1", "http://news.example/"),
    ("drop_parameters", "http://news.example/?utm=1&q=gclid", ""),
    ("drop_parameters", "http://news.example/utm_medium=rss", ""),
    ("drop_session_ids", "http://bank.example/a;jsessionid=F.w1?x=1", "http://bank.example/a?x=1"),
    ("drop_session_ids", "http://forum.example/t?t=1&sid=abc", "http://forum.example/t?t=1"),
    ("drop_session_ids", "http://forum.example/?PHPSESSID=1", "http://forum.example/"),
    ("drop_session_ids", "http://forum.example/sid=1/?side=2", ""),
    ("drop_empty_query", "http://example.com/a?", "http://example.com/a"),
    ("drop_empty_query", "http://example.com/?#x", "http://example.com/"),
    ("drop_empty_query", "http://example.com/?=", ""),
    ("drop_empty_query", "http://example.com/a%3F", ""),
    ("merge_slashes", "http://example.com//a////b/", "http://example.com/a/b/"),
    ("merge_slashes", "http://example.com//", "http://example.com/"),
    ("merge_slashes", "http://example.com/r?to=http://x//y", ""),
    ("merge_slashes", "http://example.com/%2F%2Fa", ""),
    ("drop_trailing_slash", "http://example.com/a/?b", "http://example.com/a?b"),
    ("drop_trailing_slash", "http://example.com/a//", "http://example.com/a"),
    ("drop_trailing_slash", "http://example.com/", ""),
    ("drop_trailing_slash", "http://example.com/a?b=/", ""),
    ("drop_index", "http://example.com/index.html", "http://example.com/"),
    ("drop_index", "http://example.com/a/Default.aspx?x", "http://example.com/a/?x"),
    ("drop_index", "http://example.com/myindex.html", ""),
    ("drop_index", "http://example.com/index.php/page", ""),
    ("drop_www", "http://www.example.com/", "http://example.com/"),
    ("drop_www", "http://www.shop.example.co.uk:81/", "http://shop.example.co.uk:81/"),
    ("drop_www", "http://www.co.uk/", ""),
    ("drop_www", "http://www.com/", ""),
    ("ignore_scheme", "https://example.com/", "http://example.com/"),
    ("ignore_scheme", "https://example.com:8443/", "http://example.com:8443/"),
    ("ignore_scheme", "https://example.com:80/", ""),
    ("ignore_scheme", "http://example.com:443/", ""),
    ("lowercase_path", "http://example.com/About/US.htm", "http://example.com/about/us.htm"),
    ("lowercase_path", "http://example.com/%C3%89A?B", "http://example.com/%C3%89a?B"),
    ("lowercase_path", "http://example.com/%C3%89?ABC", ""),
    ("lowercase_path", "http://example.com/abc", ""),
    ("all", "https://www.example.com//A/Index.html;jsessionid=1?utm_id=1#f",
     "http://example.com/a"),
]


class Normalize:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options

    def command(self, *arguments):
        return [self.options.trawl, "normalize", *map(str, arguments)]

    def run(self, *arguments, stdin=b"", code=t.EXIT_DONE, patterns=()):
        finished = subprocess.run(self.command(*arguments), input=stdin, capture_output=True,
                                  cwd=self.directory, timeout=120, check=False)
        said = finished.stderr.decode(errors="replace")
        what = " ".join(map(str, arguments))[:200]
        self.test.check(finished.returncode == code,
                        f"{what}: exit code {finished.returncode}, expected {code}", said)
        for pattern in patterns:
            self.test.check(re.search(pattern, said), f"{what}: not said: {pattern!r}", said)
        if not patterns and code == t.EXIT_DONE:
            self.test.check(said == "", f"{what}: it complains", said)
        return finished.stdout.decode()

    def equal(self, got, expected, what):
        self.test.check(got == expected, what, f"got      {got!r}\nexpected {expected!r}")

    # --- the default output ---

    def golden(self):
        for rule, url, key in GOLDEN:
            line = self.run("--rules", rule, url)
            href, got, fired = line[:-1].split("\t")
            self.equal(got, key or href, f"{rule}: {url}")
            self.test.check((fired == "-") == (href == got), f"{rule}: {url}: fired {fired}")
            if not key:
                self.equal(href, url, f"{rule}: {url}")
            if rule not in ("none", "all") and key:
                self.test.check(rule in fired.split(","), f"{rule} did not fire: {url}: {fired}")
            again = self.run("--rules", rule, got)
            self.equal(again, f"{got}\t{got}\t-\n", f"{rule}: the key of the key {got}")

    def lists_and_arguments_agree(self):
        urls = sorted({url for _, url, _ in GOLDEN})
        for rules in ("none", "all", "sort_query,drop_www", "all,-drop_www"):
            output = self.run("--rules", rules, *urls)
            for end in ("\n", "\r\n", "\n\n\r\n"):
                lines = "".join(url + end for url in urls).encode()
                self.equal(self.run("--rules", rules, stdin=lines), output, f"{rules}: {end!r}")
            text = b"\xef\xbb\xbf" + "\n".join(urls).encode()
            self.equal(self.run("--rules", rules, "-", stdin=text), output, f"{rules}: no line end")
        self.equal(self.run(stdin=b""), "", "no lines")
        self.equal(self.run(stdin=b"\n\n\r\n"), "", "empty lines")

    def rules_fired(self):
        line = self.run("--rules", "all",
                        "https://www.example.com//Index.html?b&a&utm_id=1&sid=2#%7e")
        self.equal(line.split("\t")[1:],
                   ["http://example.com/?a&b",
                    "drop_fragment,sort_query,drop_parameters,drop_session_ids,merge_slashes,"
                    "drop_index,drop_www,ignore_scheme,lowercase_path\n"], "rules fired")
        self.equal(self.run("http://h/%c3%41"),
                   "http://h/%c3%41\thttp://h/%C3A\tuppercase_escapes,decode_unreserved\n", "lossless")

    def names_and_hosts(self):
        def key(*arguments):
            return self.run(*arguments).split("\t")[1]
        url = "http://h/home.html;tok=1?ref=1&utm_id=2"
        self.equal(key("--rules", "drop_parameters", "--parameter-names", "ref", url),
                   "http://h/home.html;tok=1?utm_id=2", "--parameter-names")
        self.equal(key("--rules", "drop_parameters", "--parameter-names=+ref,-utm_*", url),
                   "http://h/home.html;tok=1?utm_id=2", "--parameter-names with signs")
        self.equal(key("--rules", "drop_session_ids,drop_index", "--session-id-names", "t*",
                       "--index-names=home.*", url), "http://h/?ref=1&utm_id=2", "the others")
        hosts = ["--rules", "sort_query,drop_www", "--host", ".Example.com=+lowercase_path",
                 "--host", "bücher.example=none", "--host=[::1]=-sort_query,+merge_slashes"]
        for url, expected in (("http://www.a.example.com/A?b&a", "http://a.example.com/a?a&b"),
                              ("http://xn--bcher-kva.example/A?b&a",
                               "http://xn--bcher-kva.example/A?b&a"),
                              ("http://[0::1]//A?b&a", "http://[::1]/A?b&a"),
                              ("http://www.b.org/A?b&a", "http://b.org/A?a&b")):
            self.equal(key(*hosts, url), expected, url)

    def relative(self):
        self.equal(self.run("--base", "http://h/a/b?q", "../c", "//x", "?y", stdin=b""),
                   "http://h/c\thttp://h/c\t-\nhttp://x/\thttp://x/\t-\n"
                   "http://h/a/b?y\thttp://h/a/b?y\t-\n", "--base")

    # --- JSON ---

    def json_lines(self):
        lines = b"\nhttps://WWW.Example.co.uk.:8443/%7e?#\"\\\nhttp://\"h/\\\n\nhttp://[0::1]/\nx\n"
        output = self.run("--json", "--rules", "drop_www", stdin=lines, code=t.EXIT_FAILURE,
                          patterns=["line 6: "])
        self.equal([json.loads(line) for line in output.splitlines()], [
            {"line": 2, "href": "https://www.example.co.uk.:8443/%7e?#%22\\",
             "key": "https://example.co.uk:8443/~?",
             "rules": ["drop_fragment", "decode_unreserved", "drop_trailing_dot", "drop_www"],
             "group": "www.example.co.uk:8443", "domain": "example.co.uk"},
            {"line": 3, "href": "http://\"h//", "key": "http://\"h//", "rules": [], "group": "\"h",
             "domain": "\"h"},
            {"line": 5, "href": "http://[::1]/", "key": "http://[::1]/", "rules": [],
             "group": "[::1]", "domain": "[::1]"}], "--json")

    # --- merge ---

    def merge(self):
        lines = (b"http://b/?utm_id=1\nhttp://a/\nbad\n\nhttp://b/\nhttp://c/#1\nhttp://a/\n"
                 b"http://c/#2\nHTTP://B\nhttp://d/\nhttp://a/#\n")
        self.equal(self.run("--merge", "--rules", "drop_parameters", stdin=lines,
                            code=t.EXIT_FAILURE, patterns=["line 3: ", "9 URLs, 4 keys"]),
                   "http://b/\n\t1\thttp://b/?utm_id=1\n\t5,9\thttp://b/\n"
                   "http://a/\n\t2,7\thttp://a/\n\t11\thttp://a/#\n"
                   "http://c/\n\t6\thttp://c/#1\n\t8\thttp://c/#2\n", "--merge")
        output = self.run("--merge", "--json", "http://a/", "http://b/#\"", "http://b/", "http://A",
                          patterns=["4 URLs, 2 keys"])
        self.equal([json.loads(line) for line in output.splitlines()], [
            {"key": "http://a/", "urls": [{"lines": [1, 4], "href": "http://a/"}]},
            {"key": "http://b/", "urls": [{"lines": [2], "href": "http://b/#%22"},
                                          {"lines": [3], "href": "http://b/"}]}],
                   "--merge --json")
        self.equal(self.run("--merge", "http://a/", "http://b/", patterns=["2 URLs, 2 keys"]), "",
                   "nothing to merge")

    # Each URL and each key is kept once, however often it comes, with the numbers of its lines.
    def merge_of_many(self):
        lines = "".join(f"http://h/{i % 1000}?utm_id={i % 5000}\n" for i in range(300_000))
        output = self.run("--merge", "--rules", "all", stdin=lines.encode(),
                          patterns=["300000 URLs, 1000 keys"])
        groups = re.findall(r"^http://h/(\d+)\n((?:\t.*\n)+)", output, re.MULTILINE)
        self.equal([int(group) for group, _ in groups], list(range(1000)), "the groups' order")
        for number, members in groups:
            expected = "".join(
                f"\t{','.join(map(str, range(i + 1, 300_001, 5000)))}\thttp://h/{number}?utm_id={i}\n"
                for i in range(int(number), 5000, 1000))
            if not self.test.check(members == expected, f"group {number}", members):
                break

    # --- what goes wrong ---

    def bad_lines(self):
        lines = b"http://a/\nmailto:x\n\n\xff\xfe\x00\nhttp://\nhttp://h:99999/\n//x\nhttp://b/"
        output = self.run(stdin=lines, code=t.EXIT_FAILURE, patterns=[
            r"(?m)^trawl: line 2: .*mailto:x.*neither http nor https$",
            r"(?m)^trawl: line 4: .*\\xff\\xfe\\x00.*no scheme", r"(?m)^trawl: line 5: .*no host",
            r"(?m)^trawl: line 6: .*port", r"(?m)^trawl: line 7: .*no base URL"])
        self.equal(output, "http://a/\thttp://a/\t-\nhttp://b/\thttp://b/\t-\n", "the good ones")
        self.equal(self.run("http://a/", "ftp://x", code=t.EXIT_FAILURE,
                            patterns=["trawl: URL 2: .*ftp://x"]),
                   "http://a/\thttp://a/\t-\n", "bad arguments")

    def long_lines(self):
        long = b"http://h/" + b"a" * (5 * MIB)
        lines = b"http://a/\n" + long + b"\n" + b"http://h/" + b"b" * (40 * MIB) + b"\nhttp://c/\n"
        output = self.run(stdin=lines, code=t.EXIT_FAILURE,
                          patterns=["^trawl: line 3: longer than 16 MiB\n$"])
        href = long.decode()
        self.equal(output == f"http://a/\thttp://a/\t-\n{href}\t{href}\t-\nhttp://c/\thttp://c/\t-\n",
                   True, "long lines")
        limit = 16 * MIB
        for size, good in ((limit, True), (limit + 1, False), (limit + 2, False),
                           (limit + 3, False)):
            for end in (b"", b"\n", b"\r\n"):
                output = self.run(stdin=(b"http://h/".ljust(size, b"a") + end + b"\nhttp://b/"),
                                  code=t.EXIT_DONE if good else t.EXIT_FAILURE)
                expected = [size, 9] if good else [9]
                self.equal([len(line.split("\t")[0]) for line in output.splitlines()], expected,
                           f"{size} bytes, {end!r}")

    def usage(self):
        for arguments, *patterns in (
                (["--rules", "sort_querry"], "did you mean sort_query", "--list-rules"),
                (["--rules", "sort_query,drop-www"], '"drop-www"', "did you mean drop_www"),
                (["--rules", "al"], "did you mean all"),
                (["--rules", "fold_everything"], "fold_everything", "sort_query, drop_parameters"),
                (["--rules", ""], ),
                (["--rules", "sort_query,"], '"" is no(t a)? rule'),
                (["--rules", "drop_fragment"], "always on"),
                (["--rules=-all"], "cannot have a sign"),
                (["--host", "example.com"], "HOST=RULES"),
                (["--host", "example.com=sort_qery"], "did you mean sort_query"),
                (["--host", "http://h=sort_query"], "http://h", "name alone"),
                (["--host", "h=all", "--host", "h=none"], "named twice"),
                (["--parameter-names", "x"], "--parameter-names", "has no effect", "--rules"),
                (["--index-names", "*.html", "--rules", "drop_index"], r"\*\.html", "%2A"),
                (["--rules", "drop_session_ids", "--session-id-names=-x"], "not in the list"),
                (["--base", "/x"], "--base", "/x"),
                (["--no-such-option"], )):
            output = self.run(*arguments, "http://h/", code=t.EXIT_USAGE, patterns=patterns or ["."])
            self.equal(output, "", f"{arguments}")
        self.test.check("Usage: trawl normalize" in self.run("--help"), "--help")

    def explains_the_rules(self):
        text = self.run("--list-rules")
        rules = re.findall(r"(?m)^(\w+)( \(always on\))?\n    (.+)\n    (\S+) -> (\S+)$", text)
        self.equal(len(rules), 14, "rules listed")
        for name, always, _, before, after in rules:
            if always:
                name_list = []
            else:
                name_list = ["--rules", name]
            line = self.run(*name_list, before)
            self.equal(line, f"{before}\t{after}\t{name}\n", f"the example of {name}")
        for name in ("utm_*", "gclid", "jsessionid", "index.html"):
            self.test.check(f" {name}" in text, f"{name} is not listed")

    def answers_as_lines_come(self):
        with subprocess.Popen(self.command(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            for i in range(3):
                process.stdin.write(f"http://h/{i}\n".encode())
                process.stdin.flush()
                self.equal(process.stdout.readline(), f"http://h/{i}\thttp://h/{i}\t-\n".encode(),
                           "an answer before the next line")
            process.stdin.close()
            self.equal(process.wait(timeout=60), t.EXIT_DONE, "exit code")

    def output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            finished = subprocess.run(self.command("http://h/"), stdout=full, stderr=subprocess.PIPE,
                                      timeout=60, check=False)
        self.equal(finished.returncode, t.EXIT_NO_SPACE, "a full disk")
        self.test.check(b"cannot write standard output" in finished.stderr, "what went wrong",
                        finished.stderr)
        finished = subprocess.run(self.command(), stdin=os.open(self.directory, os.O_RDONLY),
                                  capture_output=True, timeout=60, check=False)
        self.equal(finished.returncode, t.EXIT_FAILURE, "a directory as input")
        self.test.check(b"cannot read standard input" in finished.stderr, "what went wrong",
                        finished.stderr)

    # --- much ---

    def peak_memory(self, *arguments, lines):
        """Of a run over that file, in bytes: as the child of a small process, since a new process
        starts with the peak of the one it was forked from."""
        report = self.directory / "memory"
        with open(lines, "rb") as stdin:
            subprocess.run([sys.executable, "-c", MEASURE, report, *self.command(*arguments)],
                           stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=120, check=True)
        return int(report.read_text()) * 1024

    def many_lines(self):
        text = "".join(f"http://www.h{i % 1000}.example/a//{i}?b={i}&a=1&utm_id=x#f\n"
                       for i in range(300_000)).encode()
        output = self.run("--rules", "all", stdin=text).splitlines()
        self.equal(len(output), 300_000, "lines out")
        self.equal(output[123_456].split("\t")[1], "http://h456.example/a/123456?a=1&b=123456",
                   "the key of a line")
        if self.options.sanitized:
            return
        few, many, repeated = (self.directory / name for name in ("few", "many", "repeated"))
        few.write_bytes(text[:text.index(b"\n") + 1])
        many.write_bytes(text)
        repeated.write_bytes(text[:MIB] * 16)
        least = self.peak_memory("--rules", "all", lines=few)
        for arguments, lines, most in ((["--rules", "all"], many, 2 * MIB),
                                       (["--merge"], repeated, 20 * MIB),
                                       (["--merge", "--rules", "all"], many, 120 * MIB)):
            more = self.peak_memory(*arguments, lines=lines) - least
            self.test.check(more < most, f"{arguments} on {lines.name}: {more >> 10} KiB more than "
                            f"for one line, expected less than {most >> 10}")


HELPERS = ("command", "run", "equal", "peak_memory")
MEASURE = """
import os, sys
process = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
"""


def normalize(test, directory, options):
    t.run_cases(test, Normalize(test, directory, options), HELPERS, options.only)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--sanitized", action="store_true", help="memory is not measured")
    arguments.add_argument("only", nargs="*", help="run these cases alone")
    t.main(normalize, arguments.parse_args())
