"""The summary adds up to the lines of pages.jsonl over all runs, and says what to type next; the
progress line says what a crawl waits for, as far as the terminal allows."""

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
import threading

import trawl_testing as t
from page_server import Server

CLASSES = {"2xx": 2, "3xx": 3, "4xx": 4, "5xx": 5, "1xx": 1, "no response": 0}


def classes_of(text):
    """The table of status classes in a summary: class and count."""
    rows = re.findall(r"(?m)^  (no response|[1-5]xx) +(\d+)  ", text)
    return {CLASSES[name]: int(count) for name, count in rows}


def failures_of(text):
    """The failures in a summary by reason, and their total."""
    total = re.search(r"(?m)^failed: (\d+), by reason with an example\n((?:  .*\n)*)", text)
    if not total:
        return 0, {}
    rows = re.findall(r"(?m)^  (.*?) +(\d+)  http", total.group(2))
    return int(total.group(1)), {reason: int(count) for reason, count in rows}


def check_adds_up(test, text, pages, what):
    lines = {}
    for page in pages:
        lines[page["status"] // 100] = lines.get(page["status"] // 100, 0) + 1
    test.check(classes_of(text) == lines, f"{what}: classes {classes_of(text)}, lines {lines}", text)
    failed = [page for page in pages if page["status"] >= 400 or page["error"] or page["reason"]]
    total, reasons = failures_of(text)
    test.check(total == len(failed), f"{what}: {total} failed, {len(failed)} lines", text)
    test.check(sum(reasons.values()) == total, f"{what}: the reasons {reasons} are not {total}", text)
    for name, count in (("redirect", sum(page["redirect"] is not None for page in pages)),
                        ("truncated", sum(page["truncated"] is not None for page in pages)),
                        ("duplicate", sum(page["duplicate_of"] is not None for page in pages))):
        found = re.search(rf"(?m)^of these: .*?(\d+) {name}", text)
        test.check(int(found.group(1) if found else 0) == count, f"{what}: not {count} {name}", text)


def odd_site(server):
    """A site with every kind of answer. Returns its seed."""
    closed = t.free_port()
    good = [f"/{i}" for i in range(8)]
    for path in good:
        server.serve(path, f"<p>{path}".encode())
    server.serve("/copy", b"<p>/0")
    server.serve("/moved", b"", status=301, Location=good[0])
    server.serve("/broken", b"oops", status=500)
    server.serve("/short", b"<p>not all", Content_Length="1000")
    links = [*good, "/copy", "/moved", "/broken", "/short", "/none", "/none2",
             f"http://127.0.0.1:{closed}/down", "mailto:a@b.example"]
    return server.serve("/", "".join(f"<a href='{link}'>x</a>" for link in links).encode())


def crawls_odd_site(test, directory, options):
    """At a limit, resumed as the summary says, killed, resumed again: each time it adds up."""
    server = Server()
    state = directory / "odd"
    config = t.write_config(
        directory / "odd.toml",
        t.fast_crawl([odd_site(server)], state, scope={"type": "any", "max_pages": 5},
                     politeness={"respect_robots": False, "per_host_connections": 1}))
    limited = t.run(options, directory, "crawl", config)
    t.expect_exit(test, limited, t.EXIT_DONE, "a limit")
    check_adds_up(test, limited.text, t.read_pages(test, state), "at a limit")
    hint = re.search(r"(?m)^to resume: (.*)$", limited.text)
    if not test.check(hint and hint.group(1).endswith("--set scope.max_pages=10"),
                      "no command that raises the limit", limited.tail()):
        return
    typed = shlex.split(hint.group(1))
    again = t.run(options, directory, *typed[1:])
    hint = re.search(r"(?m)^to resume: (.*)$", again.text)
    test.check(hint and hint.group(1).endswith("--set scope.max_pages=20")
               and "max_pages=10" not in hint.group(1), "the limit is named twice", again.tail())
    check_adds_up(test, again.text, t.read_pages(test, state), "resumed")
    rest = t.run(options, directory, "resume", state, "--set", "scope.max_pages=1000")
    pages = t.read_pages(test, state)
    check_adds_up(test, rest.text, pages, "to the end")
    total, reasons = failures_of(rest.text)
    test.check(reasons.get("HTTP 404") == 2 and reasons.get("HTTP 500") == 1
               and reasons.get("connection refused") == 1, f"reasons {reasons}", rest.tail())
    test.check(f"; {len(pages)} since the crawl began" in rest.text, "not all runs counted", rest.tail())
    test.check("other scheme 1" in rest.text, "skipped links of the first run are missing", rest.tail())
    for part in ("peak memory: ", f"output: {state}/output/pages.jsonl", "are not kept"):
        test.check(part in rest.text, f"no '{part}'", rest.tail())
    test.check("filter:" not in rest.text, "the filter is as good as asked for", rest.tail())
    # A damaged file of the tally is counted again.
    (state / "tally").write_bytes(b"{\"version\":1,")
    later = t.run(options, directory, "resume", state, "-v")
    check_adds_up(test, later.text, pages, "after damage")
    test.check("is damaged: its numbers are counted again" in later.text, "no warning", later.tail())
    test.check("\nfilter: " in later.text, "-v does not show the filter", later.tail())
    server.stop()


def killed(test, directory, options):
    """After kill -9 no line is missing in the summary, and none is counted twice."""
    server = Server()
    paths = [f"/{i}" for i in range(60)]
    for path in paths:
        server.serve(path, b"<p>" + path.encode())
    seed = server.serve("/", "".join(f"<a href='{path}'>x</a>" for path in paths).encode())
    state = directory / "killed"
    config = t.write_config(
        directory / "killed.toml",
        t.fast_crawl([seed], state, politeness={"delay": "10ms", "per_host_connections": 1}))
    crawl = t.Run(options, directory, "crawl", config)
    output = state / "output" / "pages.jsonl"
    t.wait_until(lambda: output.exists() and output.read_bytes().count(b"\n") >= 10, "ten pages")
    crawl.kill()
    resumed = t.run(options, directory, "resume", config)
    t.expect_exit(test, resumed, t.EXIT_DONE, "after kill -9")
    check_adds_up(test, resumed.text, t.read_pages(test, state), "after kill -9")
    server.stop()


class Terminal:
    """trawl with a terminal as its standard error."""

    def __init__(self, options, directory, *arguments, columns=100, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.shown = b""
        self.process = subprocess.Popen(
            [options.trawl, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=slave, cwd=directory,
            env={**os.environ, "TERM": "xterm", **environment})
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # closed at the other end
                return
            if not data:
                return
            self.shown += data

    def wait_for(self, text):
        t.wait_until(lambda: text in self.shown, f"{text} on a terminal: {self.shown[-500:]}", 20)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.reader.join(10)
        os.close(self.master)
        return self.shown


def down(directory, name):
    """The config of a crawl whose only server is down, and the address of that server."""
    address = f"127.0.0.1:{t.free_port()}"
    config = t.write_config(
        directory / f"{name}.toml",
        t.fast_crawl([f"http://{address}/"], directory / name, fetch={"retries": 20, "retry_delay": "1s"},
                     politeness={"respect_robots": False, "host_backoff": "30s"}))
    return config, address.encode()


def only_server_is_down(test, directory, options):
    config, address = down(directory, "down")
    terminal = Terminal(options, directory, "crawl", config)
    terminal.wait_for(b"waiting for 127.0.0.1")
    shown = terminal.interrupt()
    for part in (b": connection refused, 1 in a row, next try in ", b"\x1b[K"):
        test.check(part in shown, f"the live line lacks {part}", shown)
    lines = [line for line in shown.split(b"\n") if b": fails: " in line]
    test.check(len(lines) == 1 and address in lines[0] and b"next try at " in lines[0],
               "not one line about the host", shown)


def robots_cannot_be_had(test, directory, options):
    """The same, if robots.txt is what is asked for."""
    config, address = down(directory, "robots")
    terminal = Terminal(options, directory, "crawl", config, "--set",
                        "politeness.respect_robots=true", "--set", "politeness.robots_backoff=30s",
                        TZ="Asia/Tokyo")
    terminal.wait_for(b"waiting for 127.0.0.1")
    shown = terminal.interrupt()
    test.check(re.search(rb": fails: .*robots.txt.*next try at \d\d:\d\d:\d\d JST", shown),
               "no line about robots.txt in local time", shown)


def dumb_terminals(test, directory, options):
    for name, environment in (("dumb", {"TERM": "dumb"}), ("no_color", {"NO_COLOR": "1"})):
        config, _ = down(directory, name)
        terminal = Terminal(options, directory, "crawl", config, columns=40, **environment)
        terminal.wait_for(b": fails: " if name == "dumb" else b"waiting for")
        shown = terminal.interrupt()
        codes = set(re.findall(rb"\x1b\[[0-9;]*[a-zA-Z]", shown))
        test.check(codes <= (set() if name == "dumb" else {b"\x1b[K"}), f"{name}: {codes}", shown)
        if name == "no_color":
            live = [line for line in re.findall(rb"\r([^\r\n]*)\x1b\[K", shown) if line]
            test.check(live and all(len(line) < 40 for line in live), "a live line wraps", live)


def quiet(test, directory, options):
    server = Server()
    seed = server.serve("/", b"<a href='/none'>x</a>")
    config = t.write_config(directory / "quiet.toml", t.fast_crawl([seed], directory / "quiet"))
    crawl = t.run(options, directory, "crawl", config, "-q")
    t.expect_exit(test, crawl, t.EXIT_DONE, "-q")
    test.check(crawl.text == "", "-q is not quiet", crawl.text)
    server.stop()
    demo = t.run(options, directory, "demo", "--pages", 20, "-q")
    test.check(demo.exit_code == t.EXIT_DONE and demo.text == "", "demo -q is not quiet", demo.text)


def parked(test, directory, options):
    """A host that is parked: why, until when and how many times, in the log and in the summary."""
    config, address = down(directory, "parked")
    crawl = t.run(options, directory, "crawl", config, "--set", "politeness.host_failures=3",
                  "--set", "politeness.park_time=0s", "--set", "politeness.host_backoff=1ms",
                  "--set", "fetch.retry_delay=1ms")
    t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "a parked host")
    test.check(re.search(r"host parked for the rest of this run, its queue is kept, \d+ failures in a "
                         r"row; last failure: ", crawl.text), "no line about parking", crawl.tail())
    test.check(re.search(r"(?m)^  127\.0\.0\.1\S* is parked until the next run: connection refused, "
                         r"\d+ in a row$", crawl.text), "not in the summary", crawl.tail())


def summary(test, directory, options):
    parts = (crawls_odd_site, killed, only_server_is_down, robots_cannot_be_had, dumb_terminals,
             quiet, parked)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options))


if __name__ == "__main__":
    t.main(summary, t.parser(__doc__).parse_args())
