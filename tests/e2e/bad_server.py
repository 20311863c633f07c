"""A web server on loopback that does everything wrong, one way a URL."""

import gzip
import socket
import struct
import threading
import time
import zlib

OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"


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
                if self.peer.recv(1) == b"":
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

    def reply(self, body, headers=HTML, status=OK):
        self.send(status + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def gzip_bomb(mebibytes):
    """A gzip stream of that many MiB of zeros, without making them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b"\0" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * mebibytes + b"\x03\0" + b"\0" * 8


BOMB = gzip_bomb(1024)
PAGE = b"<p>partial</p>"


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


LONG = OK + HTML + b"Content-Length: 100000\r\n\r\n" + PAGE
CHUNKED = OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = OK + HTML + b"Content-Encoding: gzip\r\n"

# Each costs one line of output that says what was wrong.
FAILING = {
    "reset-before-reply": lambda c: c.reset(),
    "reset-after-status": sends(OK, "reset"),
    "reset-in-headers": sends(OK + b"Content-Ty", "reset"),
    "reset-in-body": sends(LONG, "reset"),
    "close-without-reply": sends(b""),
    "stall-before-reply": lambda c: c.stall(),
    "stall-in-headers": sends(OK + b"Content-Ty", "stall"),
    "stall-in-body": sends(LONG, "stall"),
    "drip": endless(LONG, b".", 0.1),
    "continue-forever": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
    "garbage-status": sends(b"\x00\xff\xfe what is this\r\n\r\nbody"),
    "endless-header": endless(OK + b"X-Long: ", b"a" * 65536),
    "endless-headers": endless(OK, b"".join(b"X-%d: %s\r\n" % (i, b"b" * 50) for i in range(1000))),
    "endless-body": endless(OK + HTML + b"\r\n", b"<p>again and again" * 4096),
    "endless-chunks": endless(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "short-body": sends(LONG),
    "truncated-chunk": sends(CHUNKED + b"ff\r\nonly this"),
    "invalid-chunk-size": sends(CHUNKED + b"zz\r\n" + PAGE + b"\r\n0\r\n\r\n"),
    "invalid-gzip": sends(GZIP + b"Content-Length: 20\r\n\r\nthis is no gzip data"),
    "gzip-bomb": sends(GZIP + b"Content-Length: %d\r\n\r\n" % len(BOMB) + BOMB),
}

# Each costs one line, too; whether it counts as a failure is for the client to say.
ODD = {
    "garbage-headers": sends(OK + b"\x01\x02\xff\r\nno colon here\r\n: no name\r\n" + HTML +
                             b"Content-Length: 14\r\n\r\n" + PAGE),
    "status-999999": sends(b"HTTP/1.1 999999 What\r\nContent-Length: 0\r\n\r\n"),
    "long-body": sends(OK + HTML + b"Content-Length: 5\r\n\r\n" + PAGE * 100),
    "two-lengths": sends(OK + HTML + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\n" + PAGE),
    "negative-length": sends(OK + HTML + b"Content-Length: -5\r\n\r\n" + PAGE),
    "truncated-gzip": sends(GZIP + b"\r\n" + gzip.compress(PAGE * 1000)[:30]),
    "http-0.9": sends(b"<html><p>no headers at all</p></html>"),
    "unknown-encoding": sends(OK + HTML + b"Content-Encoding: rot13\r\nContent-Length: 14\r\n\r\n"
                              + PAGE),
    "no-location": lambda c: c.reply(b"", b"", b"HTTP/1.1 302 Found\r\n"),
    "redirect-to-itself": redirect(b"/redirect-to-itself"),
    "redirect-to-garbage": redirect(b"http://[::bad/%zz"),
    "redirect-to-bytes": redirect(b"http://\xff\xfe\x01 \x80/"),
    "redirect-to-script": redirect(b"javascript:alert(1)"),
    "loop-a": redirect(b"/loop-b"),
    "deep-nesting": lambda c: c.reply(b"<div>" * 150_000),
    "open-tags": lambda c: c.reply(b"<a title=" * 50_000),
    "nulls": lambda c: c.reply(b"\0" * 500_000),
    "invalid-utf8": lambda c: c.reply(b"<a href='mailto:\xff\xfe\x80'>\xc3\x28</a>" * 1000),
}


class BadServer:
    """`good` pages are linked after all the bad ones from "/"."""

    def __init__(self, good=30):
        self.stopping = False
        self.lock = threading.Lock()
        self.paths = []  # as asked for
        self.good = [f"good-{i}" for i in range(good)]
        names = [*FAILING, *ODD, "endless-redirect-0", *self.good]
        self.cover = "".join(f'<p><a href="/{name}">{name}</a>\n' for name in names).encode()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, name=""):
        return f"http://127.0.0.1:{self.port}/{name}"

    def accept(self):
        while not self.stopping:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        connection = Connection(peer, self)
        pending = b""
        with peer:
            try:
                while not self.stopping:
                    while b"\r\n\r\n" not in pending:
                        data = peer.recv(65536)
                        if not data:
                            return
                        pending += data
                    head, pending = pending.split(b"\r\n\r\n", 1)
                    name = head.split(b" ")[1].decode("latin-1").lstrip("/")
                    with self.lock:
                        self.paths.append(name)
                    self.answer(connection, name)
            except (Gone, OSError):
                return

    def answer(self, connection, name):
        if name in FAILING:
            FAILING[name](connection)
        elif name in ODD:
            ODD[name](connection)
        elif name == "loop-b":
            redirect(b"/loop-a")(connection)
        elif name.startswith("endless-redirect-"):
            redirect(b"/endless-redirect-%d" % (int(name.split("-")[2]) + 1))(connection)
        elif name == "" or name in self.good:
            connection.reply(self.cover if name == "" else b"<p>good</p>")
        else:
            connection.reply(b"no", status=b"HTTP/1.1 404 Not Found\r\n")

    def stop(self):
        self.stopping = True
        self.listener.close()


class SilentServer:
    """Accepts connections and resets or ignores them."""

    def __init__(self, reset):
        self.reset, self.peers = reset, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            if self.reset:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                peer.close()
            else:
                self.peers.append(peer)

    def stop(self):
        self.listener.close()
        for peer in self.peers:
            peer.close()
