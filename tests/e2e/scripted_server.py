"""A web server on loopback with scripted answers, which records the time of each request."""

import email.utils
import gzip
import selectors
import socket
import threading
import time


class Request:
    """`there` is when it was read, `not_yet` a moment when it was not there: a loaded machine,
    which reads it late, must not make two requests look closer than they were."""

    def __init__(self, head, number, not_yet):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path = lines[0].split(" ")[:2]
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers.setdefault(name.strip().lower(), value.strip())
        self.host = self.headers.get("host", "")
        self.number = number  # on its connection, from 1
        self.body = ""
        self.not_yet = not_yet
        self.there = time.monotonic()


class ScriptedServer:
    """Answers on one thread. `respond(request)` returns the bytes of the answer, or None to close
    the connection; a dict of them by path will do. What it has nothing for is not found."""

    def __init__(self, respond, addresses=("127.0.0.1",), tls=None, port=0):
        if isinstance(respond, dict):
            answers = respond
            respond = lambda request: answers.get(request.path, NOT_FOUND)  # noqa: E731
        self.respond = respond
        self.requests = []
        self.tls = tls
        self.listeners = listen(addresses, port=port)
        self.port = self.listeners[0].getsockname()[1]
        self.stopping = False
        self.selector = selectors.DefaultSelector()
        for listener in self.listeners:
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ)
        self.connections = {}  # socket: [received, number of requests]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def url(self, path="/", host="127.0.0.1"):
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join()
        for connection in [*self.listeners, *self.connections]:
            connection.close()
        self.selector.close()

    @property
    def pages(self):
        """The requests but those for robots.txt."""
        return [request for request in self.requests if request.path != "/robots.txt"]

    def paths(self):
        return [request.path for request in self.pages]

    def _serve(self):
        quiet_at = time.monotonic()
        while not self.stopping:
            begun = time.monotonic()
            ready = self.selector.select(0.001)
            if not ready:
                quiet_at = begun
            for key, _ in ready:
                if key.fileobj in self.listeners:
                    self._accept(key.fileobj)
                else:
                    self._read(key.fileobj, quiet_at)

    def _accept(self, listener):
        connection = listener.accept()[0]
        if self.tls:
            try:
                connection.settimeout(5)
                connection = self.tls.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                return
        self.connections[connection] = [b"", 0]
        self.selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection, quiet_at):
        state = self.connections[connection]
        try:
            received = connection.recv(65536)
        except OSError:
            received = b""
        state[0] += received
        head, end, body = state[0].partition(b"\r\n\r\n")
        if received and (not end or len(body) < length_of_body(head)):
            return
        answer = None
        if received:
            state[1] += 1
            request = Request(head, state[1], quiet_at)
            request.body = body.decode("latin-1")
            state[0] = b""
            self.requests.append(request)
            answer = self.respond(request)
        try:
            if answer is not None:
                connection.sendall(answer)
                if b"\r\nConnection: close\r\n" not in answer.split(b"\r\n\r\n", 1)[0] + b"\r\n":
                    return
        except OSError:
            pass
        self.selector.unregister(connection)
        del self.connections[connection]
        connection.close()


def length_of_body(head):
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


def listen(addresses, backlog=200, port=0):
    """Listeners at the addresses, all on one port: that one, or one that is free at each of them."""
    for attempt in range(20):
        listeners = []
        try:
            for address in addresses:
                same = listeners[0].getsockname()[1] if listeners else port
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                listeners.append(socket.create_server((address, same), family=family,
                                                      backlog=backlog))
            return listeners
        except OSError:
            for listener in listeners:
                listener.close()
            if attempt == 19:
                raise
    return []


def answer(body="", status="200 OK", *headers, content_type="text/html"):
    """The bytes of an answer; `headers` are lines such as "ETag: x"."""
    if isinstance(body, str):
        body = body.encode()
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    if content_type:
        lines.insert(1, f"Content-Type: {content_type}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def not_modified(*headers):
    return "\r\n".join(["HTTP/1.1 304 Not Modified", *headers, "", ""]).encode("latin-1")


def redirect(location, status="302 Found"):
    return answer("", status, f"Location: {location}")


def zipped(text, content_type="application/x-gzip"):
    return answer(gzip.compress(text.encode()), content_type=content_type)


def links(paths):
    return "".join(f"<a href='{path}'>{path}</a>\n" for path in paths)


def http_date(seconds_from_now):
    return email.utils.formatdate(time.time() + seconds_from_now, usegmt=True)


NOT_FOUND = answer("nothing", "404 Not Found")

TOLERANCE = 0.005


def check_gaps(test, requests, delay, what):
    for first, second in zip(requests, requests[1:]):
        gap = second.there - first.not_yet
        test.check(gap >= delay - TOLERANCE,
                   f"{what}: {second.path} at most {gap:.3f} s after {first.path}, the delay is "
                   f"{delay} s")
