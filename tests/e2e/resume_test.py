"""`resume` continues the crawl that was named, wherever its state is now."""

import http.server
import re
import subprocess
import threading

import trawl_testing as t

BRANCHES, LEAVES = 5, 3


class TreeServer:
    """A page with links to BRANCHES pages, each with links to LEAVES more."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                links = []
                if self.path == "/":
                    links = [f"/{i}" for i in range(BRANCHES)]
                elif re.fullmatch(r"/\d+", self.path):
                    links = [f"{self.path}/{i}" for i in range(LEAVES)]
                body = "".join(f"<a href='{link}'>x</a>" for link in links).encode()
                self.send_response(404 if self.path == "/robots.txt" else 200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    @property
    def branches(self):
        return {self.url(f"/{i}") for i in range(BRANCHES)}

    @property
    def urls(self):
        leaves = {f"{branch}/{i}" for branch in self.branches for i in range(LEAVES)}
        return {self.url()} | self.branches | leaves

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def write_config(directory, server, name, **tables):
    """A crawl that fetches one page after the other."""
    return t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / f"{name}-state",
        **{"fetch": {"threads": 1, "connections": 1}, **tables}))


def check_all(test, server, state, what):
    pages = t.read_pages(test, state)
    test.check_equal_sets(t.keys_of(pages), server.urls, what)
    test.check(len(pages) == len(server.urls), f"{what}: {len(pages)} lines of output")


def resume_command(finished):
    found = re.search(r"^to resume: (.*)$", finished.text, re.MULTILINE)
    if not found:
        raise t.Failure(f"no resume command\n{finished.tail()}")
    return found.group(1)


def printed_command_works_anywhere(test, directory, options, server):
    config = write_config(directory, server, "printed")
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    for name in ("printed", "it's printed"):
        limited = t.run(options, directory, "crawl", config, "--set",
                        f"crawl.state_dir=\"{name}\"", "--set", "scope.max_pages=5")
        t.expect_exit(test, limited, t.EXIT_DONE, "a crawl with max_pages")
        state = directory / name
        first = t.read_pages(test, state)
        test.check(len(first) == 5, f"{len(first)} pages, max_pages is 5")
        resumed = subprocess.run(resume_command(limited) + " --set scope.max_pages=1000",
                                 shell=True, cwd=elsewhere, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, timeout=100)
        test.check(resumed.returncode == t.EXIT_DONE,
                   f"the printed command: exit code {resumed.returncode}",
                   resumed.stdout + resumed.stderr)
        check_all(test, server, state, "the printed command")
        test.check(t.read_pages(test, state)[:5] == first, "it started again")
        test.check(not list(elsewhere.iterdir()), "files in the working directory",
                   list(elsewhere.iterdir()))
    test.check(not (directory / "printed-state").exists(),
               "state where --set crawl.state_dir did not say")


def moved_state(test, directory, options, server):
    config = write_config(directory, server, "moved")
    limited = t.run(options, directory, "crawl", config, "--set", "scope.max_pages=5")
    t.expect_exit(test, limited, t.EXIT_DONE, "a crawl with max_pages")
    state, moved = directory / "moved-state", directory / "moved-state-2"
    state.rename(moved)
    for pages in (8, 1000):  # the second resume finds what the first one saved
        resumed = t.run(options, directory, "resume", moved.name, "--set",
                        f"scope.max_pages={pages}")
        t.expect_exit(test, resumed, t.EXIT_DONE, "a moved state directory")
        test.check(not state.exists(), "the old state directory is there again")
    check_all(test, server, moved, "a moved state directory")


def nothing_to_resume(test, directory, options, server):
    config = write_config(directory, server, "nothing")
    state = directory / "nothing-state"

    def refused(what, *arguments, place=state):
        finished = t.run(options, directory, "resume", *arguments)
        t.expect_exit(test, finished, t.EXIT_FAILURE, f"resume: {what}")
        test.check(f"no crawl in {place}" in finished.text or "no-such-thing" in finished.text,
                   f"{what}: it does not say where it looked", finished.tail())

    refused("no state directory", config)
    test.check(not state.exists(), "resume made a state directory")
    state.mkdir()
    refused("an empty state directory", config)
    refused("an empty directory", state)
    refused("an empty directory by a relative path", "nothing-state")
    refused("a directory that --set names", config, "--set", "crawl.state_dir=\"other\"",
            place=directory / "other")
    refused("nothing", directory / "no-such-thing")
    test.check(not list(state.iterdir()), "resume left files", list(state.iterdir()))
    missing = t.run(options, directory, "resume", config)
    test.check(f"crawl {config}" in missing.text, "it does not say how to start", missing.tail())


def start_or_resume(test, directory, options, server):
    config = write_config(directory, server, "service")
    state = directory / "service-state"
    for pages in (5, 9, 1000):
        finished = t.run(options, directory, "crawl", config, "--or-resume",
                         "--set", f"scope.max_pages={pages}")
        t.expect_exit(test, finished, t.EXIT_DONE, f"--or-resume up to {pages} pages")
        test.check(len(t.read_pages(test, state)) == min(pages, len(server.urls)),
                   f"--or-resume up to {pages} pages", finished.tail())
    check_all(test, server, state, "--or-resume")
    both = t.run(options, directory, "crawl", config, "--or-resume", "--fresh")
    t.expect_exit(test, both, t.EXIT_USAGE, "--or-resume --fresh")
    check_all(test, server, state, "--or-resume --fresh")
    refused = t.run(options, directory, "crawl", config)
    t.expect_exit(test, refused, t.EXIT_FAILURE, "crawl where a crawl is")


def narrower_depth(test, directory, options, server):
    config = write_config(directory, server, "narrow")
    limited = t.run(options, directory, "crawl", config, "--set", "scope.max_pages=3")
    t.expect_exit(test, limited, t.EXIT_DONE, "a crawl with max_pages")
    first = t.read_pages(test, directory / "narrow-state")
    read = len(t.keys_of(first) & server.branches)
    queued = re.search(r"still queued (\d+)", limited.text)
    left = BRANCHES + read * LEAVES + 1 - len(first)
    test.check(read > 0 and queued is not None and int(queued.group(1)) == left,
               f"{left} URLs should be queued", limited.tail())
    resumed = t.run(options, directory, "resume", config, "--set", "scope.max_depth=1")
    t.expect_exit(test, resumed, t.EXIT_DONE, "resumed with a max_depth")
    pages = t.read_pages(test, directory / "narrow-state")
    added = t.keys_of(pages[len(first):])
    test.check_equal_sets(added, server.branches - t.keys_of(first), "resumed with a max_depth")
    # Those that were queued, and those on the pages fetched since.
    deep = len(server.urls - server.branches - t.keys_of(first) - {server.url()})
    test.check(f"too deep {deep}" in resumed.text, f"{deep} skipped URLs not in the summary",
               resumed.tail())
    test.check("still queued 0" in resumed.text, "queued URLs left", resumed.tail())


def fresh_spares_others(test, directory, options, server):
    shared = directory / "shared"
    mine, other = [write_config(directory, server, name, output={"directory": shared})
                   for name in ("mine", "other")]
    t.expect_exit(test, t.run(options, directory, "crawl", mine), t.EXIT_DONE, "the first crawl")
    written = shared / "pages.jsonl"
    before = written.read_bytes()
    test.check(before.count(b"\n") == len(server.urls), "the first crawl's pages")
    for arguments in (["--fresh"], []):
        refused = t.run(options, directory, "crawl", other, *arguments)
        test.check(refused.exit_code in (t.EXIT_FAILURE, t.EXIT_USAGE, t.EXIT_BAD_CONFIG),
                   f"another crawl's pages: exit code {refused.exit_code}", refused.tail())
        test.check(str(shared) in refused.text, "the directory is not named", refused.tail())
        test.check(written.read_bytes() == before, "another crawl's pages are changed")
        test.check(not (directory / "other-state").exists(), "a half-made crawl is left")
    again = t.run(options, directory, "crawl", mine, "--fresh")
    t.expect_exit(test, again, t.EXIT_DONE, "a fresh crawl of its own")
    test.check(written.read_bytes().count(b"\n") == len(server.urls),
               "a fresh crawl does not begin with an empty file")


def other_url_rules(test, directory, options, server):
    """Rules for keys are part of the state: others are refused, unless they are to replace them."""
    name = "rules"
    config = write_config(directory, server, name, url={"rules": ["sort_query"]})
    t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "a crawl with rules")
    config = write_config(directory, server, name, url={"rules": ["sort_query", "drop_www"]})
    refused = t.run(options, directory, "resume", config)
    t.expect_exit(test, refused, t.EXIT_FAILURE, "resuming with other rules")
    test.check("drop_www is on now" in refused.text and "--change-url-rules" in refused.text,
               "the error names neither what differs nor the flag", refused.tail())
    t.expect_exit(test, t.run(options, directory, "resume", config, "--change-url-rules"),
                  t.EXIT_DONE, "resuming with --change-url-rules")
    t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE,
                  "resuming with the rules that replaced the old ones")


def long_seed(test, directory, options, server):
    for length, code in ((64, t.EXIT_DONE), (65, t.EXIT_BAD_CONFIG)):
        seed = server.url("/").ljust(length, "x")
        config = t.write_config(directory / f"long-{length}.toml", t.fast_crawl(
            [seed], directory / f"long-{length}-state", scope={"max_url_length": 64}))
        for command in (["check-config"], ["crawl"], ["resume"]):
            finished = t.run(options, directory, *command, config)
            t.expect_exit(test, finished, code, f"{command[0]}, a seed of {length} bytes of 64")
            if code != t.EXIT_DONE:
                test.check("max_url_length" in finished.text,
                           "the error does not name the key", finished.tail())
    test.check(not (directory / "long-65-state").exists(), "state of a crawl that cannot be")


def resume(test, directory, options):
    server = TreeServer()
    try:
        for part in (printed_command_works_anywhere, moved_state, nothing_to_resume, start_or_resume,
                     narrower_depth, fresh_spares_others, other_url_rules, long_seed):
            part(test, directory, options, server)
    finally:
        server.stop()


if __name__ == "__main__":
    t.main(resume, t.parser(__doc__).parse_args())
