"""A web server for scrapy_test.py, whose log says what was fetched, and processes that crawl it."""

import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

CRAWLS = pathlib.Path(__file__).with_name("scrapy_crawls.py")


class Server:
    """Serves `tasks`, a dict of the paths' lists of tasks. Paths with "redirect" lead to others, those with "flaky"
    answer 503 at first, those with "blocked" wait for `released`."""

    def __init__(self, tasks, robots=None):
        self.tasks = tasks
        self.log = []  # (time, method, path, body's bytes, status)
        self.changed = threading.Condition()
        self.released = threading.Event()
        self._seen = set()
        self._robots = robots
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            do_POST = do_GET

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except OSError:  # the client was killed
                    self.close_connection = True

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/"

    def answer(self, handler):
        began = time.monotonic()
        path, headers = handler.path, {}
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        status, content = 200, json.dumps(self.tasks.get(path, [])).encode()
        with self.changed:
            first = path not in self._seen
            self._seen.add(path)
        if path == "/robots.txt":
            status, content = (200, self._robots) if self._robots else (404, b"")
        elif "redirect" in path:
            status, headers["Location"] = 302, path.replace("redirect", "target")
        elif "flaky" in path and first:
            status = 503
        with self.changed:
            self.log.append((began, handler.command, path, len(body), status))
            self.changed.notify_all()
        if "blocked" in path:
            self.released.wait(60)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def wait_for(self, count, process):
        """Until so many requests have come, or the process has ended."""
        with self.changed:
            while len(self.log) < count and process.poll() is None:
                self.changed.wait(0.05)

    def fetched(self):
        """What was fetched with success, and how often."""
        counts = {}
        with self.changed:
            for _, method, path, size, status in self.log:
                if status != 503:
                    counts[(method, path, size)] = counts.get((method, path, size), 0) + 1
        return counts

    def close(self):
        self.released.set()
        self._http.shutdown()
        self._http.server_close()


class Crawl:
    """A process that crawls; its output is read meanwhile."""

    def __init__(self, spider, url, directory=None, **settings):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-B", str(CRAWLS), spider, url, json.dumps(settings)], text=True, cwd=directory,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        self.lines = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for(self, text, count=1, seconds=60):
        """Until `text` was printed so often, or the process has ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: sum(text in line for line in self.lines) >= count or not self._reader.is_alive(), seconds)

    def end(self, seconds=120):
        """Its exit code, after its end."""
        try:
            code = self.process.wait(seconds)
        finally:
            self.process.kill()
        self._reader.join()
        self.process.stdout.close()
        return code

    def stats(self, tracebacks=False):
        """The statistics of a crawl that must come to its end, without a traceback unless it may have some."""
        assert self.end() == 0, "\n".join(self.lines)
        assert tracebacks or "Traceback" not in "\n".join(self.lines), "\n".join(self.lines)
        return json.loads(self.lines[-1].partition("STATS ")[2])

    def in_progress(self):
        """How many requests were in progress at its end."""
        counts = [line.split()[2] for line in self.lines if line.startswith("IN PROGRESS ")]
        return int(counts[-1]) if counts else 0

    def kill(self):
        self.process.kill()
        assert self.end() == -signal.SIGKILL, "\n".join(self.lines)

    def pages(self):
        return [line.split(" ", 1)[1] for line in self.lines if line.startswith("PAGE ")]
