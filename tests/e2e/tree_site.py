"""A web of many hosts whose pages are a tree: exactly one link leads to each page, apart from links
back to its parent. A link that is lost shows as a page that was never fetched; where pages are found
from several others, nothing would show. A process of its own, which logs each request with the time
at which the kernel received it."""

import collections
import ctypes
import json
import os
import pathlib
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib

SO_TIMESTAMPNS = 35  # of Linux; the module socket has no name for it

# A request: monotonic time at which it arrived, host without port, path, user agent.
Fetch = collections.namedtuple("Fetch", "at host path agent")


class Tree:
    """Pages 0 to `pages` - 1, the root first, spread over `hosts` hosts: four names of each of the
    registrable domains site0.test, site1.test.., and every tenth host an address. A page links to
    `fanout` others, and has `padding` bytes of text. The last `crowd` pages are all at the first
    host, and no others are."""

    HOSTS_OF_DOMAIN = 4

    def __init__(self, pages, hosts, addresses=16, seed=1, fanout=3, padding=0, crowd=0):
        self.shape = {"pages": pages, "hosts": hosts, "addresses": addresses, "seed": seed,
                      "fanout": fanout, "padding": padding, "crowd": crowd}
        self.pages, self.seed, self.fanout, self.padding, self.crowd = pages, seed, fanout, padding, crowd
        self.addresses = [f"127.0.7.{i + 1}" for i in range(addresses)]
        literals = min(hosts // 10, addresses)
        self.hosts = [f"h{i % self.HOSTS_OF_DOMAIN}.site{i // self.HOSTS_OF_DOMAIN}.test"
                      for i in range(hosts - literals)] + self.addresses[:literals]
        self.port = None

    @staticmethod
    def domain(host):
        """The registrable domain; of an address itself."""
        return host if host[0].isdigit() else host.split(".", 1)[1]

    def names(self):
        """For a DnsServer."""
        return {host: [self.addresses[i % len(self.addresses)]]
                for i, host in enumerate(self.hosts) if not host[0].isdigit()}

    def host(self, page):
        if page >= self.pages - self.crowd:
            return self.hosts[0]
        others = self.hosts[1:] if self.crowd else self.hosts
        return others[zlib.crc32(b"%d %d" % (self.seed, page)) % len(others)]

    def url(self, page):
        return f"http://{self.host(page)}:{self.port}/{page}"

    def children(self, page):
        first = self.fanout * page + 1
        return range(first, min(first + self.fanout, self.pages))

    def urls(self):
        return {self.url(page) for page in range(self.pages)}

    def body(self, page):
        linked = list(self.children(page))
        if page:
            linked.append((page - 1) // self.fanout)  # known
        anchors = "".join(f"<p><a href='{self.url(each)}'>{each}</a>\n" for each in linked)
        return f"<!DOCTYPE html><title>Page {page}</title>\n{anchors}{'x' * self.padding}".encode()


class TreeSite:
    """Serves a tree in a process of its own. With `stall` it answers each page so many seconds
    later, except those of the crowd."""

    def __init__(self, directory, tree, stall=0.0):
        self.tree = tree
        self.log = pathlib.Path(directory) / "requests.log"
        self.log.touch()
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, json.dumps(tree.shape), self.log, str(stall)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the site does not start")
        tree.port = int(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def size(self):
        """Grows with each request."""
        return self.log.stat().st_size

    def count(self):
        """Requests so far, those for robots.txt too."""
        with open(self.log, "rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))

    def fetches(self):
        """All requests, in the order of their arrival."""
        found = []
        with open(self.log, encoding="latin-1") as file:
            for line in file:
                if not line.endswith("\n"):  # it is being written
                    break
                at, host, path, agent = line.rstrip("\n").split(" ", 3)
                found.append(Fetch(float(at), host, path, agent))
        return sorted(found)


def listeners_at(addresses):
    for attempt in range(20):
        listeners = []
        try:
            for address in addresses:
                port = listeners[0].getsockname()[1] if listeners else 0
                listeners.append(socket.create_server((address, port), backlog=500))
            return listeners
        except OSError:
            for listener in listeners:
                listener.close()
            if attempt == 19:
                raise
    return []


class Server:
    NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"

    def __init__(self, tree, log, stall):
        self.tree, self.log, self.stall = tree, log, stall
        self.listeners = listeners_at(tree.addresses)
        tree.port = self.listeners[0].getsockname()[1]
        self.selector = selectors.EpollSelector()
        for listener in self.listeners:
            listener.setblocking(False)
            listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)  # its connections inherit it
            self.selector.register(listener, selectors.EVENT_READ)
        self.received = {}
        self.lines = []
        self.waiting = collections.deque()  # answers that are due later: time, socket, bytes

    def serve(self):
        while True:
            for key, _ in self.selector.select(self.waiting and max(0.0, self.waiting[0][0] - time.monotonic())
                                               or None):
                if key.fileobj in self.listeners:
                    self.accept(key.fileobj)
                else:
                    self.read(key.fileobj)
            if self.lines:  # before any of these answers is read, mostly; a kill loses none
                os.write(self.log, "".join(self.lines).encode("latin-1"))
                self.lines.clear()
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                _, connection, answer = self.waiting.popleft()
                self.send(connection, answer)

    def accept(self, listener):
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received[connection] = b""
        self.selector.register(connection, selectors.EVENT_READ)

    def close(self, connection):
        if self.received.pop(connection, None) is not None:
            self.selector.unregister(connection)
        connection.close()

    def read(self, connection):
        try:
            data, extra, _, _ = connection.recvmsg(65536, 64)
        except OSError:
            data, extra = b"", []
        if not data:
            self.close(connection)
            return
        head = self.received[connection] + data
        if not head.endswith(b"\r\n\r\n"):
            self.received[connection] = head
            return
        self.received[connection] = b""
        lines = head.decode("latin-1").split("\r\n")
        path = lines[0].split(" ")[1]
        headers = {name.lower(): value.strip()
                   for name, _, value in (line.partition(":") for line in lines[1:])}
        host = headers.get("host", "-").rsplit(":", 1)[0]
        self.lines.append(f"{arrival(extra):.6f} {host} {path} {headers.get('user-agent', '-')}\n")
        answer = self.answer(host, path)
        if self.stall and path != "/robots.txt" and not (self.tree.crowd and host == self.tree.hosts[0]):
            self.waiting.append((time.monotonic() + self.stall, connection, answer))
        else:
            self.send(connection, answer)

    def send(self, connection, answer):
        try:
            connection.sendall(answer)
        except OSError:
            self.close(connection)

    def answer(self, host, path):
        number = path[1:]
        if not number.isdigit() or int(number) >= self.tree.pages or self.tree.host(int(number)) != host:
            return self.NOT_FOUND
        body = self.tree.body(int(number))
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def arrival(extra):
    """When the kernel had the last byte, on the monotonic clock: a busy server reads it late."""
    now, wall = clocks()
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return now - max(0.0, wall - (seconds + nanoseconds / 1e9))
    return now


def clocks():
    """Monotonic and wall clock, of one moment: between two readings others may have the processor."""
    readings = []
    while not readings or (min(readings)[0] > 1e-4 and len(readings) < 10):
        before, wall, after = time.monotonic(), time.time(), time.monotonic()
        readings.append((after - before, before, wall))
    return min(readings)[1:]


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # with the test, if that is killed
    shape, log, stall = json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    server = Server(Tree(**shape), os.open(log, os.O_WRONLY | os.O_APPEND), stall)
    print(server.tree.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
