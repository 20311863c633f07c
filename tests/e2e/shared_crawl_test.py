"""A crawl in Redis from the command line: `trawl frontier` with its URL, and `trawl cluster`.

What owners write and read there is written and read by a tool with the real formats."""
import collections
import contextlib
import json
import re
import shutil
import subprocess
import threading

import trawl_testing as t
from redis_server import RedisServer, free_port

LATER = "2199-12-31T23:59:59.250Z"
SINCE = "2026-11-21T08:40:00.123Z"
SESSION = "5e551017"  # of the member whose buckets the tool writes


def line_of(host, path, state="queued", **more):
    line = {"url": f"http://{host}/{path}", "host": host, "priority": 0, "depth": 1, "redirects": 0,
            "attempts": 0, "parent": None, "state": state}
    if state == "deferred":
        line["not_before"] = LATER
    if state in ("held", "failed"):
        line.update(reason="status" if state == "failed" else "a rule", since=SINCE)
    if state == "failed":
        line["status"] = 503
    return {**line, **more}


def lines_of(count, hosts=20):
    lines = [line_of(f"host{i % hosts}.example", i, priority=i % 3, depth=i % 7,
                     parent=None if i % 2 else f"http://host{i % hosts}.example/")
             for i in range(count)]
    lines += [line_of(f"host{i}.example", "later", "deferred", attempts=2) for i in range(5)]
    lines += [line_of(f"host{i}.example", "503", "failed") for i in range(4)]
    lines += [line_of("host7.example", "404", "failed", status=404)]
    return lines + [line_of(f"host{i}.example", "held", "held") for i in range(3)]


def jsonl(lines):
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def queues(lines):
    """Each host's queue, in order, by state."""
    found = collections.defaultdict(list)
    for line in lines:
        found[line["host"], line["state"]].append(line)
    return found


class SharedCrawl:
    def __init__(self, test, directory, options, server):
        self.test, self.directory, self.options, self.server = test, directory, options, server
        self.count = 0

    # --- helpers ---

    def new_crawl(self):
        """The name of a crawl that no case has used."""
        self.count += 1
        return f"crawl-{self.count}"

    def tool(self, crawl, *words, lines=()):
        command = [self.options.tool, str(self.server.port), crawl, *words]
        finished = subprocess.run(command, input=jsonl(lines), capture_output=True, timeout=60,
                                  check=False)
        if finished.returncode != 0:
            raise t.Failure(f"{words}: {finished.stderr.decode()}")
        return [json.loads(line) for line in finished.stdout.splitlines()]

    def run(self, *words, stdin=b""):
        return subprocess.run([self.options.trawl, *map(str, words)], input=stdin,
                              cwd=self.directory, capture_output=True, timeout=60, check=False)

    def expect(self, code, *words, stdin=b"", says=()):
        finished = self.run(*words, stdin=stdin)
        said = finished.stderr.decode(errors="replace")
        what = " ".join(map(str, words))
        self.test.check(finished.returncode == code,
                        f"{what}: exit code {finished.returncode}, expected {code}", said)
        for pattern in says:
            self.test.check(re.search(pattern, said), f"{what}: no {pattern!r} in the message", said)
        return finished.stdout.decode()

    def same(self, got, expected, what):
        self.test.check(got == expected, what, f"got {got!r}\nnot {expected!r}")

    @contextlib.contextmanager
    def member(self, crawl, name, session, buckets):
        """Whose heart beats meanwhile."""
        command = [self.options.tool, str(self.server.port), crawl, "beat", name, session,
                   str(buckets)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            watchdog = threading.Timer(60, process.kill)
            watchdog.start()
            t.wait_until(lambda: self.server.cli("hexists", f"{{{crawl}:mem}}", name) == "1",
                         "a heartbeat", 30)
            yield
            process.communicate(b"end\n")
            watchdog.cancel()

    # --- frontier ---

    def what_owners_wrote_is_dumped(self):
        crawl, lines = self.new_crawl(), lines_of(2000)
        self.tool(crawl, "write", lines=lines)
        url = self.server.url(crawl)
        dump = lambda *words: [json.loads(line) for line in
                               self.expect(0, "frontier", "dump", url, *words).splitlines()]
        dumped = dump()
        # A host's queue is by priority, and then first in, first out.
        expected = queues(sorted(lines, key=lambda line: -line["priority"]))
        self.same(queues(dumped), expected, "the dump is what was written")
        states = [line["state"] for line in dumped]
        self.same(states[:2000], ["queued"] * 2000, "queued URLs come first")
        self.same(states[2000:2005], ["deferred"] * 5, "then deferred ones")
        self.same(dump("--host", "HOST3.example:80"),
                  [line for line in dumped if line["host"] == "host3.example"], "those of a host")
        self.same(dump("--host", "nowhere.example"), [], "a host without URLs")
        self.same(len(dump("--state", "held", "--state", "failed")), 8, "those set aside")
        # It changes nothing.
        self.same(dump(), dumped, "a second dump")

    def a_crawl_of_one_becomes_a_crawl_of_many(self):
        crawl, lines = self.new_crawl(), lines_of(300)
        self.tool(crawl, "write")
        self.expect(0, "frontier", "load", "state", stdin=jsonl(lines))
        dump = self.expect(0, "frontier", "dump", "state").encode()
        url = self.server.url(crawl)
        said = self.expect(0, "frontier", "load", url, stdin=dump)
        self.test.check(": 305 URLs sent to their owners, 0 invalid" in said, "load", said)
        sent = self.tool(crawl, "drain")
        self.same(sorted(line["url"] for line in sent),
                  sorted(line["url"] for line in lines if line["state"] in ("queued", "deferred")),
                  "what was sent")
        by_url = {line["url"]: line for line in lines}
        for line in sent:
            self.same(line["bucket"], line["right_bucket"], "the bucket of " + line["url"])
            for key in ("priority", "depth", "redirects", "parent", "not_before"):
                self.same(line.get(key), by_url[line["url"]].get(key), key + " of " + line["url"])
            self.same(line["seen_only"], False, "seen_only")
        # Those set aside only if that is asked for.
        said = self.expect(0, "frontier", "load", url, "--set-aside", stdin=jsonl(lines))
        self.test.check(": 313 URLs sent" in said, "load --set-aside", said)
        self.tool(crawl, "drain")
        urls = "".join(f"http://host{i}.example/fetched\n" for i in range(100)).encode()
        said = self.expect(0, "frontier", "load", url, "--seen", stdin=urls)
        self.test.check(": 100 URLs sent to their owners, to be marked as seen" in said, "--seen", said)
        seen = self.tool(crawl, "drain")
        self.same([line["seen_only"] for line in seen], [True] * 100, "seen_only")
        self.same(self.tool(crawl, "drain"), [], "all was taken")

    def bad_lines_are_named(self):
        crawl = self.new_crawl()
        self.tool(crawl, "write")
        url = self.server.url(crawl)
        bad = b"http://a.example/\nftp://b.example/\nhttp://c.example/\n"
        self.expect(1, "frontier", "load", url, stdin=bad,
                    says=[r"standard input:2: ", "nothing after the first bad line was sent"])
        self.same([line["url"] for line in self.tool(crawl, "drain")], ["http://a.example/"],
                  "what came before the bad line")
        self.expect(0, "frontier", "load", url, "--skip-bad-lines", stdin=bad, says=[":2: "])
        self.same(len(self.tool(crawl, "drain")), 2, "the others")
        for option in (["--config", "x.toml"], ["--exact"], ["--ledger"], ["--expected-urls", "5"]):
            self.expect(2, "frontier", "load", url, *option, says=[option[0] + " is for a new frontier"])

    def a_full_redis_is_named(self):
        crawl = self.new_crawl()
        self.tool(crawl, "write")
        self.server.cli("config", "set", "maxmemory", "1")
        try:
            self.expect(t.EXIT_NO_SPACE, "frontier", "load", self.server.url(crawl),
                        stdin=b"http://a.example/\n", says=["maxmemory", "can be loaded again"])
        finally:
            self.server.cli("config", "set", "maxmemory", "0")

    def counts_are_sums_over_the_buckets(self):
        lines = lines_of(1000)
        for _ in range(5):  # in one crawl of 64 the two hosts loaded share a bucket
            crawl = self.new_crawl()
            self.tool(crawl, "write", lines=[*lines, {"parked": "parked.example"}])
            url = self.server.url(crawl)
            self.expect(0, "frontier", "load", url, stdin=b"http://a.example/\nhttp://b.example/\n")
            stats = json.loads(self.expect(0, "frontier", "stats", url, "--json", "--hosts", 3))
            if stats["inboxes_filled"] == 2:
                break
        for key, value in {"admitted": 1013, "completed": 8, "failed": 5, "skipped": 3, "held": 3,
                           "set_aside_failed": 5, "queued": 1000, "deferred": 5, "hosts": 20,
                           "hosts_given_up": 1, "hosts_known": 21, "buckets": 64,
                           "inbox_messages": 2, "inboxes_filled": 2, "delay_ms": 1500}.items():
            self.same(stats[key], value, key)
        self.same([host["queued"] for host in stats["longest_queues"]], [50, 50, 50], "queues")
        self.test.check(all(re.fullmatch(r"host\d+\.example", host["host"])
                            for host in stats["longest_queues"]), "names of hosts", stats)
        text = self.expect(0, "frontier", "stats", url)
        for pattern in (r"^admitted +1013 URLs$", r"^queued +1000$", r"^deferred +5$",
                        r"^hosts +20 with URLs queued, 0 blocked, 1 given up$",
                        r"^inboxes +2 messages in 2 of them$", r"^ +50  host\d+\.example  active$"):
            self.test.check(re.search(pattern, text, re.M), f"stats: no {pattern!r}", text)
        text = self.expect(0, "frontier", "stats", url, "--hosts", 0)
        self.test.check(re.search(r"^hosts +21 with URLs or settings$", text, re.M), "--hosts 0", text)

    def retries_are_commands_for_owners(self):
        crawl = self.new_crawl()
        self.tool(crawl, "write", lines=lines_of(50))
        url = self.server.url(crawl)
        said = self.expect(0, "frontier", "retry", url, "--status", "5xx", "--status", "429")
        self.test.check(said.startswith("4 URLs to be queued again, of 5 failed and 3 held"), "retry", said)
        got = self.tool(crawl, "drain")
        # A bucket gets a command if it has such a URL.
        self.test.check(1 <= len(got) <= 4, "a command a bucket", got)
        for command in got:
            self.same((command["command"], command["state"], command["statuses"]),
                      ("retry", "failed", [500, 599]), "the command")
        self.expect(0, "frontier", "retry", url, "--host", "host7.example")
        got = self.tool(crawl, "drain")
        self.same([(c["host"], c["state"], c["statuses"]) for c in got],
                  [("host7.example", "failed", [0, 0])], "of a host")
        said = self.expect(0, "frontier", "retry", url, "--held", "--reason", "a rule")
        self.test.check(said.startswith("3 URLs"), "retry --held", said)
        self.same({(c["state"], c["reason"]) for c in self.tool(crawl, "drain")},
                  {("held", "a rule")}, "held ones")
        said = self.expect(0, "frontier", "retry", url, "--status", "418")
        self.test.check("nothing to retry" in said, "no such status", said)
        self.same(self.tool(crawl, "drain"), [], "no commands")

    def parked_hosts_are_revived_by_owners(self):
        crawl = self.new_crawl()
        parked = [f"parked{i}.example" for i in range(12)]
        self.tool(crawl, "write", lines=[*lines_of(5), *({"parked": host} for host in parked)])
        url = self.server.url(crawl)
        said = self.expect(0, "frontier", "revive", url)
        self.test.check("12 hosts to be revived" in said and "and 2 more" in said, "revive", said)
        got = self.tool(crawl, "drain")
        self.same(sorted(c["host"] for c in got), sorted(parked), "all that are parked")
        self.same({(c["command"], c["unblocks"]) for c in got}, {("set_host", True)}, "the commands")
        said = self.expect(0, "frontier", "revive", url, parked[3], "host1.example", "no.example",
                           says=["host1.example is not parked", "no.example has no waiting URLs"])
        self.same([c["host"] for c in self.tool(crawl, "drain")], [parked[3]], "one of them")
        self.expect(1, "frontier", "revive", url, "host1.example")
        self.expect(2, "frontier", "repair", url, says=["repair is for state directories"])

    # --- cluster ---

    def members_live_by_their_heartbeats(self):
        crawl, lines = self.new_crawl(), lines_of(200)
        self.tool(crawl, "write", lines=lines)
        url = self.server.url(crawl)
        self.expect(0, "cluster", "members", url, says=["no crawler takes part"])
        with self.member(crawl, "dead:/x", "dead", 3):
            pass
        with self.member(crawl, "host-a:/s", SESSION, 7):
            members = json.loads(self.expect(0, "cluster", "members", url, "--json", "--wait", "1s"))
            self.same([(m["name"], m["alive"], m["buckets"]) for m in members],
                      [("dead:/x", False, 3), ("host-a:/s", True, 7)], "the members")
            self.expect(0, "frontier", "load", url, stdin=b"http://a.example/\n")
            status = json.loads(self.expect(0, "cluster", "status", url, "--json", "--wait", "1s"))
            text = self.expect(0, "cluster", "status", url, "--wait", "1s")
        owned = status["buckets"]["of_living_members"]
        self.test.check(1 < owned <= 20, "owned buckets", status)
        self.same(status["buckets"]["of_others"], 0, "buckets of others")
        self.same(owned + status["buckets"]["of_nobody"], 64, "all buckets")
        for key, value in {"crawl": crawl, "admitted": 213, "completed": 8, "open": 205,
                           "deferred": 5, "held": 3, "set_aside_failed": 5}.items():
            self.same(status[key], value, key)
        # Nobody takes the message.
        self.same([status["inbox"][key] for key in ("messages", "buckets", "standing")], [1, 1, 1], "inboxes")
        self.test.check(status["inbox"]["standing_ms"] >= 900, "the age of a message", status)
        self.test.check(status["nodes"][0]["memory_bytes"] > 100_000, "memory", status)
        for pattern in (r"^members +1 alive, 1 silent$", r"^open +205: 200 queued, 5 deferred$",
                        r"^inboxes +1 messages in 1 buckets$", r"oldest has waited for 1\S* or longer",
                        r"^alive +7 buckets  host-a:/s$", r"^silent +had 3 buckets  dead:/x$",
                        rf"^node +127\.0\.0\.1:{self.server.port}: .*Redis \d"):
            self.test.check(re.search(pattern, text, re.M), f"status: no {pattern!r}", text)
        # When it has ended, its buckets are those of a silent member.
        status = json.loads(self.expect(0, "cluster", "status", url, "--json", "--wait", "500ms"))
        self.same(status["buckets"]["of_others"], owned, "buckets of one that is dead")

    def buckets_are_listed(self):
        crawl, lines = self.new_crawl(), lines_of(200)
        self.tool(crawl, "write", lines=lines)
        url = self.server.url(crawl)
        self.expect(0, "frontier", "load", url, stdin=b"http://a.example/\n")
        listed = json.loads(self.expect(0, "cluster", "buckets", url, "--json"))
        self.same([bucket["bucket"] for bucket in listed], list(range(64)), "the numbers")
        for key, value in {"open": 205, "queued": 200, "deferred": 5, "set_aside": 8, "inbox": 1}.items():
            self.same(sum(bucket[key] for bucket in listed), value, key)
        self.same({bucket["owner"] for bucket in listed}, {None, f"({SESSION})"}, "owners")
        with self.member(crawl, "host-a", SESSION, 1):
            text = self.expect(0, "cluster", "buckets", url)
        rows = text.splitlines()
        self.same(len(rows), 65, "a line each, and the head")
        self.test.check(any(re.match(r" +\d+  host-a +1 +\d+", row) for row in rows), "an owner", text)
        self.tool(crawl, "write", "release")
        self.expect(0, "cluster", "buckets", f"redis://127.0.0.1:{self.server.port}", url)

    # --- bad input ---

    def what_cannot_be_opened_is_named(self):
        here = f"127.0.0.1:{self.server.port}"
        verbs = (("frontier", "stats"), ("frontier", "dump"), ("frontier", "load"),
                 ("frontier", "retry"), ("frontier", "revive"), ("cluster", "status"),
                 ("cluster", "buckets"), ("cluster", "members"))
        for verb in verbs:
            self.expect(1, *verb, f"redis://{here}/none", says=[r"no crawl none", r"\{none:cfg\}"])
        self.expect(1, "cluster", "status", "redis://127.0.0.1:1/c", says=["127.0.0.1:1", "check that it runs"])
        # One node of several is enough.
        crawl = self.new_crawl()
        self.tool(crawl, "write")
        self.expect(0, "cluster", "buckets", f"redis://127.0.0.1:1,{here}/{crawl}")
        self.expect(2, "cluster", "status", f"redis://{here}", says=["the name of the crawl is missing"])
        self.expect(2, "cluster", "status", here + "/x/y", says=["not the name of a crawl"])
        self.expect(2, "frontier", "stats", f"redis://{here}x/c", says=["is not a port"])
        self.expect(2, "cluster", "status", f"redis://{here}/a", f"redis://{here}/b", says=["another crawl"])
        self.expect(2, "cluster", "status", f"redis://{here}/a", f"rediss://{here}/a", says=["TLS is for all"])
        self.server.cli("set", "{foreign:cfg}", "x")
        self.expect(1, "cluster", "status", f"redis://{here}/foreign", says=["another program uses this name"])
        self.server.cli("del", "{foreign:cfg}")
        finished = self.run("frontier", "stats", f"redis://me:s3cret@{here}/c")
        self.same(finished.returncode, 2, "a password in the URL")
        self.test.check(b"s3cret" not in finished.stdout + finished.stderr, "the password is shown")

    def damage_is_named_by_its_key(self):
        crawl = self.new_crawl()
        self.tool(crawl, "write", lines=lines_of(20))
        url = self.server.url(crawl)
        # The others are shown nevertheless.
        self.server.cli("set", f"{{{crawl}:7}}i", "of another program")
        key = rf"\{{{crawl}:7\}}i in Redis is a string"
        status = self.expect(0, "cluster", "status", url)
        self.test.check(re.search(f"1 damaged, and not in what follows: the key {key}", status), "status", status)
        self.test.check(re.search(r"^admitted +\d", status, re.M), "the totals of the others", status)
        status = json.loads(self.expect(0, "cluster", "status", url, "--json"))
        self.same([status["buckets"][name] for name in ("all", "unknown", "damaged")], [64, 0, 1], "buckets")
        self.test.check(re.search(key, status["damage"]), "the damage", status)
        self.test.check(re.search(key, self.expect(0, "cluster", "buckets", url)), "the bucket")
        listed = json.loads(self.expect(0, "cluster", "buckets", url, "--json"))
        self.same([one["bucket"] for one in listed if "trouble" in one], [7], "damaged buckets")
        self.server.cli("del", f"{{{crawl}:7}}i")
        for bucket in range(64):
            self.server.cli("hset", f"{{{crawl}:{bucket:x}}}m", "c", "nonsense")
        self.expect(1, "frontier", "stats", url, says=[rf"\{{{crawl}:0\}}m", "holds no totals"])
        self.expect(1, "cluster", "status", url, says=["holds no totals"])
        for bucket in range(64):
            self.server.cli("set", f"{{{crawl}:{bucket:x}}}h", "of another program")
        self.expect(1, "frontier", "dump", url, says=[rf"\{{{crawl}:0\}}h", "another program uses this name"])

    def passwords_are_read_from_files(self):
        with RedisServer(self.directory / "guarded", "--requirepass", "s3cret") as guarded:
            guarded.cli("acl", "setuser", "reader", "on", ">other w0rd", "~*", "+@all", password="s3cret")
            url = guarded.url("c1")
            good, wrong, named = (self.directory / name for name in ("good", "wrong", "named"))
            good.write_text("s3cret\n")
            wrong.write_text("s4cret\n")
            named.write_text("other w0rd")
            absent = [r"no crawl c1"]
            self.expect(1, "cluster", "status", url, says=["asks for a password", "--password-file"])
            self.expect(1, "cluster", "status", url, "--password-file", wrong, says=["refuses the password"])
            self.expect(1, "cluster", "status", url, "--password-file", good, says=absent)
            self.expect(1, "frontier", "stats", url, "--username", "reader", "--password-file", named, says=absent)
            self.expect(2, "frontier", "stats", url, "--username", "reader", says=["needs --password-file"])
            self.expect(1, "frontier", "stats", url, "--password-file", "/nowhere", says=["/nowhere"])
            self.expect(2, "frontier", "stats", url, "--ca-file", good, says=["rediss://"])

    def certificates_are_checked(self):
        """Of rediss://, by the file of an authority."""
        if not shutil.which("openssl"):
            return
        pem, key = self.directory / "redis.pem", self.directory / "redis.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem],
                       check=True, timeout=60, capture_output=True)
        port = free_port()
        with RedisServer(self.directory / "tls", "--tls-port", str(port), "--tls-cert-file", pem,
                         "--tls-key-file", key, "--tls-ca-cert-file", pem, "--tls-auth-clients", "no"):
            url = f"rediss://127.0.0.1:{port}/c1"
            self.expect(1, "cluster", "status", url, "--ca-file", pem, says=["no crawl c1"])
            self.expect(1, "frontier", "stats", url, says=["certificate"])
            self.expect(1, "frontier", "stats", f"redis://127.0.0.1:{port}/c1", says=[f"127.0.0.1:{port}"])

    # --- config ---

    def a_password_that_redis_does_not_have_is_refused(self):
        secret = self.directory / "redis-password"
        secret.write_text("s3cret\n")
        config = t.fast_crawl(["http://127.0.0.2/"], "refused-state",
                              cluster={"redis": [f"127.0.0.1:{self.server.port}"], "name": "c9",
                                       "password_file": str(secret)})
        path = t.write_config(self.directory / "cluster.toml", config)
        said = self.expect(0, "check-config", path)
        self.test.check(f"the crawl c9 in Redis at 127.0.0.1:{self.server.port}" in said, "check-config", said)
        self.test.check("s3cret" not in said, "the password is shown", said)
        self.expect(1, "crawl", path, says=["has no password, but one is given"])
        secret.unlink()
        self.expect(t.EXIT_BAD_CONFIG, "check-config", path, says=["cluster.password_file: .*redis-password"])


HELPERS = {"new_crawl", "tool", "run", "expect", "same", "member"}


def shared_crawl(test, directory, options):
    with RedisServer(directory / "redis") as server:
        t.run_cases(test, SharedCrawl(test, directory, options, server), HELPERS, options.only)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--tool", required=True, help="the program shared_crawl_tool")
    arguments.add_argument("only", nargs="*", help="run these cases alone")
    t.main(shared_crawl, arguments.parse_args())
