#!/usr/bin/env python3
"""trawl serve against redis-server: requests per CPU-second of the server, in one run.

    bench/resp_bench.py TRAWL [ROUNDS]

Needs Debian's redis-server. Each round starts two new servers and adds 1,000,000 URLs: to
Redis with SADD, to trawl with BF.ADD, each in pipelines of 100 over one connection, and with BF.MADD of 100,
one request at a time and ten.
Counted is the CPU time of the server's process, user and system, with all its threads. Each line has the
median, and the least and most.
"""
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

URLS = 1_000_000
BATCH = 100
RATE, CAPACITY = "1e-6", str(URLS)
TICKS = os.sysconf("SC_CLK_TCK")


def encode(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def urls():
    return [b"https://www.host%03d.example.net/products/item-%010d-9f3a66c2.html" % (i % 997, i)
            for i in range(URLS)]


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(process):
    pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def connect(port):
    for _ in range(1000):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.01)
    sys.exit(f"no server on port {port}")


def ask(connection, request, size):
    """Sends a request, and reads a reply of so many bytes."""
    connection.sendall(request)
    got = 0
    while got < size:
        some = connection.recv(1 << 16)
        if not some:
            sys.exit("the server has closed the connection")
        got += len(some)


def per_cpu_second(process, connection, requests, reply, under_way=1):
    """Items a CPU-second, and the resident bytes that they took."""
    memory, before = resident(process), cpu_seconds(process)
    for first in range(0, len(requests), under_way):
        some = requests[first:first + under_way]
        ask(connection, b"".join(some), reply * len(some))
    return URLS / (cpu_seconds(process) - before), resident(process) - memory


def batches(items, make):
    return [make(items[i:i + BATCH]) for i in range(0, len(items), BATCH)]


def redis_round(directory, port, items):
    process = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", directory],
                               stdout=subprocess.DEVNULL)
    connection = connect(port)
    requests = batches(items, lambda some: b"".join(encode(b"SADD", b"seen", item) for item in some))
    result = per_cpu_second(process, connection, requests, BATCH * 4)
    process.kill()
    process.wait()
    return result


def trawl_round(trawl, directory, items):
    process = subprocess.Popen([trawl, "serve", "--resp", "0", "--dir", directory + "/filters"],
                               stdout=subprocess.PIPE, text=True)
    port = int(process.stdout.readline().split(",")[0].rpartition(":")[2])
    connection = connect(port)
    adds = batches(items, lambda some: b"".join(encode(b"BF.ADD", b"add", i) for i in some))
    results = []
    for name, under_way, requests, reply in (
            (b"add", 1, adds, BATCH * 4),
            (b"one", 1, batches(items, lambda some: encode(b"BF.MADD", b"one", *some)), BATCH * 4 + 6),
            (b"ten", 10, batches(items, lambda some: encode(b"BF.MADD", b"ten", *some)), BATCH * 4 + 6),
            (None, 10, batches(items, lambda some: encode(b"BF.MEXISTS", b"ten", *some)), BATCH * 4 + 6)):
        if name:
            ask(connection, encode(b"BF.RESERVE", name, RATE.encode(), CAPACITY.encode()), 5)
        results.append(per_cpu_second(process, connection, requests, reply, under_way))
    process.kill()
    process.wait()
    shutil.rmtree(directory + "/filters")
    return results


def row(what, values, unit):
    print(f"{what:44} {statistics.median(values):8.2f} {unit}   ({min(values):.2f} to {max(values):.2f})",
          flush=True)


def main():
    trawl = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    items = urls()
    found = {"Redis SADD, pipelines of 100": [], "BF.ADD, pipelines of 100": [], "BF.MADD of 100, one at a time": [],
             "BF.MADD of 100, ten under way": [], "BF.MEXISTS of 100, ten under way": []}
    redis_bytes, trawl_bytes = [], []
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(rounds):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            results = [redis_round(directory, port, items), *trawl_round(trawl, directory, items)]
            redis_bytes.append(results[0][1] / URLS)
            trawl_bytes.append(results[1][1] / URLS)
            for values, (speed, _) in zip(found.values(), results):
                values.append(speed / 1e6)
    for what, values in found.items():
        row(what, values, "M items/CPU-s")
    row("Redis, memory of a URL", redis_bytes, "bytes")
    row("trawl, memory of a URL at 1e-6", trawl_bytes, "bytes")


if __name__ == "__main__":
    main()
