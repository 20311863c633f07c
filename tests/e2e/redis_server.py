"""A redis-server of a test's own, on loopback, without a cluster."""
import pathlib
import random
import shutil
import socket
import subprocess
import time

import trawl_testing as t
from redis_cluster import die_with_parent


def free_port():
    """Below the ports that the system gives to clients."""
    for port in random.sample(range(10500, 11000), 500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
            try:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise t.Failure("no free port for redis-server")


class RedisServer:
    """Ends with its `with` block, or the thread that started it. `options`: as on the command line."""

    def __init__(self, directory, *options):
        if not shutil.which("redis-server") or not shutil.which("redis-cli"):
            raise t.Skip("redis-server and redis-cli are not installed")
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.options = options
        self.port = free_port()
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                   "--dir", str(self.directory), "--logfile", "redis.log", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        until = time.monotonic() + 30
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise t.Failure("redis-server does not start")
            time.sleep(0.02)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def url(self, crawl):
        return f"redis://127.0.0.1:{self.port}/{crawl}"

    def cli(self, *words, password=None):
        """The answer of redis-cli."""
        login = ["-a", password, "--no-auth-warning"] if password else []
        command = ["redis-cli", "-p", str(self.port), *login, *map(str, words)]
        finished = subprocess.run(command, capture_output=True, timeout=30, check=False, text=True)
        return finished.stdout.strip()

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64)[:1] in (b"+", b"-")
        except OSError:
            return False
