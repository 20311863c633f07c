"""A response whose first header line begins with a blank or a tab: libcurl before 8.1.1 frees memory
twice over it, if the same handle had a response before. It ends its own URL, and nothing else."""

import ssl

import scripted_server
import trawl_testing as t
from scripted_server import ScriptedServer, answer, links
from tls_test import Authority

RETRIES = 2
FIRST_LINES = [b"\tX: y", b" X: y", b"\t", b"   folded", b" Location: /elsewhere",
               b"\tContent-Length: 3", b" \tX: " + b"y" * 5000]
GOOD = [f"/good-{i}" for i in range(40)]
FOLDED = [f"/folded-{i}" for i in range(3 * len(FIRST_LINES))]


def respond(request):
    if request.path == "/robots.txt":
        return answer("User-agent: *\nAllow: /\n", content_type="text/plain")
    if request.path == "/":
        return answer(links(good for pair in zip(GOOD, FOLDED + GOOD) for good in pair))
    if request.path in GOOD:
        return answer("<p>good " + request.path)
    if request.path in FOLDED:
        line = FIRST_LINES[int(request.path.split("-")[1]) % len(FIRST_LINES)]
        interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" if len(line) % 2 else b""
        return (interim + b"HTTP/1.1 200 OK\r\n" + line +
                b"\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nabc")
    return scripted_server.NOT_FOUND


def crawl(test, directory, options, name, tls):
    state = directory / name
    with ScriptedServer(respond, tls=tls) as server:
        config = t.fast_crawl([server.url()], state,
                              fetch={"retries": RETRIES, "verify_tls": False},
                              politeness={"host_backoff": "1ms", "max_host_backoff": "5ms"})
        file = t.write_config(directory / f"{name}.toml", config)
        t.expect_exit(test, t.run(options, directory, "crawl", file), t.EXIT_DONE, name)
        asked = {path: server.paths().count(path) for path in FOLDED}
        found = t.by_path(t.read_pages(test, state))
        t.expect_exit(test, t.run(options, directory, "resume", state), t.EXIT_DONE,
                      f"{name}: resume")
        again = t.by_path(t.read_pages(test, state))
    for path in ["/", *GOOD]:
        lines = found.get(path, [])
        test.check(len(lines) == 1 and lines[0]["status"] == 200 and not lines[0]["error"],
                   f"{name}: {path} went wrong", lines)
    for path in FOLDED:
        lines = found.get(path, [])
        test.check(len(lines) == 1 and lines[0]["reason"] in ("bad header", "bad response"),
                   f"{name}: {path}: no line, or another reason", lines)
        test.check(1 <= asked[path] <= 1 + RETRIES, f"{name}: {path}: requested {asked[path]} times")
    folded = [found[path][0]["reason"] for path in FOLDED if found.get(path)]
    test.check("bad header" in folded, f"{name}: no line says so", folded)
    test.check(found.keys() == again.keys(), f"{name}: resume made other lines", again.keys())


def folded_header(test, directory, options):
    crawl(test, directory, options, "plain", None)
    keys = directory / "keys"
    keys.mkdir()
    context = Authority(keys).sign("site")
    test.check(isinstance(context, ssl.SSLContext), "no TLS context")
    crawl(test, directory, options, "tls", context)


if __name__ == "__main__":
    t.main(folded_header, t.parser(__doc__).parse_args())
