"""A `trawl serve` for the scripts that test it, and a client that speaks RESP byte by byte."""
import pathlib
import re
import signal
import socket
import subprocess
import tempfile

import trawl_testing as t


class RespError(Exception):
    """An error reply."""


def encode(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class Client:
    """Replies are Python's values: error replies are RespError, which `ask` raises."""

    def __init__(self, port, password=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.buffer = b""
        if password:
            self.ask("AUTH", password)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        some = self.socket.recv(1 << 16)
        if not some:
            raise EOFError("the server has closed the connection")
        self.buffer += some

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def _bytes(self, size):
        while len(self.buffer) < size + 2:
            self._more()
        data, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        return data

    def reply(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            return RespError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind in (b"$", b"="):
            return None if rest == b"-1" else self._bytes(int(rest))
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"%":
            return {self.reply(): self.reply() for _ in range(int(rest))}
        raise t.Failure(f"not a reply: {line!r}")

    def ask(self, *words):
        self.send(encode(*words))
        reply = self.reply()
        if isinstance(reply, RespError):
            raise reply
        return reply

    def error(self, *words):
        """The text of the error reply."""
        self.send(encode(*words))
        reply = self.reply()
        return str(reply) if isinstance(reply, RespError) else f"no error: {reply!r}"

    def at_end(self):
        """Whether the server has closed the connection; what it sent before is in `buffer`."""
        try:
            while True:
                self._more()
        except (EOFError, ConnectionError):
            return True
        except socket.timeout:
            return False


class Server:
    def __init__(self, options, directory, *arguments, filters="filters"):
        self.trawl = options.trawl
        self.directory = pathlib.Path(directory)
        self.filters = self.directory / filters
        self.arguments = [str(argument) for argument in arguments]
        self.process = None
        self.start()

    def start(self, *more):
        descriptor, name = tempfile.mkstemp(prefix="serve-", suffix=".log", dir=self.directory)
        self.log = pathlib.Path(name)
        command = [self.trawl, "serve", "--resp", "0", "--dir", str(self.filters), *self.arguments,
                   *map(str, more)]
        with open(descriptor, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=log, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"ready: 127\.0\.0\.1:(\d+), (\d+) filters\n", line)
        if not found:
            self.process.wait()
            raise t.Failure(f"the server did not start: {line!r} {self.log.read_text()}")
        self.port, self.count = int(found.group(1)), int(found.group(2))

    def client(self, password=None):
        return Client(self.port, password)

    def memory(self):
        """Resident bytes."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4096

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self, number=signal.SIGTERM):
        """The exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.process.stdout.close()
