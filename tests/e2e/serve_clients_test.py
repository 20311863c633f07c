#!/usr/bin/env python3
"""trawl serve with the clients that people have: redis-cli, redis-benchmark, python3-redis."""
import importlib.util
import os
import shutil
import subprocess
import sys

import trawl_testing as t
from filter_server import Server

DEBIAN_PYTHON = "/usr/bin/python3"  # has Debian's packages


class Cases:
    def __init__(self, test, server):
        self.test = test
        self.server = server

    # --- redis-cli and redis-benchmark ---

    def cli(self, *words, version="-2", stdin=None):
        done = subprocess.run(["redis-cli", version, "-p", str(self.server.port), *words], input=stdin,
                              capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip() + done.stderr.strip()

    def expect(self, got, expected, what):
        self.test.check(got == expected, what, f"got {got!r}\nexpected {expected!r}")

    def redis_cli(self):
        for version in ("-2", "-3"):
            def ask(*words):
                return self.cli(*words, version=version)
            key = "cli" + version
            self.expect(ask("PING"), "PONG", "PING")
            self.expect(ask("BF.RESERVE", key, "0.001", "1000"), "OK", "BF.RESERVE")
            added, again = ("(true)", "(false)") if version == "-3" else ("1", "0")
            self.expect(ask("BF.ADD", key, "a"), added, "BF.ADD")
            self.expect(ask("BF.ADD", key, "a"), again, "BF.ADD again")
            self.expect(ask("BF.MADD", key, "a", "b"), f"{again}\n{added}", "BF.MADD")
            self.expect(ask("BF.MEXISTS", key, "b", "c"), f"{added}\n{again}", "BF.MEXISTS")
            self.expect(ask("TYPE", key), "MBbloom--", "TYPE")
            self.test.check("item exists" in ask("BF.RESERVE", key, "0.001", "1000"), "BF.RESERVE twice")
            self.test.check("trawl_version:" in ask("INFO", "server"), "INFO")
        typed = self.cli(stdin="PING\nBF.EXISTS cli-2 \"a\"\nBF.EXISTS cli-2 'zz'\n")
        self.expect(typed, "PONG\n1\n0", "commands on standard input")
        piped = subprocess.run(["redis-cli", "-p", str(self.server.port), "--pipe"],
                               input="".join(f"BF.ADD piped item{i}\r\n" for i in range(5000)), text=True,
                               capture_output=True, timeout=60, check=False).stdout
        self.test.check("errors: 0, replies: 5000" in piped, "redis-cli --pipe", piped)
        scanned = self.cli("--scan", "--pattern", "cli*")
        self.expect(sorted(scanned.split()), ["cli-2", "cli-3"], "redis-cli --scan")

    def redis_benchmark(self):
        for words in (["-t", "ping"], ["BF.ADD", "bench", "item:__rand_int__"],
                      ["BF.EXISTS", "bench", "item:__rand_int__"], ["CF.ADD", "cbench", "item:__rand_int__"]):
            for pipeline in ("1", "100"):
                done = subprocess.run(["redis-benchmark", "-p", str(self.server.port), "-n", "5000", "-c", "20",
                                       "-P", pipeline, "-r", "1000000", "-q", *words], capture_output=True,
                                      text=True, timeout=60, check=False)
                self.test.check(done.returncode == 0 and "requests per second" in done.stdout and
                                "rror" not in done.stdout + done.stderr, f"redis-benchmark {words}",
                                done.stdout + done.stderr)

    # --- python3-redis ---

    def bloom_in_python(self):
        import redis
        client = redis.Redis(port=self.server.port)
        bf = client.bf()
        check = self.test.check
        check(bf.create("bloom", 0.01, 1000), "create")
        check(bf.create("bloom_ns", 0.01, 10, noScale=True), "create, not scaling")
        check(bf.create("bloom_e", 0.01, 1000, expansion=2), "create, expansion 2")
        self.error(lambda: bf.create("bloom_4", 0.01, 1000, expansion=4), "expansion must be 2")
        self.expect(bf.add("bloom", "foo"), 1, "add")
        self.expect(bf.add("bloom", "foo"), 0, "add again")
        self.expect(bf.madd("bloom", "foo", "bar", "bàr", b"\xff\x00\r\n"), [0, 1, 1, 1], "madd")
        self.expect(bf.exists("bloom", "noexist"), 0, "exists")
        self.expect(bf.mexists("bloom", "foo", "noexist", b"\xff\x00\r\n"), [1, 0, 1], "mexists")
        self.expect(bf.insert("captest", ["foo"], capacity=1000), [1], "insert")
        self.expect(bf.insert("errtest", ["foo"], error=0.01), [1], "insert with an error rate")
        self.error(lambda: bf.insert("missing", ["x"], noCreate=True), "not found")
        info = bf.info("bloom")
        self.expect((info.capacity, info.insertedNum, info.filterNum, info.expansionRate), (1000, 4, 1, 2), "info")
        self.expect(bf.info("bloom_ns").expansionRate, None, "info of one that does not scale")
        for i in range(10):
            bf.add("bloom_ns", f"i{i}")
        self.error(lambda: bf.add("bloom_ns", "one more"), "non scaling filter is full")
        self.expect(client.execute_command("BF.CARD", "bloom"), 4, "BF.CARD")
        keys = [f"key{i}" for i in range(20_000)]
        with client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.bf().add("grown", key)
            self.test.check(sum(pipe.execute()) > 19_000, "a pipeline of adds")
        self.expect(sum(bf.mexists("grown", *keys)), len(keys), "no key is missed")
        wrong = sum(bf.mexists("grown", *(f"other{i}" for i in range(20_000))))
        check(wrong <= 260, f"{wrong} false positives of 20,000 at 1 %, after growth from 100 keys")
        check(bf.info("grown").filterNum > 1, "it grew")

    def cuckoo_in_python(self):
        import redis
        client = redis.Redis(port=self.server.port)
        cf = client.cf()
        self.test.check(cf.create("cuckoo", 1000), "create")
        self.test.check(cf.create("cuckoo_bs", 1000, bucket_size=4, max_iterations=10), "create with options")
        self.error(lambda: cf.create("cuckoo", 1000), "item exists")
        self.error(lambda: cf.create("cuckoo_4", 1000, expansion=4), "EXPANSION must be 2")
        self.expect([cf.add("cuckoo", "k"), cf.add("cuckoo", "k"), cf.count("cuckoo", "k")], [1, 1, 2], "add twice")
        self.expect([cf.addnx("cuckoo", "k"), cf.addnx("cuckoo", "new")], [0, 1], "addnx")
        self.expect([cf.delete("cuckoo", "k"), cf.count("cuckoo", "k")], [1, 1], "one copy goes")
        self.expect([cf.delete("cuckoo", "k"), cf.delete("cuckoo", "k"), cf.exists("cuckoo", "k")], [1, 0, 0], "both")
        self.expect(cf.insert("captest_cf", ["foo", "foo"], capacity=1000), [1, 1], "insert")
        self.expect(cf.insertnx("captest_cf", ["foo", "bar"]), [0, 1], "insertnx")
        self.error(lambda: cf.insert("missing", ["x"], nocreate=True), "not found")
        self.error(lambda: cf.delete("missing", "x"), "Not found")
        info = cf.info("cuckoo")
        self.expect((info.insertedNum, info.deletedNum, info.expansionRate, info.filterNum), (1, 2, 2, 1), "info")
        self.expect(client.execute_command("CF.MEXISTS", "cuckoo", "new", "k"), [1, 0], "CF.MEXISTS")
        self.error(lambda: client.bf().add("cuckoo", "x"), "WRONGTYPE", strip=False)
        client.execute_command("CF.RESERVE", "small", 100, "EXPANSION", 0)
        full = cf.insert("small", [f"i{i}" for i in range(500)])
        self.test.check(full.count(-1) > 300 and full[:100] == [1] * 100, "a full filter", full)
        self.error(lambda: [cf.add("small", f"j{i}") for i in range(500)], "Filter is full")

    def keys_in_python(self):
        import redis
        client = redis.Redis(port=self.server.port)
        client.flushall()
        names = {f"key:{i}".encode() for i in range(100)} | {b"\x00\xff\r\n", b""}
        for name in names:
            client.bf().add(name, "x")
        self.expect(set(client.keys("*")), names, "KEYS")
        self.expect(set(client.keys("key:1?")), {f"key:1{i}".encode() for i in range(10)}, "KEYS with a pattern")
        self.expect(sorted(client.scan_iter(count=7)), sorted(names), "SCAN")
        self.expect(sorted(client.scan_iter(match="key:9*")), sorted(n for n in names if n.startswith(b"key:9")),
                    "SCAN MATCH")
        self.expect(list(client.scan_iter(_type="MBbloomCF")), [], "SCAN TYPE")
        self.expect(len(list(client.scan_iter(_type="mbbloom--"))), len(names), "SCAN TYPE in any case")
        self.expect(client.dbsize(), len(names), "DBSIZE")
        self.expect(client.exists("key:1", "key:1", "no"), 2, "EXISTS")
        self.expect(client.delete("key:1", "key:1", "no"), 1, "DEL")
        self.expect(client.type("key:1"), b"none", "TYPE")
        self.test.check(client.save() and client.bgsave(), "SAVE and BGSAVE")
        self.expect(client.echo("x"), b"x", "ECHO")
        self.test.check(client.client_setname("me") and client.client_getname() == "me", "CLIENT SETNAME")
        self.test.check(any(c["name"] == "me" for c in client.client_list()), "CLIENT LIST")
        self.test.check(client.info("memory")["used_memory"] > 0, "INFO")
        self.test.check(client.config_get("maxmemory")["maxmemory"] != "0", "CONFIG GET")
        self.error(lambda: client.select(1) if hasattr(client, "select") else
                   client.execute_command("SELECT", 1), "DB index is out of range")
        self.test.check(client.flushall(), "FLUSHALL")
        self.expect(client.dbsize(), 0, "after FLUSHALL")

    def error(self, call, text, strip=True):
        import redis
        try:
            result = call()
        except redis.ResponseError as error:
            said = str(error)
            self.test.check(said.startswith(text) if not strip else text in said, f"an error with {text!r}", said)
        else:
            self.test.check(False, f"no error with {text!r}", result)


def run(test, directory, options):
    for tool in ("redis-cli", "redis-benchmark"):
        if not shutil.which(tool):
            raise t.Skip(f"no {tool}: apt-get install redis-tools")
    if not importlib.util.find_spec("redis"):
        raise t.Skip("no module redis: apt-get install python3-redis")
    with Server(options, directory) as server:
        t.run_cases(test, Cases(test, server), ("cli", "expect", "error"))
        test.check(server.end() == 0, "the end by SIGTERM", server.log.read_text())


if __name__ == "__main__":
    if not importlib.util.find_spec("redis") and os.path.exists(DEBIAN_PYTHON):
        if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON):
            os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])
    t.main(run, t.parser(__doc__).parse_args())
