"""A web server on loopback that does everything wrong: on one host a case a URL, and further hosts
that fail before there is a URL, or in what is read before the first page."""

import ctypes
import gzip
import socket
import ssl
import struct
import threading
import time
import zlib

import trawl_testing as t
from scripted_server import listen

OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"
PAGE = b"<p>partial</p>"


class Gone(Exception):
    """The client has closed the connection, or the server stops."""


class Connection:
    def __init__(self, peer, server):
        self.peer, self.server = peer, server

    def send(self, data):
        try:
            self.peer.sendall(data)
        except OSError:
            raise Gone from None

    def reset(self):
        """RST in place of FIN."""
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Gone

    def stall(self):
        """Until the client gives up."""
        self.peer.settimeout(0.2)
        while not self.server.stopping:
            try:
                if self.peer.recv(4096) == b"":
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        raise Gone

    def forever(self, chunk, pause=0.0):
        while not self.server.stopping:
            self.send(chunk)
            if pause:
                time.sleep(pause)
        raise Gone

    def drip(self, data, pause=0.1):
        for byte in data:
            self.send(bytes([byte]))
            time.sleep(pause)

    def reply(self, body, headers=HTML, status=OK):
        self.send(status + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body)


# --- bombs ---------------------------------------------------------------------------------------

def gzip_bomb(mebibytes):
    """A gzip stream of that many MiB of zeros, without making them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(mebibytes):
        checksum = zlib.crc32(bytes(1 << 20), checksum)
    return (b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * mebibytes + b"\x03\0"
            + struct.pack("<II", checksum, mebibytes << 20 & 0xFFFFFFFF))


def deflate_bomb(mebibytes):
    """Its checksum is wrong, which only a reader of the whole body can detect."""
    return b"\x78\x9c" + gzip_bomb(mebibytes)[10:-8] + b"\0" * 4


def zstd_bomb(mebibytes):
    """Blocks of one byte, each 128 KiB long: 4 bytes a block."""
    size = 128 << 10
    block = struct.pack("<I", size << 3 | 1 << 1)[:3] + b"\0"
    last = struct.pack("<I", size << 3 | 1 << 1 | 1)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\0\x58" + block * (8 * mebibytes - 1) + last


def brotli(data):
    """None without the library."""
    try:
        library = ctypes.CDLL("libbrotlienc.so.1")
    except OSError:
        return None
    out = ctypes.create_string_buffer(len(data) + 1024)
    size = ctypes.c_size_t(len(out))
    packed = library.BrotliEncoderCompress(1, 22, 0, ctypes.c_size_t(len(data)), data,
                                           ctypes.byref(size), out)
    return out.raw[:size.value] if packed else None


# --- cases ---------------------------------------------------------------------------------------

def redirect(location):
    return lambda c: c.reply(b"", b"Location: " + location + b"\r\n", b"HTTP/1.1 302 Found\r\n")


def sends(data, then="close"):
    def act(c):
        c.send(data)
        if then != "close":
            getattr(c, then)()
        raise Gone
    return act


def endless(head, chunk, pause=0.0):
    def act(c):
        c.send(head)
        c.forever(chunk, pause)
    return act


def drips(head, rest):
    def act(c):
        c.send(head)
        c.drip(rest)
        raise Gone
    return act


def encoded(name, data):
    return sends(OK + HTML + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
                 % (name, len(data)) + data)


def sized(length, body=PAGE, then="close"):
    """A response with that in Content-Length, or in several if it is a list."""
    lengths = length if isinstance(length, list) else [length]
    lines = b"".join(b"Content-Length: %s\r\n" % each for each in lengths)
    return sends(OK + HTML + lines + b"\r\n" + body, then)


LONG = OK + HTML + b"Content-Length: 100000\r\n\r\n" + PAGE
CHUNKED = OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS = b"<p>again and again" * 4096

# What a page may end in. More than one where it depends on what is noticed first.
LOST = {"connection lost"}
BAD = {"bad response"}
LATE = {"first byte timeout"}
SLOW = {"too slow", "timeout"}
STALLED = SLOW | LATE
HEADERS = {"headers too large"}
LARGE = {"body too large", "download too large"}
BOMBED = {"body too large"}
ENCODING = {"bad encoding"}
# Where one may read it either way; None: no failure.
EITHER = BAD | LOST | {None}

GZIP_BOMB = gzip_bomb(1024)

# Each costs one line of output, with one of these reasons.
CASES = {
    # When nothing, or only half of it, comes.
    "reset-before-reply": (lambda c: c.reset(), LOST),
    "reset-after-status": (sends(OK, "reset"), LOST),
    "reset-in-headers": (sends(OK + b"Content-Ty", "reset"), LOST),
    "reset-in-body": (sends(LONG, "reset"), LOST),
    "reset-in-chunks": (sends(CHUNKED + b"ff\r\nonly this", "reset"), LOST),
    "close-without-reply": (sends(b""), LOST | BAD),
    "close-in-headers": (sends(OK + b"Content-Ty"), LOST | BAD),
    "stall-before-reply": (lambda c: c.stall(), LATE),
    "stall-in-status": (sends(b"HTTP/1.", "stall"), STALLED),
    "stall-in-headers": (sends(OK + b"Content-Ty", "stall"), STALLED),
    "stall-in-body": (sends(LONG, "stall"), SLOW),
    "drip-headers": (drips(OK, b"X-Slow: " + b"a" * 1000), STALLED),
    "drip-body": (drips(LONG, b"." * 1000), SLOW),
    "continue-forever": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
                         STALLED | BAD | HEADERS),
    "hints-forever": (endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"),
                      STALLED | BAD | HEADERS),
    # Heads.
    "garbage-status": (sends(b"\x00\xff\xfe what is this\r\n\r\nbody"), BAD),
    "no-status": (sends(b"Content-Type: text/html\r\n\r\n" + PAGE), BAD),
    "http-0.9": (sends(b"<html><p>no headers at all</p></html>"), BAD),
    "null-in-status": (sends(b"HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n"), EITHER),
    "null-in-header": (sends(OK + b"X-A: b\0c\r\n" + HTML + b"Content-Length: 14\r\n\r\n" + PAGE),
                       BAD),
    "null-in-name": (sends(OK + b"X\0A: b\r\n" + HTML + b"Content-Length: 14\r\n\r\n" + PAGE), BAD),
    "status-999": (sends(b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), EITHER),
    "status-999999": (sends(b"HTTP/1.1 999999 What\r\nContent-Length: 0\r\n\r\n"), EITHER),
    "status-000": (sends(b"HTTP/1.1 000 What\r\nContent-Length: 0\r\n\r\n"), EITHER),
    "garbage-headers": (sends(OK + b"\x01\x02\xff\r\nno colon here\r\n: no name\r\n" + HTML +
                              b"Content-Length: 14\r\n\r\n" + PAGE), EITHER),
    "folded-first-header": (sends(OK + b"\tX: y\r\n" + HTML + b"Content-Length: 14\r\n\r\n" + PAGE),
                            {"bad header"}),
    "one-long-header": (sends(OK + b"X-Long: " + b"a" * (1 << 20) + b"\r\n\r\n"),
                        HEADERS),
    "10000-headers": (sends(OK + b"".join(b"X-%d: %s\r\n" % (i, b"b" * 50) for i in range(10_000))
                            + b"Content-Length: 0\r\n\r\n"), HEADERS | BAD),
    "endless-header": (endless(OK + b"X-Long: ", b"a" * 65536), HEADERS),
    "endless-headers": (endless(OK, b"".join(b"X-%d: %s\r\n" % (i, b"b" * 50)
                                             for i in range(1000))), HEADERS | BAD),
    "cookie-storm": (lambda c: c.reply(b"<p>crumbs", HTML + b"".join(
        b"Set-Cookie: c%d=%s; Path=/\r\n" % (i, b"v" * 30) for i in range(1500))), {None}),
    "long-link-header": (lambda c: c.reply(b"<p>linked", HTML + b"Link: " + b", ".join(
        b"<http://127.0.0.9/%d>; rel=\"next\"" % i for i in range(2500)) + b"\r\n"), {None}),
    "robots-tag-garbage": (lambda c: c.reply(b"<p>tagged", HTML + b"X-Robots-Tag: \xff\x01,,,: :"
                                             + b"nofollow:" * 500 + b"\r\n"), {None}),
    # Lengths.
    "short-body": (sends(LONG), LOST),
    "long-body": (sized(b"5", PAGE * 100), EITHER),
    "two-lengths": (sized([b"5", b"50"]), BAD),
    "same-length-twice": (sized([b"14", b"14"]), EITHER),
    "negative-length": (sized(b"-5"), BAD),
    "huge-length": (sized(b"9" * 30), BAD | LARGE),
    "large-length": (sized(b"%d" % (8 << 40), then="stall"), LARGE),
    "no-number-length": (sized(b"many"), BAD),
    "endless-body": (endless(OK + HTML + b"\r\n", ENDLESS), LARGE),
    # Chunks.
    "endless-chunks": (endless(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"), LARGE),
    "one-byte-chunks": (endless(CHUNKED, b"1\r\nx\r\n" * 10_000), LARGE | SLOW),
    "truncated-chunk": (sends(CHUNKED + b"ff\r\nonly this"), LOST | BAD),
    "no-last-chunk": (sends(CHUNKED + b"5\r\nhello\r\n"), LOST | BAD),
    "no-chunk-end": (sends(CHUNKED + b"5\r\nhello0\r\n\r\n"), BAD),
    "invalid-chunk-size": (sends(CHUNKED + b"zz\r\n" + PAGE + b"\r\n0\r\n\r\n"), BAD),
    "huge-chunk-size": (sends(CHUNKED + b"f" * 40 + b"\r\n" + PAGE), BAD),
    "negative-chunk-size": (sends(CHUNKED + b"-5\r\n" + PAGE), BAD),
    "endless-chunk-extension": (endless(CHUNKED + b"1;", b"x" * 65536), BAD | SLOW | LARGE),
    # Lost if libcurl, which keeps the first text, has closed a broken connection before.
    "endless-chunk-size": (endless(CHUNKED, b"0" * 4096), BAD | SLOW | LARGE | LOST),
    "endless-trailer": (endless(CHUNKED + b"2\r\nok\r\n0\r\n", b"X-T: %s\r\n" % (b"t" * 4000)),
                        HEADERS | LARGE | BAD | SLOW),
    # Encodings.
    "invalid-gzip": (encoded(b"gzip", b"this is not gzip data"), ENCODING),
    "truncated-gzip": (encoded(b"gzip", gzip.compress(PAGE * 1000)[:30]), ENCODING),
    "garbage-after-gzip": (encoded(b"gzip", gzip.compress(PAGE) + b"more" * 100),
                           ENCODING | {None}),
    "unknown-encoding": (encoded(b"rot13", PAGE), {None}),
    "nested-gzip": (encoded(b"gzip, gzip", gzip.compress(gzip.compress(PAGE))),
                    ENCODING | {None}),
    "many-encodings": (encoded(b", ".join([b"gzip"] * 1000), gzip.compress(PAGE)),
                       ENCODING | BAD),
    "gzip-bomb": (encoded(b"gzip", GZIP_BOMB), BOMBED),
    "nested-gzip-bomb": (encoded(b"gzip, gzip", gzip.compress(GZIP_BOMB)),
                         BOMBED | ENCODING),
    "deflate-bomb": (encoded(b"deflate", deflate_bomb(1024)), BOMBED),
    "zstd-bomb": (encoded(b"zstd", zstd_bomb(1024)), BOMBED),
    "empty-gzip": (encoded(b"gzip", b""), ENCODING | {None}),
    # Pages.
    "wrong-charset": (lambda c: c.reply(b"\xff\xfe<\0p\0>\0" * 100, b"Content-Type: text/html; "
                                        b"charset=\"\x01no such\r\n"), {None}),
    "invalid-utf8": (lambda c: c.reply(b"<a href='mailto:\xff\xfe\x80'>\xc3\x28</a>" * 1000),
                     {None}),
    "nulls": (lambda c: c.reply(b"\0" * 500_000), {None}),
    # What is given up is its links: how that counts is not the transfer's to say.
    "deep-nesting": (lambda c: c.reply(b"<div>" * 150_000), None),
    "open-tags": (lambda c: c.reply(b"<a title=" * 50_000), None),
    # Redirects; why one is not followed is not the transfer's to say either.
    "no-location": (lambda c: c.reply(b"", b"", b"HTTP/1.1 302 Found\r\n"), None),
    "redirect-to-itself": (redirect(b"/redirect-to-itself"), None),
    "redirect-to-garbage": (redirect(b"http://[::bad/%zz"), None),
    "redirect-to-bytes": (redirect(b"http://\xff\xfe \x80/"), None),
    "redirect-to-script": (redirect(b"javascript:alert(1)"), None),
    "redirect-to-file": (redirect(b"file:///etc/passwd"), None),
    "redirect-to-metadata": (redirect(b"http://169.254.169.254/latest/meta-data/"), None),
    "redirect-to-long": (redirect(b"/" + b"r" * 60_000), None),
    "loop-a": (redirect(b"/loop-b"), None),
}

BROTLI_BOMB = brotli(bytes(64 << 20))
if BROTLI_BOMB:
    CASES["brotli-bomb"] = (encoded(b"br", BROTLI_BOMB), BOMBED)


class Host:
    """One address and port; `answer(connection, path)` is called for each request, `greet` before
    any and before TLS, `talk` in place of reading requests."""

    def __init__(self, answer=None, greet=None, tls=None, talk=None):
        self.answer, self.greet, self.tls, self.talk = answer, greet, tls, talk
        self.stopping = False
        self.paths = []  # as requested
        self.lock = threading.Lock()
        self.listener = listen(["127.0.0.1"])[0]
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, name="", scheme=None):
        scheme = scheme or ("https" if self.tls else "http")
        return f"{scheme}://127.0.0.1:{self.port}/{name}"

    def _accept(self):
        while not self.stopping:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        try:
            if self.greet:
                self.greet(Connection(peer, self))
            if self.tls:
                peer = self.tls.wrap_socket(peer, server_side=True)
            if self.talk:
                self.talk(Connection(peer, self))
            else:
                self._answer_all(peer)
        except (Gone, OSError):
            pass
        finally:
            peer.close()

    def _answer_all(self, peer):
        connection, pending = Connection(peer, self), b""
        while not self.stopping:
            while b"\r\n\r\n" not in pending:
                data = peer.recv(65536)
                if not data:
                    return
                pending += data
            head, pending = pending.split(b"\r\n\r\n", 1)
            path = head.split(b" ")[1].decode("latin-1").lstrip("/")
            with self.lock:
                self.paths.append(path)
            self.answer(connection, path)

    def stop(self):
        self.stopping = True
        self.listener.close()


def not_found(c):
    c.reply(b"no", status=b"HTTP/1.1 404 Not Found\r\n")


class HostileSite(Host):
    """All cases; `good` pages are linked after all the bad ones from "/"."""

    def __init__(self, good=30):
        self.good = [f"good-{i}" for i in range(good)]
        names = [*CASES, "endless-redirect-0", *self.good]
        self.cover = "".join(f'<p><a href="/{name}">{name}</a>\n' for name in names).encode()
        super().__init__(self._page)

    def _page(self, connection, name):
        if name in CASES:
            CASES[name][0](connection)
        elif name == "loop-b":
            redirect(b"/loop-a")(connection)
        elif name.startswith("endless-redirect-"):
            redirect(b"/endless-redirect-%d" % (int(name.split("-")[2]) + 1))(connection)
        elif name == "" or name in self.good:
            connection.reply(self.cover if name == "" else b"<p>good " + name.encode())
        else:
            not_found(connection)


def site_with(robots, extra=None):
    """A host of three good pages whose robots.txt is answered by `robots`; `extra` are its other
    paths."""
    pages = {"": b"<a href=/one>1</a><a href=/two>2</a>", "one": b"<p>one", "two": b"<p>two"}

    def answer(connection, path):
        if path == "robots.txt":
            robots(connection)
        elif path in (extra or {}):
            extra[path](connection)
        elif path in pages:
            connection.reply(pages[path])
        else:
            not_found(connection)
    return Host(answer)


GOOD_PATHS = ("", "one", "two")
TEXT = b"Content-Type: text/plain\r\n"
XML = b"Content-Type: application/xml\r\n"
RULES = b"".join(b"User-agent: bot%d\nDisallow: /%s\n" % (i, b"p" * 30) for i in range(60_000))


def own_urls(c, form, names):
    """The URLs of the connection's own host, each in `form`."""
    return b"".join(form % (b"http://127.0.0.1:%d/%s" % (c.peer.getsockname()[1], name))
                    for name in names)


def sitemap_index(c, names):
    c.reply(b"<sitemapindex>" + own_urls(c, b"<sitemap><loc>%s</loc></sitemap>", names)
            + b"</sitemapindex>", XML)


def robots_hosts():
    """Hosts whose robots.txt is hostile, and whose pages can be fetched anyway."""
    return {
        "a huge robots.txt": site_with(lambda c: c.reply(RULES, TEXT)),
        "a robots.txt without end": site_with(endless(OK + TEXT + b"\r\n", RULES[:65536])),
        "a robots.txt of one line without end": site_with(endless(OK + TEXT + b"\r\n",
                                                                  b"Disallow: /" + b"a" * 65536)),
        "a robots.txt that redirects in circles": site_with(redirect(b"/robots.txt")),
        "a robots.txt of noise": site_with(lambda c: c.reply(bytes(range(256)) * 500, TEXT)),
        "sitemap bombs": site_with(
            lambda c: c.reply(own_urls(c, b"Sitemap: %s\n", SITEMAPS), TEXT),
            {name.decode(): act for name, act in SITEMAPS.items()}),
        "a thousand sitemaps": site_with(
            lambda c: c.reply(own_urls(c, b"Sitemap: %s\n",
                                       [b"none-%d.xml" % i for i in range(1000)]), TEXT)),
    }


SITEMAPS = {
    b"bomb.xml.gz": lambda c: c.reply(GZIP_BOMB, b"Content-Type: application/x-gzip\r\n"),
    b"encoded-bomb.xml": encoded(b"gzip", GZIP_BOMB),
    b"endless.xml": endless(OK + XML + b"\r\n", b"<url><loc>http://127.0.0.9/x</loc></url>" * 1000),
    b"loop.xml": lambda c: sitemap_index(c, [b"loop.xml", b"loop.xml?2"]),
    b"torn.xml": lambda c: c.reply(b"<urlset><url><loc>http://127.0.0", XML),
    b"entities.xml": lambda c: c.reply(
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
            b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9))
        + b"]><urlset><url><loc>&j;</loc></url></urlset>", XML),
    b"torn.xml.gz": lambda c: c.reply(gzip.compress(b"<urlset>" * 1000)[:40], XML),
}


def tls_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def failing_hosts():
    """(URL, what its line may say, host) by name, for hosts that never answer."""
    hosts = {
        "reset at once": (Host(greet=lambda c: c.reset()), "http", LOST | {"connection refused"}),
        "closed at once": (Host(greet=sends(b"")), "http", LOST | BAD | {"connection refused"}),
        "silent": (Host(greet=lambda c: c.stall()), "http", LATE),
        "speaks first": (Host(greet=sends(b"220 mail ready\r\n")), "http",
                         BAD | LOST | LATE),
        "plain HTTP where TLS is expected": (
            Host(greet=sends(OK + b"Content-Length: 0\r\n\r\n")), "https", {"TLS failure"} | LOST),
        "silent where TLS is expected": (
            Host(greet=lambda c: c.stall()), "https",
            {"TLS failure", "connect timeout", "first byte timeout", "timeout"}),
        "reset in the handshake": (
            Host(greet=lambda c: (c.peer.recv(10), c.reset())), "https", {"TLS failure"} | LOST),
        "noise in the handshake": (Host(greet=sends(b"\x16\x03\x01\xff\xff" + b"\xa5" * 70_000)),
                                   "https", {"TLS failure"} | LOST),
    }
    return {name: (host.url(scheme=scheme), reasons, host)
            for name, (host, scheme, reasons) in hosts.items()}


def nobody():
    """The URL of a port where nobody listens."""
    return f"http://127.0.0.1:{t.free_port()}/"
