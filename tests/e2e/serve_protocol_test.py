#!/usr/bin/env python3
"""trawl serve and what a socket can bring: requests cut anywhere, RESP3, hostile lengths, slow and idle
clients, HTTP, passwords, limits, commands switched off, wrong options."""
import re
import resource
import socket
import subprocess
import time

import trawl_testing as t
from filter_server import RespError, Server, encode


class Cases:
    def __init__(self, test, directory, options):
        self.test = test
        self.directory = directory
        self.options = options
        self.number = 0

    def server(self, *arguments):
        self.number += 1
        return Server(self.options, self.directory, *arguments, filters=f"filters{self.number}")

    def expect(self, got, expected, what):
        self.test.check(got == expected, what, f"got {got!r}\nexpected {expected!r}")

    @staticmethod
    def field(client, name):
        """A number in INFO."""
        return int(re.search(rf"^{name}:(\d+)", client.ask("INFO").decode(), re.M).group(1))

    def pipelines_cut_at_every_byte(self):
        stream = b"".join((encode("BF.RESERVE", "f", "0.001", "1000"), encode("BF.ADD", "f", "a"),
                           encode("BF.ADD", "f", "a"), encode("BF.EXISTS", "f", b"\r\n"), b"PING\r\n",
                           encode("BF.MADD", "f", "b", "a"), encode("CF.ADD", "c", "x"), encode("CF.COUNT", "c", "x"),
                           encode("NOPE"), encode("DEL", "f", "c")))
        expected = ["OK", 1, 0, 0, "PONG", [1, 0], 1, 1, None, 2]
        with self.server() as server, server.client() as client:
            for cut in range(1, len(stream)):
                client.send(stream[:cut])
                # The rest goes when the server has answered what is complete in the first part.
                replies = [client.reply() for _ in range(self.complete(stream[:cut]))]
                client.send(stream[cut:])
                replies += [client.reply() for _ in range(len(expected) - len(replies))]
                self.test.check(isinstance(replies[8], RespError), f"cut at {cut}: the unknown command")
                replies[8] = None
                self.expect(replies, expected, f"cut at {cut}")
            for byte in stream:
                client.send(bytes([byte]))
            self.expect(len([client.reply() for _ in expected]), len(expected), "byte by byte")

    @staticmethod
    def complete(data):
        """The requests that are complete in it."""
        count = at = 0
        while at < len(data):
            end = data.find(b"\r\n", at)
            if end < 0:
                return count
            if data[at:at + 1] != b"*":
                at, count = end + 2, count + 1
                continue
            words, at = int(data[at + 1:end]), end + 2
            for _ in range(words):
                end = data.find(b"\r\n", at)
                if end < 0:
                    return count
                at = end + 4 + int(data[at + 1:end])
            count += at <= len(data)
        return count

    def resp3(self):
        with self.server() as server, server.client() as client:
            hello = client.ask("HELLO", 3, "SETNAME", "me")
            self.expect((hello[b"proto"], hello[b"server"], hello[b"role"]), (3, b"trawl", b"master"), "HELLO 3")
            self.expect(client.ask("CLIENT", "GETNAME"), b"me", "SETNAME")
            self.expect(client.ask("BF.ADD", "f", "a"), True, "BF.ADD is a boolean")
            self.expect(client.ask("BF.MADD", "f", "a", "b"), [False, True], "BF.MADD")
            self.expect(client.ask("BF.INFO", "f")["Expansion rate"], 2, "BF.INFO is a map")
            self.expect(client.ask("BF.INFO", "f", "items"), {"Number of items inserted": 2}, "one field")
            client.ask("BF.RESERVE", "n", "0.1", "10", "NONSCALING")
            self.expect(client.ask("BF.INFO", "n", "EXPANSION"), {"Expansion rate": None}, "a null")
            self.expect(client.ask("CF.ADD", "c", "a"), True, "CF.ADD")
            self.expect(client.ask("CF.INSERTNX", "c", "ITEMS", "a", "b"), [0, 1], "CF.INSERTNX has numbers")
            self.expect((client.ask("CF.COUNT", "c", "a"), client.ask("CF.DEL", "c", "a")), (1, True), "CF.DEL")
            self.expect(client.ask("CF.INFO", "c")["Number of items deleted"], 1, "CF.INFO")
            self.expect(client.ask("HELLO", 2)[0], b"server", "HELLO 2")
            self.expect(client.ask("BF.INFO", "f", "ITEMS"), [2], "one field in RESP2")
            self.test.check(client.error("HELLO", 4).startswith("NOPROTO"), "HELLO 4")
            self.expect(client.ask("COMMAND", "COUNT"), len(client.ask("COMMAND")), "COMMAND")
            self.expect(client.ask("COMMAND", "INFO", "bf.add", "nope")[0][:3], [b"bf.add", 3, ["write"]],
                        "COMMAND INFO")
            self.expect(client.ask("QUIT"), "OK", "QUIT")
            self.test.check(client.at_end(), "the end after QUIT")

    def errors(self):
        cases = (
            (("BF.ADD", "f"), "ERR wrong number of arguments for 'bf.add' command"),
            (("BF.RESERVE", "f", "x", "10"), "ERR bad error rate"),
            (("BF.RESERVE", "f", "nan", "10"), "ERR bad error rate"),
            (("BF.RESERVE", "f", "0", "10"), "ERR (0 < error rate range < 1)"),
            (("BF.RESERVE", "f", "0.1", "-1"), "ERR (capacity should be larger than 0)"),
            (("BF.RESERVE", "f", "0.1", "99999999999999999999"), "ERR bad capacity"),
            (("BF.RESERVE", "f", "0.1", "9223372036854775807"), "ERR could not create filter"),
            (("BF.RESERVE", "f", "1e-30", "10"), "ERR could not create filter"),
            (("BF.RESERVE", "f", "0.001", "1000000000000"), "OOM command not allowed"),
            (("BF.RESERVE", "f", "0.1", "10", "EXPANSION"), "ERR no expansion"),
            (("BF.RESERVE", "f", "0.1", "10", "EXPANSION", "x"), "ERR bad expansion"),
            (("BF.RESERVE", "f", "0.1", "10", "EXPANSION", "0"), "ERR expansion should be greater or equal to 1"),
            (("BF.RESERVE", "f", "0.1", "10", "EXPANSION", "1"), "ERR expansion must be 2"),
            (("BF.RESERVE", "f", "0.1", "10", "EXPANSION", "2", "NONSCALING"), "ERR Nonscaling filters cannot expand"),
            (("BF.RESERVE", "f" * 5000, "0.1", "10"), "ERR the name of a filter has at most 4096 bytes"),
            (("BF.INSERT", "f", "ITEMS"), "ERR wrong number of arguments for 'bf.insert' command"),
            (("BF.INSERT", "f", "WHAT", "ITEMS", "x"), "ERR Unknown argument received"),
            (("BF.INSERT", "f", "NOCREATE", "ITEMS", "x"), "ERR not found"),
            (("BF.INFO", "f"), "ERR not found"),
            (("CF.RESERVE", "c", "1"), "ERR Capacity must be at least (BucketSize * 2)"),
            (("CF.INSERT", "c", "CAPACITY", "3", "ITEMS", "x"), "ERR Capacity must be at least (BucketSize * 2)"),
            (("CF.INSERTNX", "c", "CAPACITY", "-1", "ITEMS", "x"), "ERR Bad capacity"),
            (("CF.RESERVE", "c", "10", "EXPANSION", "1"), "ERR EXPANSION must be 2"),
            (("CF.RESERVE", "c", "10", "BUCKETSIZE", "0"), "ERR BUCKETSIZE: value must be in the range"),
            (("CF.DEL", "c", "x"), "ERR Not found"),
            (("CF.INFO", "c"), "ERR not found"),
            (("SELECT", "1"), "ERR DB index is out of range"),
            (("AUTH", "x"), "ERR AUTH <password> called without any password configured"),
            (("SCAN", "x"), "ERR invalid cursor"),
            (("GET", "x"), "ERR unknown command 'GET', with args beginning with: 'x'"),
            (("\x1b[31m\n", "x"), "ERR unknown command '\\u001b[31m\\n'"),
        )
        with self.server("--max-memory", "64MiB") as server, server.client() as client:
            for words, text in cases:
                said = client.error(*words)
                self.test.check(said.startswith(text), f"{words[:3]}: {text}", said)
            self.expect(client.ask("DBSIZE"), 0, "no filter was made")
            self.expect([client.ask("BF.CARD", "f"), client.ask("BF.EXISTS", "f", "x"), client.ask("CF.COUNT", "f", "x"),
                         client.ask("BF.MEXISTS", "f", "x", "y")], [0, 0, 0, [0, 0]], "what is missing is empty")

    def hostile_bytes(self):
        cases = (
            (b"*1\r\n$536870912\r\n", b"-ERR Protocol error: invalid bulk length"),
            (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length"),
            (b"*-7\r\n", b"-ERR Protocol error: invalid multibulk length"),
            (b"*99999999999999999999\r\n", b"-ERR Protocol error: too big mbulk count string"),
            (b"*2147483648\r\n", b"-ERR Protocol error: invalid multibulk length"),
            (b"*1\r\n+PING\r\n", b"-ERR Protocol error: expected '$', got '+'"),
            (b"A" * 200_000, b"-ERR Protocol error: too big inline request"),
            (b"*1\r\n$" + b"1" * 100, b"-ERR Protocol error: too big bulk count string"),
            (b"PING 'x\r\n", b"-ERR Protocol error: unbalanced quotes in request"),
            (b"PING\r\n*1\r\n$4\r\nPINGxx", b"+PONG\r\n-ERR Protocol error: an argument does not end"),
        )
        with self.server() as server:
            for data, expected in cases:
                with server.client() as client:
                    client.send(data)
                    self.test.check(client.at_end() and client.buffer.startswith(expected), f"{data[:30]!r}",
                                    client.buffer[:200])
            # What is sent behind the error does not take the reply away.
            with server.client() as client:
                client.send(b"*1\r\n$536870912\r\n" + b"x" * 100_000)
                self.test.check(client.at_end() and client.buffer.startswith(b"-ERR Protocol error: invalid bulk"),
                                "a long argument that is refused", client.buffer[:100])
            for line in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST / HTTP/1.1\r\n\r\nBF.ADD f x\r\n",
                         b"Host: localhost\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
                with server.client() as client:
                    client.send(line)
                    self.test.check(client.at_end() and not client.buffer, f"HTTP is closed: {line!r}", client.buffer)
            self.test.check("HTTP" in server.log.read_text(), "HTTP is said in the log")
            with server.client() as client:
                self.expect(client.ask("DBSIZE"), 0, "the server goes on")
                client.ask("BF.ADD", "f", b"x" * (1 << 20))
                self.expect(client.ask("BF.EXISTS", "f", b"x" * (1 << 20)), 1, "an argument of 1 MiB")

    def passwords(self):
        secret = self.directory / "secret"
        secret.write_text("open sesame\n")
        secret.chmod(0o644)
        with self.server("--password-file", secret) as server:
            self.test.check("all users can read the password" in server.log.read_text(), "a file that all can read")
        secret.write_bytes(b"open sesame\r\nanother line\n")
        secret.chmod(0o600)
        with self.server("--password-file", secret) as server, server.client() as client:
            self.test.check("password" not in server.log.read_text(), "a file of its owner")
            for words in (("PING",), ("BF.ADD", "f", "x"), ("NOPE",), ("SHUTDOWN",), ("CLIENT", "ID")):
                self.expect(client.error(*words), "NOAUTH Authentication required.", f"{words} without the password")
            self.test.check(client.error("HELLO", 3).startswith("NOAUTH HELLO must be called"), "HELLO without it")
            for words in (("AUTH", "wrong"), ("AUTH", "me", "open sesame"), ("HELLO", 3, "AUTH", "default", "x"),
                          ("AUTH", ""), ("AUTH", "open sesame" * 2)):
                self.test.check(client.error(*words).startswith("WRONGPASS"), f"{words}")
            self.expect(client.ask("AUTH", "open sesame"), "OK", "AUTH")
            self.expect(client.ask("BF.ADD", "f", "x"), 1, "with the password")
            with server.client() as other:
                other.send(encode(*["x"] * 11))
                self.test.check(other.at_end() and b"unauthenticated multibulk" in other.buffer, "little without it")
            with server.client() as other:
                self.expect(other.ask("HELLO", 3, "AUTH", "default", "open sesame")[b"proto"], 3, "HELLO AUTH")
                self.expect(other.ask("AUTH", "default", "open sesame"), "OK", "AUTH with a user")

    def switched_off(self):
        with self.server("--disable", "FLUSHALL,shutdown", "--disable", "DEL") as server, server.client() as client:
            client.ask("BF.ADD", "f", "x")
            for words in (("FLUSHALL",), ("SHUTDOWN", "NOSAVE"), ("del", "f")):
                self.test.check("is switched off" in client.error(*words), f"{words}")
            self.expect(client.ask("DBSIZE"), 1, "nothing is gone")

    def memory(self):
        with self.server("--max-memory", "1MiB") as server, server.client() as client:
            client.ask("BF.RESERVE", "f", "1e-6", "1000")
            kept, refused = [], 0
            for batch in range(1000):
                items = [f"{batch}:{i}" for i in range(500)]
                client.send(encode("BF.MADD", "f", *items))
                replies = client.reply()
                kept += [item for item, reply in zip(items, replies) if not isinstance(reply, RespError)]
                errors = [str(reply) for reply in replies if isinstance(reply, RespError)]
                refused += len(errors)
                if errors:
                    self.test.check(errors[0].startswith("OOM command not allowed"), "OOM", errors[0])
                    break
            self.test.check(len(kept) > 50_000 and refused > 0, f"{len(kept)} kept, {refused} refused")
            self.expect(sum(client.ask("BF.MEXISTS", "f", *kept)), len(kept), "nothing is lost")
            self.test.check(client.error("BF.ADD", "f", "one more").startswith("OOM"), "BF.ADD")
            self.expect(client.ask("BF.ADD", "f", kept[0]), 0, "a known item is answered")
            self.test.check(client.error("BF.RESERVE", "g", "0.001", "1000000").startswith("OOM"), "BF.RESERVE")
            self.test.check(client.error("CF.RESERVE", "c", "10000000").startswith("OOM"), "CF.RESERVE")
            client.ask("DEL", "f")
            self.expect(client.ask("BF.RESERVE", "g", "0.001", "100000"), "OK", "there is room again")

    def slow_clients(self):
        with self.server("--max-memory", "64MiB") as server, server.client() as quick:
            quick.ask("BF.MADD", "f", *range(1000))
            names = [f"{i:0>4000}" for i in range(100)]
            for name in names:
                quick.ask("BF.ADD", name, "x")
            slow = server.client()
            slow.socket.setblocking(False)
            request = encode("KEYS", "*") * 1000  # 400 MB of replies
            sent = 0
            for _ in range(100):
                try:
                    sent += slow.socket.send(request[sent % len(request):])
                except BlockingIOError:
                    break
            self.expect(quick.ask("BF.EXISTS", "f", 5), 1, "others are served")
            memory = server.memory()
            self.test.check(memory < 200 << 20, f"{memory >> 20} MiB with a client that does not read")
            slow.socket.setblocking(True)
            slow.socket.settimeout(30)
            self.expect(len(slow.reply()), 101, "it gets its replies when it reads")
            slow.socket.close()
            with server.client() as idle:
                idle.ask("BF.MEXISTS", "f", *range(500_000))
                used = self.field(quick, "used_memory_clients")
                self.test.check(used < 1 << 20, f"{used} bytes for an idle client after 500,000 arguments")
            self.patterns_take_no_longer(server, quick)
            # One that sends no more gets the replies that it waits for.
            with server.client() as half:
                half.send(encode("KEYS", "*") * 100)
                half.socket.shutdown(socket.SHUT_WR)
                self.expect([len(half.reply()) for _ in range(100)], [101] * 100, "replies after a half-close")
                self.test.check(half.at_end(), "and the end")
            # One that sends faster than it is answered: what it sends is not collected.
            with server.client() as eager:
                eager.socket.setblocking(False)
                for _ in range(200):
                    for call in (lambda: eager.socket.send(b"KEYS *\r\n" * 10_000), eager._more):
                        try:
                            call()
                        except BlockingIOError:
                            pass
                    eager.buffer = b""
                used = self.field(quick, "used_memory_clients")
                self.test.check(used < 4 << 20, f"{used} bytes for requests that wait")
            # Many that say much will come, and send half of it.
            half = b"*2\r\n$4\r\nECHO\r\n$1000000\r\n" + b"x" * 700_000
            clients = [server.client() for _ in range(150)]
            for client in clients:
                try:
                    client.send(half)
                except OSError:
                    pass
            closed = 0
            for client in clients:
                client.socket.settimeout(0.01)
                try:
                    client._more()
                    closed += client.buffer.startswith(b"-OOM")
                except OSError:
                    pass
            self.expect(quick.ask("BF.EXISTS", "f", 5), 1, "others are served")
            self.test.check(0 < closed < 150, f"{closed} of 150 clients were closed for the memory of their requests")
            for client in clients:
                client.socket.close()

    def patterns_take_no_longer(self, server, client):
        """Whatever a pattern is, others wait at most about a second."""
        slow = "*[" + "b" * 4000 + "]"
        self.test.check(client.error("KEYS", slow).startswith("ERR the pattern takes too long"), "KEYS")
        self.test.check(client.error("KEYS", "x" * 5000).startswith("ERR a pattern has at most"), "a long pattern")
        self.test.check(client.error("SCAN", 0, "MATCH", "x" * 5000).startswith("ERR a pattern has"), "SCAN MATCH")
        cursor, rounds = b"0", 0
        while rounds == 0 or cursor != b"0":
            cursor, names = client.ask("SCAN", cursor, "MATCH", slow, "COUNT", 1000)
            self.expect(names, [], "SCAN with that pattern")
            rounds += 1
        self.test.check(rounds > 1, "SCAN goes on later")

    def many_clients(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 10_100
        if hard < wanted:
            print(f"  left out: 10,000 idle connections, since {hard} files may be open")
        else:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            with self.server("--max-memory", "64MiB") as server:
                idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10_000)]
                with server.client() as client:
                    self.expect(client.ask("BF.ADD", "f", "x"), 1, "an add with 10,000 idle connections")
                    self.test.check(b"connected_clients:10001" in client.ask("INFO", "clients"), "INFO")
                    memory = server.memory()
                    self.test.check(memory < 100 << 20, f"{memory >> 20} MiB for 10,000 idle connections")
                    for each in idle:
                        each.sendall(b"*")
                    self.expect(client.ask("BF.EXISTS", "f", "x"), 1, "others are served")
                    memory = server.memory()
                    self.test.check(memory < 100 << 20, f"{memory >> 20} MiB for 10,000 begun requests")
                idle[5000].sendall(b"1\r\n$4\r\nPING\r\n")
                self.expect(idle[5000].recv(100), b"+PONG\r\n", "an idle one wakes up")
                for each in idle[:2000]:
                    try:
                        each.sendall(b"2\r\n$4\r\nECHO\r\n$70000\r\n" + b"x" * 60_000)
                    except OSError:
                        pass
                with server.client() as client:
                    used = self.field(client, "used_memory_clients")
                    self.test.check(16 << 20 < used <= 64 << 20, f"{used} bytes for 2,000 requests of 60 kB")
                for each in idle:
                    each.close()
            self.strangers()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with self.server("--max-clients", 3) as server:
            clients = [server.client() for _ in range(3)]
            for client in clients:
                client.ask("PING")
            with server.client() as fourth:
                self.test.check(fourth.at_end(), "a fourth client is closed")
                self.expect(fourth.buffer, b"-ERR max number of clients reached\r\n", "and gets the reason")
            clients.pop().socket.close()
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:  # until the server has seen that one go
                with server.client() as another:
                    try:
                        another.ask("PING")
                        break
                    except (RespError, OSError, EOFError):
                        pass
            else:
                self.test.check(False, "no client is taken though one has gone")
        with self.server("--max-filters", 2) as server, server.client() as client:
            client.ask("BF.ADD", "a", "x")
            client.ask("CF.ADD", "b", "x")
            self.test.check("2 filters, as many as allowed" in client.error("BF.ADD", "c", "x"), "a third filter")

    def strangers(self):
        """What clients without the password send does not close those who have given it."""
        secret = self.directory / "secret"
        secret.write_text("open sesame\n")
        with self.server("--max-memory", "64MiB", "--password-file", secret) as server, \
                server.client("open sesame") as client:
            client.ask("BF.RESERVE", "f", "0.001", "1000")
            words = encode("BF.MADD", "f", *range(100_000))
            client.send(words[:-10])
            strangers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1500)]
            for each in strangers:
                try:
                    each.sendall(b"x" * 60_000)
                except OSError:
                    pass
            with server.client("open sesame") as other:
                used = self.field(other, "used_memory_clients")
                self.test.check(32 << 20 < used <= 64 << 20, f"{used} bytes of 1,500 strangers")
            client.send(words[-10:])
            self.expect(len(client.reply()), 100_000, "a large request is answered")
            for each in strangers:
                each.close()

    def wrong_options(self):
        empty = self.directory / "empty"
        empty.write_text("\n")
        crawl = self.directory / "crawl"
        crawl.mkdir()
        (crawl / "MANIFEST").write_text("x")
        good = ("--dir", self.directory / "d")
        cases = (
            (("--resp", "0"), 2, "--dir is required"),
            (good, 2, "--resp is required"),
            (("--resp", "x", *good), 2, "the port is missing"),
            (("--resp", "70000", *good), 2, "expected an IP address and a port"),
            (("--resp", "0.0.0.0:0", *good), 2, "can be reached from other machines: give --password-file"),
            (("--resp", "[::]:0", *good), 2, "give --password-file"),
            (("--resp", "0.0.0.0:0", *good, "--password-file", empty), 2, "has no password"),
            (("--resp", "0", *good, "--password-file", "/nowhere"), 1, "cannot open /nowhere"),
            (("--resp", "0", *good, "--disable", "FLUSHAL"), 2, "Did you mean FLUSHALL?"),
            (("--resp", "0", *good, "--durability", "never"), 2, "--durability"),
            (("--resp", "0", *good, "--interval", "0s"), 2, "is not from 1ms to 1h"),
            (("--resp", "0", *good, "--max-memory", "1KiB"), 2, "is too small"),
            (("--resp", "0", *good, "--max-argument", "1GiB"), 2, "is not from 64B to 512MiB"),
            (("--resp", "0", *good, "--capacity", "0"), 2, "--capacity"),
            (("--resp", "0", *good, "--error", "1"), 2, "--error"),
            (("--resp", "0", *good, "--durabilty", "log"), 2, "--durability"),
            (("--resp", "0", "--dir", self.directory / "no" / "where"), 1, "cannot create"),
            (("--resp", "0", "--dir", empty), 1, "is not a directory"),
            (("--resp", "0", "--dir", crawl), 1, "holds a crawl"),
        )
        for arguments, code, text in cases:
            done = subprocess.run([self.options.trawl, "serve", *map(str, arguments)], capture_output=True,
                                  text=True, timeout=30, check=False)
            self.test.check(done.returncode == code and text in done.stderr + done.stdout, f"{arguments}: {text}",
                            f"{done.returncode} {done.stderr}{done.stdout}")
        with self.server() as server:
            done = subprocess.run([self.options.trawl, "serve", "--resp", str(server.port), "--dir",
                                   str(self.directory / "other")], capture_output=True, text=True, timeout=30, check=False)
            self.test.check(done.returncode == 1 and "Address already in use" in done.stderr, "a port in use", done.stderr)
            with self.server("--capacity", 5000, "--error", "0.001") as other, other.client() as client:
                client.ask("BF.ADD", "f", "x")
                self.expect(client.ask("BF.INFO", "f", "CAPACITY"), [5000], "--capacity")


def run(test, directory, options):
    t.run_cases(test, Cases(test, directory, options), ("server", "expect", "complete", "field", "patterns_take_no_longer", "strangers"))


if __name__ == "__main__":
    t.main(run, t.parser(__doc__).parse_args())
