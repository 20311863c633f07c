"""Bodies that broke off or were cut: what came of them is archived as truncated, and its links are
followed, once; the longest of a URL's tries counts."""

import concurrent.futures
import gzip
import socket
import struct
import threading
import time

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links
from warc_reader import check_index, check_places, read_warcs

LIMIT = 50_000  # fetch.max_body and max_download
RETRIES = 2
FILLER = "".join(f"<p>filler {i}</p>" for i in range(200))


def html(path, more=""):
    """A page that begins with a link of its own."""
    return f"<title>{path}</title>{links([path + '/below'])}{FILLER}{more}".encode()


def cut(body, size, status="200 OK", *headers, length=None, close=True):
    """So many bytes of a body, of which the headers promise more."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", *headers]
    if length is not False:
        lines.append(f"Content-Length: {length or len(body) + 1000}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body[:size]


class Case:
    """The answers to a URL's requests one after the other, and the expected result: why its
    body is truncated, which bytes of it are archived, how often it is requested."""

    def __init__(self, answers, truncated, payload, status=200, requests=1 + RETRIES, follows=True):
        self.answers, self.truncated, self.payload = answers, truncated, payload
        self.status, self.requests, self.follows = status, requests, follows


def cases():
    def page(path):
        return html(path)

    large = html("/large", "x" * 2 * LIMIT)
    packed = gzip.compress(html("/gzip", "".join(map(str, range(5000)))), mtime=0)
    half = packed[:len(packed) // 2]
    bomb = gzip.compress(html("/bomb", "y" * 40 * LIMIT), mtime=0)
    chunks = b"%x\r\n%s\r\n" % (len(page("/chunked")), page("/chunked"))
    busy = answer("", "503 Busy")
    return {
        "/large": Case([answer(large)], "length", large[:LIMIT], requests=1),
        "/unannounced": Case([cut(html("/unannounced", "x" * 2 * LIMIT), 3 * LIMIT, length=False)],
                             "length", html("/unannounced", "x" * 2 * LIMIT)[:LIMIT], requests=1),
        "/bomb": Case([answer(bomb, "200 OK", "Content-Encoding: gzip")], "length", None,
                      requests=1),
        "/short": Case([cut(page("/short"), 3000)], "disconnect", page("/short")[:3000]),
        "/stalled": Case([cut(page("/stalled"), 3000, close=False)], "time",
                         page("/stalled")[:3000]),
        "/chunked": Case([cut(chunks, len(chunks), "200 OK", "Transfer-Encoding: chunked",
                              length=False)], "disconnect", page("/chunked")),
        "/gzip": Case([cut(packed, len(half), "200 OK", "Content-Encoding: gzip")], "disconnect",
                      half),
        "/gzip-until-closed": Case(
            [cut(gzip.compress(html("/gzip-until-closed", "".join(map(str, range(5000)))), mtime=0),
                 len(half), "200 OK", "Content-Encoding: gzip", length=False)], "disconnect", None),
        "/shrinks": Case([cut(page("/shrinks"), 3000), cut(page("/shrinks"), 20),
                          cut(b"", 0, length=10)], "disconnect", page("/shrinks")[:3000]),
        "/grows": Case([cut(page("/grows"), 10), cut(page("/grows"), 20),
                        cut(page("/grows"), 3000)], "disconnect", page("/grows")[:3000]),
        "/then-busy": Case([cut(page("/then-busy"), 3000), busy], "disconnect",
                           page("/then-busy")[:3000]),
        "/then-nothing": Case([cut(page("/then-nothing"), 3000), None], "disconnect",
                              page("/then-nothing")[:3000], requests=None),
        "/missing": Case([cut(page("/missing"), 3000, "404 Not Found")], "disconnect",
                         page("/missing")[:3000], status=404, follows=False),
        "/moved": Case([cut(b"moved", 2, "302 Found", "Location: /moved/below")], "disconnect",
                       b"mo", status=302),
        "/no-body": Case([cut(b"", 0, length=10)], "disconnect", b"", follows=False),
        "/then-whole": Case([cut(page("/then-whole"), 20), answer(page("/then-whole"))], None,
                            page("/then-whole"), requests=2),
        "/then-gone": Case([cut(page("/then-gone"), 3000), NOT_FOUND], None, b"nothing",
                           status=404, requests=2, follows=False),
    }


class Site(ScriptedServer):
    def __init__(self):
        self.cases = cases()
        self.left = {path: list(case.answers) for path, case in self.cases.items()}
        super().__init__(self._respond)

    def _respond(self, request):
        if request.path == "/":
            return answer(links(self.cases))
        if request.path.endswith("/below"):
            return answer("<p>below")
        left = self.left.get(request.path)
        if left is None:
            return NOT_FOUND
        return left.pop(0) if len(left) > 1 else left[0]


def crawl(options, directory, name, seeds, **tables):
    tables.setdefault("fetch", {})
    config = t.fast_crawl(seeds, directory / name, **tables)
    config["politeness"]["per_host_connections"] = 8
    return t.run(options, directory, "crawl",
                 t.write_config(directory / f"{name}.toml", config), timeout=60)


def kept(test, directory, options, name, warc):
    with Site() as site:
        finished = crawl(options, directory, name, [site.url()], output={"warc": warc}, fetch={
            "max_body": LIMIT, "max_download": LIMIT, "timeout": "1500ms", "retries": RETRIES,
            "retry_delay": "50ms"})
        t.expect_exit(test, finished, t.EXIT_DONE, name)
        asked = site.paths()
    lines = t.by_path(t.read_pages(test, directory / name))
    truncated = 0
    for path, case in site.cases.items():
        found = lines.get(path, [])
        if not test.check(len(found) == 1, f"{name} {path}: {len(found)} lines"):
            continue
        line = found[0]
        truncated += case.truncated is not None
        test.check((line["truncated"], line["status"]) == (case.truncated, case.status),
                   f"{name} {path}: truncated {line['truncated']}, status {line['status']}", line)
        test.check(bool(line["error"]) == (case.truncated is not None),
                   f"{name} {path}: error {line['error']!r}", line)
        test.check(case.requests in (None, asked.count(path)),
                   f"{name} {path}: requested {asked.count(path)} times")
        test.check(asked.count(path + "/below") == int(case.follows),
                   f"{name} {path}: its link was followed {asked.count(path + '/below')} times")
        test.check(line["links"] == int(case.follows and path != "/moved")
                   and line["new_links"] == int(case.follows),
                   f"{name} {path}: {line['links']} links, {line['new_links']} new", line)
    test.check(f" {truncated} truncated" in finished.text, f"{name}: not {truncated} truncated",
               finished.tail())
    fetched = sum(map(len, lines.values()))
    test.check(f"fetched {fetched} URLs" in finished.text, f"{name}: not {fetched} fetched",
               finished.tail())
    stats = t.run(options, directory, "frontier", "stats", directory / name)
    test.check(f"truncated       {truncated} " in stats.text, f"{name}: frontier stats", stats.text)
    if warc:
        check_records(test, directory / name, site, lines)


def check_records(test, state, site, lines):
    records = read_warcs(test, state / "output")
    check_places(test, [line for found in lines.values() for line in found], records)
    check_index(test, state / "output", records)
    responses = {}
    for record in records:
        if record.type == "response":
            responses.setdefault(record.url[len(site.url()) - 1:], []).append(record)
    for path, case in site.cases.items():
        found = responses.get(path, [])
        if not test.check(len(found) == 1, f"{path}: {len(found)} response records"):
            continue
        record = found[0]
        test.check(record.headers.get("warc-truncated") == case.truncated,
                   f"{path}: WARC-Truncated", record.headers)
        test.check(case.payload is None or record.payload() == case.payload,
                   f"{path}: {len(record.payload())} bytes archived", record.payload()[:200])
        head = record.body.partition(b"\r\n\r\n")[0].decode("latin-1").lower().split("\r\n")
        lengths = [line.split(":")[1].strip() for line in head if line.startswith("content-length:")]
        test.check(lengths in ([], [str(len(record.payload()))]),
                   f"{path}: Content-Length {lengths} of {len(record.payload())} bytes", head)


def not_wanted(test, directory, options):
    """A body that is too large is not read if it is neither archived nor parsed for links."""
    film = answer(b"\0" * 40 * LIMIT, content_type="video/mp4")
    with ScriptedServer({"/": answer(links(["/film"])), "/film": film}) as site:
        finished = crawl(options, directory, "film", [site.url()],
                         fetch={"max_body": LIMIT, "max_download": LIMIT})
    t.expect_exit(test, finished, t.EXIT_DONE, "a film")
    line = t.by_path(t.read_pages(test, directory / "film"))["/film"][0]
    test.check(line["truncated"] == "length" and line["bytes"] == 0, "a film was read", line)


def little_memory(test, directory, options):
    """What is kept for a later try makes room for others."""
    number, size = 40, 900_000
    paths = [f"/{i}" for i in range(number)]
    bodies = {path: html(path, "z" * size) for path in paths}

    def respond(request):
        if request.path == "/":
            return answer(links(paths))
        if request.path in bodies:
            return cut(bodies[request.path], size)
        return answer("<p>below")

    with ScriptedServer(respond) as site:
        finished = crawl(options, directory, "memory", [site.url()], fetch={
            "max_body": "1MB", "max_download": "1MB", "max_memory": "24MB", "retries": RETRIES,
            "retry_delay": "200ms", "connections": 40})
        asked = site.paths()
    t.expect_exit(test, finished, t.EXIT_DONE, "little memory")
    lines = t.by_path(t.read_pages(test, directory / "memory"))
    for path in paths:
        test.check([line["truncated"] for line in lines.get(path, [])] == ["disconnect"],
                   f"little memory: {path}", lines.get(path))
        test.check(asked.count(path + "/below") == 1, f"little memory: below {path}")


def resets(test, directory, options):
    """A connection that is reset in the middle of a body."""
    body = html("/page")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve():
        while True:
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            request = peer.recv(65536)
            if b" /robots.txt " in request:
                peer.sendall(answer("", "404 Not Found", "Connection: close"))
            elif b" /page/below " in request:
                peer.sendall(answer("<p>below", "200 OK", "Connection: close"))
            else:
                peer.sendall(cut(body, 3000))
                time.sleep(0.1)  # so that what was sent is read before the reset
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    finished = crawl(options, directory, "resets", [f"http://127.0.0.1:{port}/page"],
                     fetch={"retries": 1, "retry_delay": "50ms"})
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    t.expect_exit(test, finished, t.EXIT_DONE, "a reset")
    lines = t.by_path(t.read_pages(test, directory / "resets"))
    test.check([(line["truncated"], line["bytes"]) for line in lines["/page"]]
               == [("disconnect", 3000)], "a reset", lines["/page"])
    test.check(len(lines["/page/below"]) == 1, "its link was not followed", lines)


def truncated_bodies(test, directory, options):
    # These mostly wait.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for part in [pool.submit(kept, test, directory, options, "archived", True),
                     pool.submit(kept, test, directory, options, "not-archived", False),
                     pool.submit(resets, test, directory, options)]:
            part.result()
    not_wanted(test, directory, options)
    little_memory(test, directory, options)


if __name__ == "__main__":
    t.main(truncated_bodies, t.parser(__doc__).parse_args())
