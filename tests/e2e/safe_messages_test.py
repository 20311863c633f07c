"""Whatever servers and files send, no control byte of theirs reaches a terminal or a log."""

import os
import pathlib
import pty
import re
import select
import ssl
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer

# An escape sequence that sets the window's title, one of a single byte and as UTF-8, a deletion, an
# override of the direction, a line that is not Trawl's, bytes that are not UTF-8.
EVILS = {"esc": b"\x1b]0;pwned\x07", "csi": b"\x9b31mred", "csi8": "\u009b31mred".encode(),
         "del": b"\x7f", "rlo": "\u202egnp.exe".encode(), "ls": "\u2028fake".encode(),
         "tag": "\U000e0041".encode(), "bad": b"\xff\xfe", "bell": b"\x07", "back": b"\x08\x08\x08"}
FAKE = b"[2026-01-01 00:00:00.000] [trawl] [error] fake"
# What Trawl's own log and progress send to a terminal.
OWN = re.compile(rb"\x1b\[[0-9;]*m|\r\x1b\[K|\r(?=[0-9])|\x1b\[K|\r\n")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f"
                    "\ufff9-\ufffb\U000e0000-\U000e007f]")


def check_safe(test, output, what, tabs=True):
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        test.check(False, f"{what}: no UTF-8: {error}", repr(output[:500]))
        return
    found = UNSAFE.search(text if tabs else text.replace("\t", "\x00"))
    test.check(not found, f"{what}: {found and found.group()!r}",
               repr(text[max(0, found.start() - 200):found.start() + 100]) if found else "")
    test.check(FAKE.decode() not in text.splitlines(), f"{what}: a line that a server wrote")


def response(head, body=b"", status=b"200 OK"):
    return b"\r\n".join([b"HTTP/1.1 " + status, *head, b"Connection: close",
                         b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body


def evil_site():
    """Answers by path, and the paths. Each has each evil in a place of its own."""
    answers = {}
    for name, evil in EVILS.items():
        answers.update({
            f"/location-{name}": response([b"Location: http://h\x20" + evil + b"/" + evil],
                                          status=b"302 Found"),
            f"/scheme-{name}": response([b"Location: x" + evil + b":y"], status=b"302 Found"),
            f"/relative-{name}": response([b"Location: /no" + evil], status=b"302 Found"),
            f"/type-{name}": response([b"Content-Type: text/html" + evil], b"<p>"),
            f"/encoding-{name}": response([b"Content-Encoding: " + evil], b"x"),
            f"/status-{name}": response([], b"x", b"500 " + evil),
            f"/version-{name}": b"HTTP/" + evil + b" 200 OK\r\nConnection: close\r\n\r\n",
            f"/length-{name}": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + evil +
                               b"\r\n\r\nx",
            f"/header-{name}": response([b"X" + evil + b": y", b"ETag: " + evil], b"x"),
            f"/robots-{name}": response([b"X-Robots-Tag: " + evil, b"Link: <" + evil + b">; rel=next"],
                                        b"x"),
            f"/page-{name}": response([b"Content-Type: text/html"],
                                      b"<title>" + evil + b"\n" + FAKE + b"</title><a href='http://h"
                                      + evil + b"/'>" + evil + b"</a><a href='" + evil + b":x'>b</a>"
                                      b"<a href='/ok" + evil + b"'>c</a><base href='//" + evil + b"'>"),
        })
    paths = list(answers)
    robots = b"".join(b"Disallow: /x" + evil + b"\nSitemap: http://h" + evil + b"/\nCrawl-delay: "
                      + evil + b"\n" for evil in EVILS.values())
    answers["/robots.txt"] = response([], b"User-agent: *\n" + robots)
    answers["/map.xml"] = response([], b"<urlset>" + b"".join(
        b"<url><loc>http://h" + evil + b"/</loc><lastmod>" + evil + b"</lastmod></url>"
        for evil in EVILS.values()) + b"</urlset>")
    answers["/map.txt"] = response([], b"".join(b"http://h" + evil + b"/\nhttp://h/" + evil + b"\n"
                                                for evil in EVILS.values()))
    answers["/"] = response([b"Content-Type: text/html"],
                            "".join(f"<a href='{path}'>x</a>" for path in paths).encode())
    return answers


def in_terminal(command, cwd):
    """What a program writes to a terminal that is both its outputs."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, cwd=cwd, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    written = b""
    while True:
        ready, _, _ = select.select([leader], [], [], 60)
        try:
            read = os.read(leader, 65536) if ready else b""
        except OSError:  # nobody has the other end open
            read = b""
        if not read:
            break
        written += read
    process.wait(20)
    os.close(leader)
    return written


def crawls(test, directory, options):
    answers = evil_site()
    with ScriptedServer(answers) as site:
        def config(name, **log):
            return t.write_config(directory / f"{name}.toml", t.fast_crawl(
                [site.url()], directory / name, links={"sitemaps": True},
                output={"links": True, "skipped": True, "warc": True},
                fetch={"timeout": "5s", "first_byte_timeout": "2s"}, log={"level": "debug", **log}))

        captured = t.run(options, directory, "crawl", config("captured"), timeout=100)
        output = captured.log.read_bytes()
        test.check(b"/location-esc" in output and b"/type-esc" in output or len(output) > 5000,
                   "the log says nothing of the pages", output[-500:])
        check_safe(test, output, "standard output and error")
        t.run(options, directory, "crawl", config("file", file=directory / "crawl.log"), timeout=100)
        check_safe(test, (directory / "crawl.log").read_bytes(), "log.file")
        shown = in_terminal([options.trawl, "crawl", config("terminal")], directory)
        test.check(b"fetched" in shown, "nothing on the terminal", shown[-500:])
        check_safe(test, OWN.sub(b"\n", shown), "a terminal")
        for name in ("pages.jsonl", "links.jsonl", "skipped.jsonl"):
            check_safe(test, (directory / "captured" / "output" / name).read_bytes(), name)
        paths = {request.path for request in site.requests}
        test.check(set(answers) - {"/map.xml", "/map.txt"} <= paths, "not all was requested",
                   set(answers) - paths)


def commands(test, directory, options):
    answers = evil_site()

    def run(*arguments, stdin=b""):
        done = subprocess.run([options.trawl, *arguments], input=stdin, capture_output=True,
                              timeout=60, cwd=directory)
        what = " ".join(repr(argument)[:60] for argument in arguments)
        check_safe(test, done.stdout, f"{what}: output")
        check_safe(test, done.stderr, f"{what}: errors")
        return done

    t.write_config(directory / "explain.toml", {"crawl": {
        "seeds": ["http://x.test/"], "state_dir": directory / "none"}})
    with ScriptedServer(answers) as site:
        for path in answers:
            if path.split("-")[0] in ("/length", "/status", "/relative", "/scheme"):
                continue  # as other commands and paths
            run("links", site.url(path), "--kinds", "all", "--text")
            run("links", site.url(path), "--json", "--text")
        for path in ("/map.xml", "/map.txt", "/page-esc", "/location-esc", "/type-csi8"):
            run("sitemap", site.url(path))
            run("sitemap", site.url(path), "--json")
        run("robots", site.url("/robots.txt"), "trawl", "/x")
        for name, evil in EVILS.items():
            if b"\0" in evil:
                continue
            run("robots", site.url("/robots.txt"), evil, b"/x" + evil, b"http://h" + evil + b"/")
            run("robots", site.url("/robots.txt"), "trawl", b"/x" + evil, "--json")
            run("explain", "explain.toml", b"http://x.test/" + evil, "--robots",
                site.url("/robots.txt"))
            run("explain", "explain.toml", b"http://h" + evil + b"/", "--json")
    for name, evil in EVILS.items():
        hostile = b"http://h" + evil + b"/" + evil
        run("links", hostile)
        run("links", b"no such file" + evil)
        run("links", "-", "--base", hostile, stdin=b"<a href=/>")
        run("links", "-", "--kinds", evil, stdin=b"")
        run("sitemap", "-", stdin=b"<x" + evil + b">")
        run("normalize", hostile)
        run("normalize", stdin=hostile + b"\n")
        run("normalize", "--json", stdin=hostile + b"\n" + b"http://h/" + evil + b"\n")
        run(b"no" + evil)
        run("crawl", b"no such config" + evil)
        run("crawl", "explain.toml", "--set", b"x." + evil + b"=1")
        config = directory / f"bad-{name}.toml"
        config.write_bytes(b"[crawl]\nseeds = [\"http://h/" + evil + b"\"]\nx" + evil + b" = 1\n")
        run("check-config", str(config))
        run("frontier", "stats", b"nowhere" + evil)
        run("filter", "info", b"nowhere" + evil)


def certificates(test, directory, options):
    """One of a host whose name is an escape sequence."""
    openssl = t.program("openssl", "openssl")
    for name, evil in (("esc", "\x1b]0;pwned\x07"), ("csi8", "\u009b31m"), ("rlo", "\u202e")):
        subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-utf8", "-keyout",
                        f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj",
                        f"/CN={evil}/O={evil}", "-addext", f"subjectAltName=DNS:{name}.test"],
                       cwd=directory, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / f"{name}.pem", directory / f"{name}.key")
        with ScriptedServer({"/": response([], b"x")}, tls=context) as site:
            for trusted in (False, True):
                fetch = {"ca_file": directory / f"{name}.pem"} if trusted else {}
                config = t.write_config(directory / f"tls-{name}-{trusted}.toml", t.fast_crawl(
                    [site.url()], directory / f"tls-{name}-{trusted}", fetch=fetch,
                    politeness={"respect_robots": False}, log={"level": "debug"}))
                done = t.run(options, directory, "crawl", config)
                test.check("TLS" in done.text or "certificate" in done.text, "no word of TLS",
                           done.tail())
                check_safe(test, done.log.read_bytes(), f"a certificate of {name}")


def one_place(test, directory, options):
    """The commands print messages by say(), which escapes what they are made of."""
    sources = pathlib.Path(__file__).resolve().parents[2] / "crawler" / "cli"
    for source in [*sources.glob("*.cc"), *sources.glob("*.h")]:
        if source.name != "say.h":
            test.check("fmt::print(" not in source.read_text(), f"{source.name}: not by say()")


def safe_messages(test, directory, options):
    parts = (crawls, commands, certificates, one_place)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(safe_messages, t.parser(__doc__).parse_args())
