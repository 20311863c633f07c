"""The log of real crawls: JSON, levels of rooms, rotation, logrotate's SIGHUP, URLs in warnings, no
line for each page, and a terminal's form."""

import json
import os
import pty
import re
import select
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links

PATHS = [f"/{i}" for i in range(30)]


def respond(request):
    if request.path == "/robots.txt":
        return answer("", "404 Not Found")
    if request.path == "/7":
        return None
    return answer(links([*PATHS, "http://elsewhere.example/"]))


def crawl(test, directory, options, name, server, code=t.EXIT_DONE, **log):
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name, log=log))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, code, name)
    return finished


def quiet_by_default(test, directory, options):
    with ScriptedServer(respond) as server:
        finished = crawl(test, directory, options, "default", server)
    lines = [line for line in finished.text.splitlines() if line.startswith("[")]
    test.check(len(lines) < 5, "a line for each page at the default level", "\n".join(lines))


def json_lines(test, directory, options):
    file = directory / "crawl.json"
    with ScriptedServer(respond) as server:
        crawl(test, directory, options, "json", server, file=file, format="json", level="warn",
              levels={"http": "debug", "links": "debug"})
        pages = {server.url(path) for path in ["/", *PATHS]}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        test.check(list(line)[:4] == ["time", "level", "room", "message"]
                   and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]),
                   "a line of JSON", line)
    http = [line for line in lines if line["room"] == "http"]
    test.check_equal_sets({line["url"] for line in http}, pages, "http=debug has every request")
    test.check(any(line["room"] == "links" and "elsewhere.example" in line["message"]
                   for line in lines), "links=debug has the link that was skipped")
    test.check(all(line["room"] in ("http", "links") for line in lines),
               "a room that was to be quiet", [line for line in lines
                                               if line["room"] not in ("http", "links")])


def rotation(test, directory, options):
    folder = directory / "rotated"
    folder.mkdir()
    with ScriptedServer(respond) as server:
        crawl(test, directory, options, "rotation", server, file=folder / "trawl.log",
              level="debug", max_size="2KiB", keep=2)
    found = {path.name: path.stat().st_size for path in folder.iterdir()}
    test.check_equal_sets(set(found), {"trawl.log", "trawl.1.log", "trawl.2.log"}, "rotated files")
    test.check(all(size <= 2048 for size in found.values()), "a log file is too large", found)


def urls_in_warnings(test, directory, options):
    port = t.free_port()
    url = f"http://127.0.0.1:{port}/page"
    config = t.write_config(directory / "down.toml", t.fast_crawl(
        [url], directory / "down", politeness={"host_failures": 2, "host_backoff": "1ms",
                                               "robots_backoff": "1ms", "robots_retries": 1}))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, t.EXIT_INCOMPLETE, "a server that is down")
    warnings = [line for line in finished.text.splitlines() if "[warn]" in line]
    test.check(any("host parked" in line and url in line for line in warnings),
               "the warning does not name the URL", finished.tail())


def on_a_terminal(test, directory, options):
    for term, no_color, expected in (
            ("xterm", "", "\x1b[33m\x1b[1mwarn \x1b[0m [frontier]"),
            ("xterm", "1", "warn  [frontier]"), ("dumb", "", "warn  [frontier]")):
        config = t.write_config(directory / f"tty-{term}{no_color}.toml", t.fast_crawl(
            [f"http://127.0.0.1:{t.free_port()}/"], directory / f"tty-{term}{no_color}",
            politeness={"host_failures": 1, "robots_retries": 0}))
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": term, "NO_COLOR": no_color}
        process = subprocess.Popen([options.trawl, "crawl", str(config)], stderr=theirs,
                                   stdout=subprocess.DEVNULL, env=environment, cwd=directory)
        os.close(theirs)
        text = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                received = os.read(ours, 65536)
            except OSError:
                break
            if not received:
                break
            text += received
        process.wait()
        os.close(ours)
        shown = text.decode(errors="replace")
        line = next((line for line in re.split(r"[\r\n]", shown) if "host parked" in line), "")
        test.check(expected in line and re.search(r"\d\d:\d\d:\d\d ", line),
                   f"TERM={term} NO_COLOR={no_color}: no such line", repr(shown))
        if no_color or term == "dumb":
            test.check("\x1b[33m" not in shown, f"TERM={term} NO_COLOR={no_color}: colour",
                       repr(shown))


def logs(test, directory, options):
    t.run_parts(test, [(part,) for part in (
        quiet_by_default, json_lines, rotation, urls_in_warnings, on_a_terminal)],
        (test, directory, options), at_once=3)


if __name__ == "__main__":
    t.main(logs, t.parser(__doc__).parse_args())
