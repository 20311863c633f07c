"""The control socket, the API, the metrics and the commands that ask a running crawl; and requests to the
status server that are malformed, slow, oversized or from elsewhere."""

import contextlib
import fcntl
import http.client
import http.server
import json
import os
import pathlib
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import urllib.parse

import trawl_testing as t


class EndlessSite:
    """Each page links to the next one, so that a crawl goes on until it is stopped."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.strip("/")
                body = f"<p>{path}</p><a href='/{int(path or 0) + 1}'>x</a>".encode() \
                    if path.isdigit() or not path else b"none"
                found = path.isdigit() or not path
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path=""):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{path}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class StatusCrawl:
    """A crawl with a status page on a free port."""

    def __init__(self, options, directory, site, name, **tables):
        self.options, self.directory = options, directory
        self.state = directory / f"{name}-state"
        self.port = t.free_port()
        self.config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
            [site.url()], self.state, status={"listen": f"127.0.0.1:{self.port}"},
            **{"politeness": {"delay": "50ms"}, "fetch": {"threads": 1},
               "checkpoint": {"interval": "1h"}, **tables}))
        self.run = t.Run(options, directory, "crawl", self.config)
        t.wait_until(lambda: self.run.ended() or "status page: " in self.run.text, "the status page")
        if self.run.ended():
            raise t.Failure(f"the crawl ended\n{self.run.tail()}")

    @property
    def token(self):
        return (self.state / "status-token").read_text().strip()

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask("GET", path)
        if status != 200:
            raise t.Failure(f"GET {path}: {status} {body[:200]}")
        return json.loads(body)

    def post(self, path, body=None, **headers):
        headers = {"X-Trawl-Token": self.token, "Content-Type": "application/json", **headers}
        return self.ask("POST", path, body, headers)

    def raw(self, text, timeout=20):
        """What is answered to these bytes, up to the end of the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as connection:
            connection.sendall(text)
            answer = b""
            with contextlib.suppress(OSError):
                while data := connection.recv(65536):
                    answer += data
            return answer

    def command(self, verb, *arguments, target=None, stdin=None):
        return subprocess.run([self.options.trawl, verb, str(target or self.state),
                               *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              cwd=self.directory, input=stdin)

    def end(self):
        self.run.signal(signal.SIGINT)
        self.run.wait()


class Cases:
    def __init__(self, test, directory, options, site):
        self.test, self.directory, self.options, self.site = test, directory, options, site
        self.crawl = StatusCrawl(options, directory, site, "main",
                                 fetch={"threads": 1, "headers": ["X-Key: s3cret"]})

    def refused(self, answer, status, what):
        got, _, body = answer
        self.test.check(got == status, f"{what}: status {got}, expected {status}", body[:300])
        with contextlib.suppress(ValueError):
            self.test.check(bool(json.loads(body).get("error")), f"{what}: no error in words")

    def api_answers(self):
        crawl = self.crawl
        t.wait_until(lambda: crawl.get("/api/v1/status")["pages"] > 3, "pages")
        status = crawl.get("/api/v1/status")
        expected = {"state", "pid", "version", "state_dir", "started_at", "elapsed_ms", "pages",
                    "pages_per_second", "bytes", "bytes_per_second", "by_class", "by_status",
                    "redirects", "failed", "failures", "skipped", "duplicates", "truncated", "queued",
                    "leased", "deferred", "held", "set_aside_failed", "in_flight", "hosts",
                    "next_start", "filter", "checkpoint", "memory", "disk", "limits", "eta_ms",
                    "output"}
        self.test.check(expected <= status.keys(), "status", expected - status.keys())
        self.test.check(status["state"] == "running" and status["pid"] == crawl.run.process.pid,
                        "the state", status)
        self.test.check(sum(status["by_class"].values()) == status["pages"], "classes do not add up",
                        status)
        self.test.check(status["pages_per_second"] > 0 and status["bytes_per_second"] > 0, "rates",
                        status)
        hosts = crawl.get("/api/v1/hosts?limit=5")["hosts"]
        name = urllib.parse.urlsplit(self.site.url()).netloc
        self.test.check([host["host"] for host in hosts] == [name], "hosts", hosts)
        for order in ("fetched", "failed", "bytes", "slowest"):
            rows = crawl.get(f"/api/v1/hosts?order={order}")["hosts"]
            self.test.check(rows and rows[0]["fetched"] > 0, f"hosts by {order}", rows)
        self.refused(crawl.ask("GET", "/api/v1/hosts?order=size"), 400, "an unknown order")
        self.refused(crawl.ask("GET", "/api/v1/hosts?limit=0"), 400, "no hosts")
        self.test.check(crawl.get(f"/api/v1/host?host={name}")["host"] == name, "a host")
        self.refused(crawl.ask("GET", "/api/v1/host?host=nowhere.example"), 404, "an unknown host")
        self.test.check("samples" in crawl.get("/api/v1/history"), "history")
        self.test.check("skipped" in crawl.get("/api/v1/skipped"), "skipped")
        self.test.check("errors" in crawl.get("/api/v1/errors"), "errors")
        _, _, config = crawl.ask("GET", "/api/v1/config")
        self.test.check(b"(hidden)" in config and b"s3cret" not in config, "a secret in the config")
        self.test.check(crawl.ask("GET", "/healthz")[2] == b"ok\n", "healthz")
        _, headers, page = crawl.ask("GET", "/")
        self.test.check(crawl.token.encode() in page and "frame-ancestors 'none'" in
                        headers["Content-Security-Policy"], "the page", headers)
        self.test.check(headers["Cache-Control"] == "no-store", "the page may be stored", headers)

    def metrics_are_valid(self):
        promtool = t.program("promtool", "prometheus")
        _, headers, text = self.crawl.ask("GET", "/metrics")
        self.test.check(headers["Content-Type"].startswith("text/plain; version=0.0.4"), "type", headers)
        checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True)
        self.test.check(checked.returncode == 0 and not checked.stderr, "promtool",
                        checked.stdout + checked.stderr)
        for name in (b'trawl_pages_total{class="2xx"}', b"trawl_fetch_duration_seconds_bucket",
                     b"trawl_commit_duration_seconds_count", b"process_resident_memory_bytes"):
            self.test.check(name in text, f"no {name}", text)

    def only_ours_may_change(self):
        crawl, pause = self.crawl, "/api/v1/pause"
        ours = {"X-Trawl-Token": crawl.token}
        self.refused(crawl.ask("GET", pause), 405, "GET pause")
        self.refused(crawl.ask("PUT", "/api/v1/status"), 405, "PUT status")
        self.refused(crawl.ask("POST", pause), 401, "no token")
        self.refused(crawl.ask("POST", pause, headers={"X-Trawl-Token": "0" * 32}), 401, "a wrong token")
        self.refused(crawl.ask("POST", f"{pause}?token={crawl.token}"), 401, "the token in the query")
        self.refused(crawl.ask("POST", pause, headers={**ours, "Origin": "http://evil.example"}), 403,
                     "another origin")
        self.refused(crawl.ask("POST", pause, headers={**ours, "Origin": "null"}), 403, "no origin")
        self.refused(crawl.ask("POST", pause, headers={**ours, "Host": "evil.example"}), 403,
                     "another host")
        self.refused(crawl.ask("GET", "/", headers={"Host": f"evil.example:{crawl.port}"}), 403,
                     "another host's page")
        self.refused(crawl.ask("GET", "/", headers={"Host": "127.0.0.1:1"}), 403, "another port")
        self.refused(crawl.ask("POST", "/api/v1/offer", "url=x",
                               {**ours, "Content-Type": "application/x-www-form-urlencoded"}), 415,
                     "a form")
        self.test.check(crawl.get("/api/v1/status")["state"] == "running", "something was changed")
        mode = (crawl.state / "status-token").stat().st_mode & 0o777
        self.test.check(mode == 0o600, f"the token has mode {mode:o}")
        mode = (crawl.state / "control.sock").stat().st_mode & 0o777
        self.test.check(mode == 0o600, f"the socket has mode {mode:o}")
        status, _, body = crawl.ask("POST", pause, headers={
            "Authorization": f"Bearer {crawl.token}", "Origin": f"http://127.0.0.1:{crawl.port}"})
        self.test.check(status == 200 and json.loads(body)["state"] == "paused", "pause", body)
        self.test.check(crawl.post("/api/v1/unpause")[0] == 200, "unpause")

    def hostile_requests_are_bounded(self):
        crawl = self.crawl
        for path in ("/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/v1/../../etc/passwd",
                     "//etc/passwd", "/api/v1/status%00x", "/api/v1/status/"):
            self.refused(crawl.ask("GET", path), 404, path)
        host = f"Host: 127.0.0.1:{crawl.port}\r\n".encode()
        for text, status in ((b"GET / HTTP/1.1\r\nHost\r\n\r\n", (400,)),
                             (b"GET / HTTP/1.1\r\n\r\n", (400, 403)),
                             (b"GET / HTTP/1.1\r\n" + host + host + b"\r\n", (400, 403)),
                             (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", (400, None)),
                             (b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + host + b"\r\n", (414, 431)),
                             (b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
                              (413, 431)),
                             (b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * 50_000 + b"\r\n", (413, 431)),
                             (b"POST /api/v1/pause HTTP/1.1\r\n" + host +
                              b"Content-Length: -1\r\n\r\n", (400, 401)),
                             (b"nonsense\r\n\r\n", (400, 403, 404, 405, None))):
            answer = crawl.raw(text)
            got = int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.") else None
            self.test.check(got in status or (got is None and not answer),
                            f"{text[:40]!r}...: {got}, expected {status}", answer[:200])
        huge = {"Content-Length": str(1 << 40)}
        self.refused(crawl.post("/api/v1/offer", b"", **huge), 413, "a body announced as huge")
        self.refused(crawl.post("/api/v1/pause", b" " * 100_000), 413, "a large body")
        # Without an announced length.
        chunks = (b"POST /api/v1/pause HTTP/1.1\r\n" + host + b"X-Trawl-Token: " +
                  crawl.token.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n" +
                  (b"10000\r\n" + b" " * 65536 + b"\r\n") * 40)
        answer = b""
        with contextlib.suppress(OSError):
            answer = crawl.raw(chunks)
        self.test.check(b"200 OK" not in answer, "a body without an end", answer[:200])
        for body in ("", "{", "[" * 100_000, '{"urls": 1}', '{"urls": [1]}', '{"url": 7}',
                     '{"urls": [{"url": "http://a/", "depth": -1}]}', "\n\n"):
            self.refused(crawl.post("/api/v1/offer", body), 400, f"offer {body[:40]!r}")
        for body in ("", "[]", "{}", '{"host": "a.example"}', '{"host": "a.example", "action": "eat"}',
                     '{"host": "a.example", "action": "delay", "delay": "soon"}'):
            self.refused(crawl.post("/api/v1/host", body), 400, f"host {body!r}")
        self.test.check(crawl.get("/api/v1/status")["state"] == "running", "the state")

    def refused_bodies_are_read_first(self):
        """A client that sends all of its body before it looks for an answer gets one."""
        crawl = self.crawl
        large = b" " * 8_000_000
        self.refused(crawl.ask("POST", "/api/v1/pause", large), 401, "a large body without a token")
        self.refused(crawl.post("/api/v1/offer", large), 413, "a body that is too large")
        self.refused(crawl.ask("POST", "/api/v1/none", large), 404, "a large body to nowhere")

    def headers_that_are_there_twice(self):
        crawl = self.crawl
        head = f"POST /api/v1/checkpoint HTTP/1.1\r\nHost: 127.0.0.1:{crawl.port}\r\n"
        token = f"X-Trawl-Token: {crawl.token}\r\n"
        end = "Content-Type: application/json\r\nConnection: close\r\n\r\n"
        for what, more in (("tokens", f"X-Trawl-Token: wrong\r\n{token}Content-Length: 0\r\n"),
                           ("lengths", f"{token}Content-Length: 0\r\nContent-Length: 5\r\n"),
                           ("authorizations", f"{token}Authorization: a\r\nauthorization: b\r\n")):
            answer = crawl.raw((head + more + end).encode())
            self.test.check(answer.startswith(b"HTTP/1.1 400 "), f"two {what}", answer[:300])
        answer = crawl.raw((head + token + "Content-Length: 0\r\n" + end).encode())
        self.test.check(answer.startswith(b"HTTP/1.1 200 "), "one of each", answer[:300])

    def bodies_take_little_memory(self):
        crawl = self.crawl
        before = peak_memory_of(crawl)
        for body in (b"[" * 4_000_000, b'{"x":' + b"[" * 4_000_000):
            self.refused(crawl.post("/api/v1/offer", body), 400, "brackets")
        grown = peak_memory_of(crawl) - before
        self.test.check(grown < 64 << 20, f"hostile JSON takes {grown >> 20} MiB")
        # Bodies that are never complete; together they fill the room there is.
        head = (f"POST /api/v1/offer HTTP/1.1\r\nHost: 127.0.0.1:{crawl.port}\r\nX-Trawl-Token: "
                f"{crawl.token}\r\nContent-Length: 4000001\r\n\r\n").encode()
        with contextlib.ExitStack() as stack:
            def is_full():
                waiting = stack.enter_context(socket.create_connection(("127.0.0.1", crawl.port), 20))
                waiting.sendall(head + b" " * 4_000_000)
                return crawl.post("/api/v1/offer", b" " * 4_000_000)[0] == 503

            t.wait_until(is_full, "a refusal for lack of room")
            self.test.check(crawl.post("/api/v1/checkpoint")[0] == 200, "small requests go on")
        t.wait_until(lambda: crawl.post("/api/v1/offer", b" " * 4_000_000)[0] == 400, "room again")

    def hosts_are_steered(self):
        crawl = self.crawl
        name = urllib.parse.urlsplit(self.site.url()).netloc

        def steer(**body):
            status, _, answer = crawl.post("/api/v1/host", json.dumps(body))
            return status, json.loads(answer)

        t.wait_until(lambda: crawl.get(f"/api/v1/host?host={name}")["fetched"] > 0, "a page")
        status, answer = steer(host=f"HTTP://{name}/some/page", action="delay", delay="1ms")
        self.test.check(status == 200 and answer["host"] == name, "a host as a URL", answer)
        self.test.check(answer["now"]["fetched"] > 0 and answer["now"]["delay_ms"] == 50 and
                        "politeness.delay is longer" in answer.get("note", ""),
                        "a delay that is too short", answer)
        status, answer = steer(host=name, action="delay", delay="60ms")
        self.test.check(answer["now"]["delay_ms"] == 60 and "note" not in answer, "a delay", answer)
        self.test.check(steer(host=name, action="delay", delay="0s")[0] == 200, "no delay of its own")
        for until in (3600, None, "", "2020-01-01T00:00:00Z", "0s", "tomorrow"):
            status, answer = steer(host=name, action="block", until=until)
            self.test.check(status == 400 and "until" in answer["error"], f"until {until}", answer)
        for body in ({"host": "bad host <script>", "action": "block"}, {"host": name, "action": "delay"},
                     {"host": name, "action": "delay", "delay": 2},
                     {"host": name, "action": "delay", "delay": "900d"}):
            status, answer = steer(**body)
            self.test.check(status == 400 and "::" not in answer["error"], f"{body}", answer)
        for action in ("drop", "revive", "unblock"):
            status, answer = steer(host="nowhere.example", action=action)
            self.test.check(status == 404 and "nowhere.example" in answer["error"],
                            f"{action} of an unknown host", answer)
        self.test.check(crawl.get(f"/api/v1/host?host={name}")["state"] in ("active", "waiting"),
                        "a refused block blocks")
        status, answer = steer(host="Elsewhere.EXAMPLE", action="block", until="1h")
        self.test.check(status == 200 and answer["now"]["host"] == "elsewhere.example" and
                        answer["now"]["state"] == "blocked", "a host that comes later", answer)
        self.test.check(steer(host="ELSEWHERE.example", action="unblock")[0] == 200, "its end")
        # The row in the answer is that after the call.
        crawl.post("/api/v1/pause")
        t.wait_until(lambda: crawl.get("/api/v1/status")["leased"] == 0, "no request")
        status, answer = steer(host=name, action="drop")
        self.test.check(answer["dropped"] > 0 and answer["now"]["queued"] == 0 and
                        answer["now"]["fetched"] > 0, "drop", answer)
        crawl.post("/api/v1/offer", self.site.url("940000"))
        crawl.post("/api/v1/unpause")

    def many_connections_wait(self):
        crawl = self.crawl
        before = threads_of(crawl)
        with contextlib.ExitStack() as stack:
            for number in range(500):
                idle = stack.enter_context(socket.create_connection(("127.0.0.1", crawl.port), 20))
                if number % 2:
                    idle.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: 127")  # and never more
            streams = [stack.enter_context(socket.create_connection(("127.0.0.1", crawl.port), 20))
                       for _ in range(20)]
            for stream in streams:
                stream.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{crawl.port}\r\n\r\n"
                               .encode())
            for stream in streams:
                text = b""
                while text.count(b"event: status") < 2:
                    text += stream.recv(65536) or b"event: status" * 2 + b"end"
                self.test.check(b"text/event-stream" in text and not text.endswith(b"end"),
                                "an event stream", text[:300])
            # Streams send an event each second: an answer that comes before the second next event of
            # a stream waited for no stream, nor for an idle connection, which ends after 30 s. How
            # fast this machine is now does not matter.
            for path in ("/api/v1/status", "/healthz", "/metrics", "/"):
                watch = streams[0]
                drained(watch)
                status, _, _ = crawl.ask("GET", path)
                events = drained(watch).count(b"event: status")
                self.test.check(status == 200, f"{path} with many connections: {status}")
                self.test.check(events <= 1, f"{path} waits: {events} events of a second came before it")
            self.test.check(threads_of(crawl) <= before + 2, "a thread for each connection",
                            (before, threads_of(crawl)))

    def more_connections_than_it_takes(self):
        """The oldest idle ones make room."""
        with contextlib.ExitStack() as stack:
            for _ in range(1200):
                with contextlib.suppress(OSError):
                    stack.enter_context(socket.create_connection(("127.0.0.1", self.crawl.port), 20))
            self.test.check(self.crawl.get("/api/v1/status")["state"] == "running", "no room")

    def offers(self):
        crawl = self.crawl
        done = crawl.command("offer", self.site.url("900000"), "ftp://x.example/",
                             "https://elsewhere.example/", "--json")
        answer = json.loads(done.stdout or "{}")
        self.test.check(answer.get("new") == 1 and answer.get("skipped") == {"out of scope": 1},
                        "offer", (done.stdout, done.stderr))
        lines = (f"{self.site.url('910000')}\n\n" +
                 json.dumps({"url": self.site.url("920000"), "depth": 2}) + "\n" +
                 f"{self.site.url('900000')}\n")
        done = crawl.command("offer", "-", stdin=lines, target=crawl.config)
        self.test.check(done.returncode == 0 and "3 offered: 2 new, 1 seen before" in done.stdout,
                        "offer lines", (done.stdout, done.stderr))
        done = crawl.command("offer", "-", stdin='{"url": 1}\n' + self.site.url("930000") + "\n")
        self.test.check(done.returncode == 1 and "standard input:1: " in done.stderr and
                        "1 new" in done.stdout and "; 1 line was wrong" in done.stdout,
                        "a wrong line", (done.stdout, done.stderr))

    def commands(self):
        crawl = self.crawl
        shown = crawl.command("status")
        self.test.check(shown.returncode == 0 and "running for" in shown.stdout and
                        str(crawl.state) in shown.stdout, "status", shown)
        self.test.check(all(len(line) <= 80 for line in shown.stdout.splitlines()) and
                        "\x1b" not in shown.stdout, "status is too wide, or coloured", shown.stdout)
        status = json.loads(crawl.command("status", "--json", target=crawl.config).stdout)
        self.test.check(status["state"] == "running", "status --json", status)
        self.test.check("paused" in crawl.command("pause").stdout, "pause")
        self.test.check(crawl.get("/api/v1/status")["state"] == "paused", "not paused")
        self.test.check(crawl.command("unpause").returncode == 0, "unpause")
        self.test.check(crawl.command("checkpoint").returncode == 0, "checkpoint")
        t.wait_until(lambda: crawl.get("/api/v1/status")["checkpoint"]["count"] > 0, "a checkpoint")

    def watch(self):
        for columns, rows in ((80, 24), (40, 15)):
            text = self.watched(columns, rows)
            frames = text.split("\x1b[H")
            self.test.check(text.startswith("\x1b[?1049h") and text.rstrip().endswith("\x1b[?1049l"),
                            f"{columns} columns: the screen is not restored", repr(text[-200:]))
            self.test.check(len(frames) >= 3, f"{columns} columns: not drawn again", repr(text[:300]))
            lines = frames[-1].split("\x1b[J")[0].replace("\x1b[K", "").replace("\r", "").split("\n")
            self.test.check(len(lines) <= rows and max(map(len, lines)) <= columns,
                            f"{columns} columns: too large", lines)
            self.test.check("pages" in frames[-1] and "q quit" in frames[-1], "the view", lines)
        plain = subprocess.Popen([self.options.trawl, "status", str(self.crawl.state), "--watch",
                                  "--interval", "0.1"], stdout=subprocess.PIPE, text=True)
        lines = [plain.stdout.readline() for _ in range(40)]
        plain.terminate()
        plain.wait()
        self.test.check(sum("running for" in line for line in lines) >= 2 and
                        "\x1b" not in "".join(lines), "without a terminal", lines)

    def watched(self, columns, rows):
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        before = termios.tcgetattr(terminal)
        process = subprocess.Popen([self.options.trawl, "status", str(self.crawl.state), "--watch",
                                    "--interval", "0.1"], stdin=terminal, stdout=terminal,
                                   stderr=terminal, env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"})
        text, quits = b"", False
        while process.poll() is None or select.select([master], [], [], 0)[0]:
            if select.select([master], [], [], 0.05)[0]:
                text += os.read(master, 65536)
            if not quits and text.count(b"\x1b[H") >= 3:
                os.write(master, b"q")
                quits = True
        self.test.check(process.returncode == 0, f"watch: exit code {process.returncode}")
        self.test.check(termios.tcgetattr(terminal)[3] == before[3], "the terminal is not restored")
        os.close(master)
        os.close(terminal)
        return text.decode(errors="replace")

    def port_in_use(self):
        state = self.directory / "second-state"
        config = t.write_config(self.directory / "second.toml", t.fast_crawl(
            [self.site.url()], state, status={"listen": f"127.0.0.1:{self.crawl.port}"}))
        second = t.run(self.options, self.directory, "crawl", config)
        self.test.check(second.exit_code == 1 and "the port is in use" in second.text and
                        "status.listen" in second.text, "a port in use", second.tail())
        self.test.check(not state.exists(), "a crawl that cannot start leaves its state")
        config = t.write_config(self.directory / "open.toml", t.fast_crawl(
            [self.site.url()], state, status={"listen": "0.0.0.0:0"}))
        opened = t.run(self.options, self.directory, "crawl", config)
        self.test.check(opened.exit_code == t.EXIT_BAD_CONFIG and "status.token" in opened.text,
                        "an address without a token", opened.tail())

    def stop(self):
        done = self.crawl.command("stop")
        self.test.check(done.returncode == 0, "stop", done)
        self.crawl.run.wait()
        t.expect_exit(self.test, self.crawl.run, t.EXIT_INTERRUPTED, "a stopped crawl")
        self.test.check(not (self.crawl.state / "control.sock").exists(), "the socket stays")
        for verb in ("status", "pause", "stop", "reload"):
            done = self.crawl.command(verb)
            self.test.check(done.returncode == 1 and "no crawl is running in" in done.stderr and
                            " resume " in done.stderr, f"{verb} without a crawl", done.stderr)
        done = self.crawl.command("status", target=self.directory / "nowhere")
        self.test.check(done.returncode == 1 and "does not exist" in done.stderr, "no directory",
                        done.stderr)


def drained(connection):
    """What has come on a connection."""
    text = b""
    while select.select([connection], [], [], 0)[0]:
        data = connection.recv(65536)
        if not data:
            break
        text += data
    return text


def threads_of(crawl):
    return len(os.listdir(f"/proc/{crawl.run.process.pid}/task"))


def long_path(test, directory, options, site):
    """A socket whose path is longer than the address of one may be; and a crash that leaves it."""
    deep = pathlib.Path(directory, *["d" * 60] * 3)
    deep.mkdir(parents=True)
    config = t.write_config(deep / "long.toml", t.fast_crawl(
        [site.url()], deep / "state", politeness={"delay": "50ms"}))
    for killed in (True, False):
        run = t.Run(options, directory, "crawl", config, "--or-resume")
        t.wait_until(lambda: run.ended() or (deep / "state/control.sock").exists(), "a socket")
        shown = None

        def answers():
            nonlocal shown
            shown = subprocess.run([options.trawl, "status", str(deep / "state"), "--json"],
                                   capture_output=True, text=True, timeout=60)
            return run.ended() or shown.returncode == 0

        t.wait_until(answers, "an answer")
        test.check(json.loads(shown.stdout)["state"] == "running", "a long path", shown)
        if killed:
            run.kill()
            left = subprocess.run([options.trawl, "status", str(deep / "state")], capture_output=True,
                                  text=True, timeout=60)
            test.check(left.returncode == 1 and "no crawl is running" in left.stderr, "a socket left",
                       left)
        else:
            run.signal(signal.SIGINT)
            run.wait()


def peak_memory_of(crawl):
    """Bytes."""
    status = pathlib.Path(f"/proc/{crawl.run.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def blocked_socket(test, directory, options, site):
    """A crawl that cannot be reached is not one that does not run."""
    crawl = StatusCrawl(options, directory, site, "blocked")
    crawl.end()
    (crawl.state / "control.sock").write_text("not a socket")
    crawl.run = t.Run(options, directory, "resume", crawl.config)
    t.wait_until(lambda: crawl.run.ended() or "status page: " in crawl.run.text, "the status page")
    shown = crawl.command("status")
    test.check(shown.returncode == 1 and f"(pid {crawl.run.process.pid})" in shown.stderr and
               "remove that file" in shown.stderr and "no crawl" not in shown.stderr,
               "a file in the place of the socket", shown.stderr)
    crawl.end()
    test.check("no crawl is running" in crawl.command("status").stderr, "after its end")


def token_for_all(test, directory, options, site):
    crawl = StatusCrawl(options, directory, site, "secret")
    crawl.end()
    config = t.write_config(directory / "secret.toml", t.fast_crawl(
        [site.url()], crawl.state, politeness={"delay": "50ms"},
        status={"listen": f"0.0.0.0:{crawl.port}", "token": True}))
    crawl.run = t.Run(options, directory, "resume", config)
    t.wait_until(lambda: crawl.run.ended() or "status page: " in crawl.run.text, "the status page")
    for path in ("/", "/metrics", "/api/v1/status", "/api/v1/events"):
        test.check(crawl.ask("GET", path)[0] == 401, f"{path} without the token")
    for headers in ({"Authorization": f"Bearer {crawl.token}"}, {"X-Trawl-Token": crawl.token}):
        test.check(crawl.ask("GET", "/metrics", headers=headers)[0] == 200, f"{headers}")
    test.check(crawl.ask("GET", f"/?token={crawl.token}")[0] == 200, "the token in the address")
    test.check(crawl.ask("GET", "/healthz")[0] == 200, "healthz without the token")
    crawl.end()


def status_server(test, directory, options):
    site = EndlessSite()
    try:
        cases = Cases(test, directory, options, site)
        try:
            t.run_cases(test, cases, {"refused", "watched"})
        finally:
            cases.crawl.run.kill()
        long_path(test, directory, options, site)
        blocked_socket(test, directory, options, site)
        token_for_all(test, directory, options, site)
    finally:
        site.stop()


if __name__ == "__main__":
    t.main(status_server, t.parser(__doc__).parse_args())
