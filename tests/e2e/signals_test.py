"""Interrupts: one drains, two drop the requests in flight, three kill; nothing is ever lost."""

import http.server
import os
import pathlib
import signal
import subprocess
import threading

import trawl_testing as t

EXIT_FORCED = 13
PAGES = 12
DRAINS = "finishing the requests in flight"
STOPS = "dropping the requests in flight"


class StallingServer:
    """The first page answers at once; the others, which it links to, once `answer` is set."""

    def __init__(self):
        self.answer = threading.Event()
        self.stalled = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.respond(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that left
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, name=""):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{name}"

    @property
    def urls(self):
        return {self.url(), *(self.url(f"page-{i}") for i in range(PAGES))}

    def respond(self, request):
        body = b"<p>a page</p>"
        if request.path == "/":
            body = "".join(f"<a href='page-{i}'>x</a>" for i in range(PAGES)).encode()
        elif request.path.startswith("/page-"):
            with self.lock:
                self.stalled += 1
            self.answer.wait(60)
        request.send_response(404 if request.path == "/robots.txt" else 200)
        request.send_header("Content-Type", "text/html")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.set()
        self.server.shutdown()
        self.server.server_close()


class StalledCrawl:
    """A crawl all of whose connections wait for an answer."""

    def __init__(self, options, directory, server, name, **tables):
        self.options, self.directory, self.server = options, directory, server
        self.state = directory / f"{name}-state"
        self.config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
            [server.url()], self.state,
            **{"fetch": {"threads": 1, "connections": 4, "timeout": "50s"},
               "checkpoint": {"interval": "1h"}, **tables}))
        self.run = t.Run(options, directory, "crawl", self.config)
        self.wait_for(lambda: server.stalled >= 4, "requests that stall")

    def wait_for(self, condition, what):
        t.wait_until(lambda: condition() or self.run.ended(), what)
        if not condition():
            raise t.Failure(f"ended before {what}\n{self.run.tail()}")

    def wait_for_log(self, text):
        self.wait_for(lambda: text in self.run.text, f"\"{text}\" in the log")

    def check_ended(self, test, codes, what):
        self.run.wait()
        test.check(self.run.exit_code in codes,
                   f"{what}: exit code {self.run.exit_code}, expected {codes}", self.run.tail())
        if self.run.exit_code == t.EXIT_INTERRUPTED:
            test.check(f"to resume: {self.options.trawl} resume {self.config}" in self.run.text,
                       f"{what}: no resume command", self.run.tail())

    def check_resumes(self, test, what):
        self.server.answer.set()
        resumed = t.run(self.options, self.directory, "resume", self.config)
        t.expect_exit(test, resumed, t.EXIT_DONE, f"{what}, resumed")
        check_all_pages(test, self.server, self.state, what)


def check_all_pages(test, server, state, what):
    pages = t.read_pages(test, state)
    test.check_equal_sets(t.keys_of(pages), server.urls, what)
    test.check(len(pages) == len(server.urls), f"{what}: {len(pages)} lines of output",
               [page["url"] for page in pages])
    failed = [page for page in pages if page["error"] or page["status"] != 200]
    test.check(not failed, f"{what}: failed pages", failed)


def drains(test, directory, options):
    with StallingServer() as server:
        crawl = StalledCrawl(options, directory, server, "drain")
        crawl.run.signal(signal.SIGUSR1)
        crawl.wait_for_log("checkpoint published")
        test.check("[info] checkpoint published" in crawl.run.text,
                   "the checkpoint is not logged at level info", crawl.run.tail())
        crawl.run.signal(signal.SIGINT)
        crawl.wait_for_log(DRAINS)
        asked = server.stalled
        test.check(not crawl.run.ended(), "ended with requests in flight", crawl.run.tail())
        server.answer.set()
        crawl.check_ended(test, [t.EXIT_INTERRUPTED], "one interrupt")
        pages = t.read_pages(test, crawl.state)
        # Those in flight are finished, and no others begun.
        test.check(len(pages) == 1 + asked == 1 + server.stalled,
                   f"{asked} in flight, {server.stalled} requested, {len(pages)} pages")
        crawl.check_resumes(test, "one interrupt")


def stops_at_once(test, directory, options):
    with StallingServer() as server:
        crawl = StalledCrawl(options, directory, server, "stop")
        for text in (DRAINS, STOPS):
            crawl.run.signal(signal.SIGINT)
            crawl.wait_for_log(text)
        crawl.check_ended(test, [t.EXIT_INTERRUPTED], "two interrupts")
        test.check(len(t.read_pages(test, crawl.state)) == 1, "pages that nobody answered")
        crawl.check_resumes(test, "two interrupts")


def third_may_come_late(test, directory, options):
    with StallingServer() as server:
        crawl = StalledCrawl(options, directory, server, "late")
        for text in (DRAINS, STOPS):
            crawl.run.signal(signal.SIGTERM)
            crawl.wait_for_log(text)
        crawl.run.signal(signal.SIGTERM)
        crawl.check_ended(test, [t.EXIT_INTERRUPTED, EXIT_FORCED], "three interrupts")
        crawl.check_resumes(test, "three interrupts")


def is_stopped(pid):
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        if status.read_text().rsplit(")", 1)[1].split()[0] != "T":
            return False
    return True


def third_ends_at_once(test, directory, options):
    with StallingServer() as server:
        # A filter that takes a moment to write into the last checkpoint.
        crawl = StalledCrawl(options, directory, server, "force",
                             filter={"expected_urls": 8_000_000})
        crawl.run.signal(signal.SIGINT)
        crawl.wait_for_log(DRAINS)
        # The second and the third are both pending when it continues, so it cannot end in between.
        crawl.run.signal(signal.SIGSTOP)
        t.wait_until(lambda: is_stopped(crawl.run.process.pid), "a process that stops")
        crawl.run.signal(signal.SIGINT)
        crawl.run.signal(signal.SIGTERM)
        crawl.run.signal(signal.SIGCONT)
        crawl.check_ended(test, [EXIT_FORCED], "three interrupts at once")
        test.check(STOPS in crawl.run.text, "no word of the second", crawl.run.tail())
        crawl.check_resumes(test, "three interrupts at once")


def nowhere_to_print(test, directory, options):
    for number, streams in enumerate(["2>&-", ">/dev/full", ">/dev/full 2>&-", ">&- 2>&-",
                                      ">/dev/full 2>/dev/full", "<&- >&- 2>&-"]):
        with StallingServer() as server:
            state = directory / f"mute-{number}-state"
            config = t.write_config(directory / f"mute-{number}.toml",
                                    t.fast_crawl([server.url()], state))

            def start(command):
                return subprocess.Popen(
                    ["sh", "-c", f"exec \"$0\" \"$@\" {streams}", options.trawl, command, config],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, cwd=directory)

            crawl = start("crawl")
            try:
                t.wait_until(lambda: server.stalled > 0 or crawl.poll() is not None, "a request")
                if crawl.poll() is None:
                    os.kill(crawl.pid, signal.SIGUSR1)
                    os.kill(crawl.pid, signal.SIGINT)
                server.answer.set()
                code = crawl.wait(60)
            finally:
                crawl.kill()
                crawl.wait()
            test.check(0 <= code < 128, f"crawl {streams}: exit code {code}")
            code = start("resume").wait(60)
            test.check(0 <= code < 128, f"resume {streams}: exit code {code}")
            # What was meant for a closed stream is not in the crawl's files.
            check_all_pages(test, server, state, f"the streams {streams}")


def signals(test, directory, options):
    for part in (drains, stops_at_once, third_may_come_late, third_ends_at_once,
                 nowhere_to_print):
        part(test, directory, options)


if __name__ == "__main__":
    t.main(signals, t.parser(__doc__).parse_args())
