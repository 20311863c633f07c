#!/usr/bin/env python3
"""trawl serve and what it promises to keep: kill -9 under load, checkpoints, a full disk, damage, a second
server, files that are read in place, the ways to end it."""
import os
import pathlib
import signal
import subprocess
import threading
import time

import trawl_testing as t
from filter_server import RespError, Server, encode


class Load(threading.Thread):
    """Adds numbered items in pipelines until the server is gone. `acknowledged`: (time, first, end)."""

    def __init__(self, server, name, command="BF.ADD", pipeline=50):
        super().__init__()
        self.client = server.client()
        self.name_of_filter = name
        self.command = command
        self.pipeline = pipeline
        self.acknowledged = []

    def run(self):
        first = 0
        try:
            while True:
                items = range(first, first + self.pipeline)
                self.client.send(b"".join(encode(self.command, self.name_of_filter, f"item{i}") for i in items))
                for _ in items:
                    reply = self.client.reply()
                    if isinstance(reply, RespError):
                        return
                self.acknowledged.append((time.monotonic(), first, first + self.pipeline))
                first += self.pipeline
        except (OSError, EOFError):
            return
        finally:
            self.client.socket.close()

    def items(self, before=None):
        return [f"item{i}" for at, first, end in list(self.acknowledged) if before is None or at <= before
                for i in range(first, end)]


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

    def missing(self, client, name, items, command="BF.MEXISTS"):
        lost = 0
        for first in range(0, len(items), 1000):
            some = items[first:first + 1000]
            lost += len(some) - sum(client.ask(command, name, *some))
        return lost

    # --- kill -9 ---

    def killed_with_the_log(self):
        """With --durability log each acknowledged add is there, however often the server is killed."""
        with self.server("--durability", "log") as server:
            for round_number in range(3):
                with server.client() as client:
                    client.error("BF.RESERVE", f"b{round_number}", "1e-9", "1000")
                    client.error("CF.RESERVE", f"c{round_number}", "1000")
                loads = [Load(server, f"b{round_number}"), Load(server, f"b{round_number}"),
                         Load(server, f"c{round_number}", "CF.ADD")]
                for load in loads:
                    load.start()
                t.wait_until(lambda: all(len(load.acknowledged) > 20 for load in loads), "some load")
                if round_number == 1:
                    with server.client() as client:  # in the middle of a checkpoint
                        client.ask("BGSAVE")
                server.kill()
                for load in loads:
                    load.join()
                server.start()
                with server.client() as client:
                    for load in loads[:2]:
                        self.expect(self.missing(client, f"b{round_number}", load.items()), 0,
                                    f"round {round_number}: no acknowledged item of {len(load.items())} is lost")
                    cuckoo = loads[2].items()
                    self.expect(self.missing(client, f"c{round_number}", cuckoo, "CF.MEXISTS"), 0,
                                f"round {round_number}: nor one of the cuckoo filter")
                    info = dict(zip(*[iter(client.ask("CF.INFO", f"c{round_number}"))] * 2))
                    # The pipeline that was under way may be there, too, and nothing twice.
                    self.test.check(len(cuckoo) <= info["Number of items inserted"] <= len(cuckoo) + 50,
                                    "each once", f"{len(cuckoo)} acknowledged, {info}")
                    self.expect(client.ask("EXISTS", "b0", "c0"), 2, "earlier filters are there")

    def killed_within_an_interval(self):
        """What was acknowledged an interval before the kill is there."""
        interval = 0.4
        with self.server("--interval", f"{int(interval * 1000)}ms") as server:
            with server.client() as client:
                client.ask("BF.RESERVE", "b", "1e-9", "1000")
            load = Load(server, "b")
            load.start()
            t.wait_until(lambda: load.acknowledged and
                         load.acknowledged[-1][0] - load.acknowledged[0][0] > 3 * interval, "three intervals")
            killed = time.monotonic()
            server.kill()
            load.join()
            # A busy machine may take long to write what an interval has collected.
            items = load.items(before=killed - 2 * interval)
            server.start()
            with server.client() as client:
                self.test.check(len(items) > 1000, "there was some load")
                self.expect(self.missing(client, "b", items), 0, f"none of {len(items)} items is lost")

    def killed_while_checkpoints_replace_each_other(self):
        with self.server("--durability", "log") as server:
            with server.client() as client:
                client.ask("BF.RESERVE", "b", "1e-9", "1000")
            load = Load(server, "b")
            load.start()
            with server.client() as client:
                for _ in range(20):
                    try:
                        client.ask("SAVE")
                    except RespError:
                        pass
                t.wait_until(lambda: len(load.acknowledged) > 20, "some load")
                client.error("BGSAVE")
            server.kill()
            load.join()
            server.start()
            with server.client() as client:
                self.expect(self.missing(client, "b", load.items()), 0, "no item is lost")
                client.ask("SAVE")
            names = sorted(path.name for path in server.filters.iterdir())
            self.expect([name for name in names if name.startswith("log")], [], "a checkpoint replaces the log")
            self.expect(len([name for name in names if name.endswith(".ckpt")]), 1, "one file a filter")
            self.expect([name for name in names if ".tmp" in name], [], "nothing unfinished is left")

    # --- ends ---

    def ends(self):
        with self.server() as server:
            for number, (how, checkpoint) in enumerate(((signal.SIGTERM, True), (signal.SIGINT, True),
                                                        (("SHUTDOWN",), True), (("SHUTDOWN", "NOSAVE"), False))):
                with server.client() as client:
                    client.ask("BF.ADD", "b", f"x{number}")
                    if isinstance(how, tuple):
                        client.send(encode(*how))
                        self.test.check(client.at_end() and not client.buffer, f"{how}: the connection ends")
                        code = server.process.wait(timeout=60)
                    else:
                        code = server.end(how)
                self.expect(code, 0, f"the exit code after {how}")
                logs = [path.name for path in server.filters.iterdir() if path.name.startswith("log")]
                self.expect(not logs, checkpoint, f"{how}: a checkpoint in place of the log")
                server.start()
                self.expect(server.count, 1, "the filters at the next start")
                with server.client() as client:
                    self.expect(client.ask("BF.CARD", "b"), number + 1, f"{how}: everything is there")

    def second_server(self):
        with self.server() as server:
            done = subprocess.run([self.options.trawl, "serve", "--resp", "0", "--dir", str(server.filters)],
                                  capture_output=True, text=True, timeout=30, check=False)
            self.test.check(done.returncode == 1 and f"(pid {server.process.pid})" in done.stderr,
                            "a second server says who is first", done.stderr)

    # --- damage ---

    def damage(self):
        with self.server("--durability", "log") as server:
            with server.client() as client:
                for i in range(50):
                    client.ask("BF.ADD", "b", f"x{i}")
                count = client.ask("BF.CARD", "b")  # 50, or less by a false positive
            server.kill()
            log = server.filters / "log-000001"
            whole = log.read_bytes()
            log.write_bytes(whole[:-20] + b"\xff" * 5)  # a write that was not finished
            server.start()
            with server.client() as client:
                self.test.check(client.ask("BF.CARD", "b") >= count - 1, "a torn end does not count as damage")
            self.test.check("not written completely" in server.log.read_text(), "it is said", server.log.read_text())
            server.kill()
            for at in (len(whole) // 2, 45, 10):
                log.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
                done = subprocess.run([self.options.trawl, "serve", "--resp", "0", "--dir", str(server.filters)],
                                      capture_output=True, text=True, timeout=30, check=False)
                self.test.check(done.returncode == 1 and "log-000001 is damaged at byte" in done.stderr,
                                f"a changed byte {at} is refused", done.stderr)
            log.write_bytes(whole)
            server.start()
            with server.client() as client:
                self.expect(client.ask("BF.CARD", "b"), count, "whole again")
                client.ask("SAVE")
            server.kill()
            checkpoint = next(server.filters.glob("*.ckpt"))
            data = checkpoint.read_bytes()
            checkpoint.write_bytes(data[:4100] + bytes([data[4100] ^ 1]) + data[4101:])
            done = subprocess.run([self.options.trawl, "serve", "--resp", "0", "--dir", str(server.filters)],
                                  capture_output=True, text=True, timeout=30, check=False)
            self.test.check(done.returncode == 1 and f"{checkpoint.name} is damaged" in done.stderr,
                            "a damaged checkpoint is refused", done.stderr)

    def full_disk(self):
        disk = self.directory / "disk"
        disk.mkdir()
        with t.tmpfs(disk, "2m") as mounted:
            if not mounted:
                print("  left out: cannot mount a small file system here")
                return
            for mode in ("log", "interval"):
                with Server(self.options, disk, "--durability", mode, "--interval", "20ms", filters=mode) as server:
                    with server.client() as client:
                        client.ask("BF.RESERVE", "b", "1e-9", "100")
                        filler = disk / "filler"
                        filler.write_bytes(b"x" * (1 << 20))
                        kept, said = [], ""
                        for batch in range(3000):
                            items = [f"{batch}:{i}" for i in range(100)]
                            client.send(encode("BF.MADD", "b", *items))
                            reply = client.reply()
                            if isinstance(reply, RespError):
                                said = str(reply)
                                break
                            kept += items
                        self.test.check(said.startswith("MISCONF") and "No space left" in said, f"{mode}: MISCONF", said)
                        self.expect(self.missing(client, "b", kept[:1000]), 0, f"{mode}: lookups go on")
                        self.test.check(client.error("SAVE").startswith("ERR"), f"{mode}: SAVE fails")
                        filler.unlink()

                        def taken():
                            return not client.error("BF.ADD", "b", "one more").startswith("MISCONF")
                        t.wait_until(taken, "adds to be taken again")
                        client.error("BF.ADD", "b", "the last")
                    if mode == "interval":
                        time.sleep(0.2)
                    server.kill()
                    server.start()
                    with server.client() as client:
                        self.expect(self.missing(client, "b", kept + ["one more", "the last"]), 0,
                                    f"{mode}: nothing acknowledged is lost")
                for path in (disk / mode).iterdir():
                    path.unlink()

    # --- files ---

    def files_read_in_place(self):
        with self.server() as server:
            with server.client() as client:
                client.ask("BF.RESERVE", "big", "1e-6", "500000")
                client.ask("BF.MADD", "big", *range(1000))
                client.ask("CF.RESERVE", "cuckoo", "1000000")
                client.ask("CF.INSERT", "cuckoo", "ITEMS", *range(1000))
            self.expect(server.end(), 0, "the end")
            lines = "".join(f"http://example.com/{i}\n" for i in range(1000))
            for kind in ("blocked", "growing", "classic", "counting", "cuckoo"):
                subprocess.run([self.options.trawl, "filter", "build", "-q", "-o", str(server.filters / f"{kind}.filter"),
                                "--kind", kind, "--capacity", "1000"], input=lines, text=True, check=True)
            server.start("--max-memory", "1MiB")
            self.expect(server.count, 6, "own filters, and files with other names")
            urls = [f"http://example.com/{i}" for i in range(1000)]
            with server.client() as client:
                self.expect(self.missing(client, "big", list(range(1000))), 0, "one larger than memory")
                self.test.check(client.error("BF.ADD", "big", "x").startswith("READONLY"), "adds are refused")
                self.expect(self.missing(client, "cuckoo", list(range(1000)), "CF.MEXISTS"), 0, "a cuckoo filter, too")
                self.test.check(client.error("CF.DEL", "cuckoo", "1").startswith("READONLY"), "CF.DEL is refused")
                for kind in ("blocked", "growing", "classic", "counting"):
                    self.expect(self.missing(client, kind, urls), 0, f"a {kind} file")
                    self.expect(client.ask("BF.EXISTS", kind, "http://example.org/"), 0, f"not in a {kind} file")
                    self.test.check(client.error("BF.MADD", kind, "x").startswith("READONLY"), f"{kind}: no adds")
                self.test.check(client.error("DEL", "blocked").startswith("READONLY"), "DEL of a file")
                client.ask("BF.ADD", "small", "x")
                client.ask("FLUSHALL")
                self.expect(client.ask("DBSIZE"), 4, "FLUSHALL leaves the files")
            self.expect(server.end(), 0, "the end")
            server.start()
            self.expect(server.count, 5, "cuckoo.filter is served once the name is free")


def run(test, directory, options):
    t.run_cases(test, Cases(test, directory, options), ("server", "expect", "missing"))


if __name__ == "__main__":
    t.main(run, t.parser(__doc__).parse_args())
