"""A crawl by several crawlers, as its user meets it: [cluster] with one plain redis-server. Crawlers
start, join, stop, crash and come back; limits hold over all; what would lose the crawl is refused."""

import re
import shutil
import time

import crawl_judge as judge
import trawl_testing as t
from dns_server import DnsServer
from redis_cluster import RedisCluster, RedisServer, write_certificate
from shared_crawl import Crawler, RedisCrawl
from tcp_relay import TcpRelay
from tree_site import Tree, TreeSite

DELAY = 0.1
UNFINISHED = 1.0
CONNECTIONS = 16


class Scene:
    """A site, a name server, a Redis, and crawlers, in a directory of its own."""

    def __init__(self, test, directory, options, name, tree=None, redis=True, stall=0.0, **settings):
        self.test, self.options, self.name = test, options, name
        self.directory = directory / name
        self.directory.mkdir()
        self.tree = tree or Tree(600, 40)
        self.site = TreeSite(self.directory, self.tree, stall)
        self.dns = DnsServer(self.tree.names())
        self.crawlers = []
        self.redis = None
        try:
            self.redis = RedisServer(self.directory, **settings) if redis else None
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for crawler in self.crawlers:
            crawler.kill()
        if self.redis is not None:
            self.redis.kill()
        self.site.__exit__()
        self.dns.__exit__()

    def crawler(self, member, cluster=None, delay=DELAY, begin=True, **tables):
        tables.setdefault("scope", {}).setdefault("type", "any")
        politeness = {"delay": f"{delay * 1000:.0f}ms", "per_host_connections": 1}
        tables["politeness"] = {**politeness, **tables.get("politeness", {})}
        fetch = {"connections": CONNECTIONS, "dns_servers": [self.dns.address]}
        tables["fetch"] = {**fetch, **tables.get("fetch", {})}
        made = Crawler(self.options, self.directory, member, [self.tree.url(0)],
                       self.redis.addresses, cluster, **tables)
        self.crawlers.append(made)
        if begin:
            made.start()
        return made

    def wait_for(self, requests, timeout=60):
        t.wait_until(lambda: self.site.count() >= requests or not any(each.is_running() for each in self.crawlers),
                     f"{requests} requests", timeout)
        if self.site.count() < requests:
            raise t.Failure(f"{self.name}: the crawl ended after {self.site.count()} requests\n{self.ends()}")

    def wait_for_agents(self, *crawlers):
        """Until each of them has requested pages."""
        t.wait_until(lambda: {each.agent for each in crawlers} <= {fetch.agent for fetch in
                                                                   judge.pages_of(self.site.fetches())},
                     "pages by each crawler", 60)

    def ends(self):
        return "\n".join(f"{each.member}: exit code {run.exit_code}\n{run.tail()}"
                         for each in self.crawlers for run in each.runs)

    def wait_for_end(self, *crawlers, code=t.EXIT_DONE, timeout=60):
        for crawler in crawlers:
            crawler.run.wait(timeout)
            t.expect_exit(self.test, crawler.run, code, f"{self.name}, {crawler.member}")

    def check(self, condition, message, detail=""):
        return self.test.check(condition, f"{self.name}: {message}", detail)

    def judge(self, faults=(), delay=DELAY):
        """A crawl that has ended: all pages, in the output too, admitted once, at the delay."""
        fetches = self.site.fetches()
        lines = [line for crawler in self.crawlers for line in crawler.lines()]
        redis = RedisCrawl(self.redis)
        for what, problems in (
                ("coverage", judge.judge_coverage(self.tree, fetches)),
                ("delay", judge.judge_gaps(fetches, delay)),
                ("repeats", judge.judge_repeats(fetches, faults, UNFINISHED, 2 * CONNECTIONS)[0]),
                ("output", judge.judge_output(self.tree, lines)),
                ("lines", judge.judge_lines(lines, fetches)),
                ("admissions", judge.judge_admissions(redis.fingerprints(), self.tree.pages)),
                ("the end", judge.judge_end(redis.left()))):
            self.check(not problems, f"{what}: {len(problems)} problems", "\n".join(problems[:6]) + "\n" + self.ends())

    def expect_refusal(self, crawler, *patterns, code=None, timeout=60):
        """It ends, and its last lines have all of the patterns."""
        crawler.run.wait(timeout)
        exit_code = crawler.run.exit_code
        self.check(exit_code == code if code is not None else exit_code in (t.EXIT_FAILURE, t.EXIT_BAD_CONFIG),
                   f"exit code {exit_code}", crawler.run.tail())
        for pattern in patterns:
            self.check(re.search(pattern, crawler.run.text, re.IGNORECASE),
                       f"its message has no {pattern}", crawler.run.tail())


# --- start, join, leave ------------------------------------------------------------------------------

def start_and_join(test, directory, options):
    """The second joins a running crawl; each has its own output, whose WARC files have its name."""
    with Scene(test, directory, options, "join") as scene:
        first = scene.crawler("alpha", output={"warc": True})
        scene.wait_for(60)
        second = scene.crawler("beta", output={"warc": True})
        scene.wait_for_agents(first, second)
        scene.wait_for_end(first, second)
        scene.judge()
        for crawler in (first, second):
            fetched = {fetch.path for fetch in judge.pages_of(scene.site.fetches()) if fetch.agent == crawler.agent}
            written = {"/" + line["url"].rsplit("/", 1)[1] for line in crawler.lines()}
            test.check_equal_sets(written, fetched, f"the output of {crawler.member}")
            names = [path.name for path in (crawler.state / "output").glob("*.warc.gz")]
            scene.check(names and all(crawler.member in name for name in names),
                        f"{crawler.member}: WARC files without its name", names)
        scene.check(not RedisCrawl(scene.redis).owners(), "buckets have owners after the end")
        # Again: there is nothing to do.
        before = scene.site.count()
        first.start()
        scene.wait_for_end(first)
        scene.check(scene.site.count() == before, "a crawl that is done requests something again")


def interrupted(test, directory, options):
    """^C hands over at once: the others need not wait for takeover_after. How long a newcomer waits for
    its share grows with that."""
    with Scene(test, directory, options, "interrupted", Tree(4000, 40)) as scene:
        crawlers = [scene.crawler(member, {"takeover_after": "20s"}, delay=2 * DELAY) for member in ("alpha", "beta")]
        scene.wait_for_agents(*crawlers)
        crawlers[0].interrupt()
        scene.wait_for_end(crawlers[0], code=t.EXIT_INTERRUPTED)
        at = time.monotonic()
        hosts = {fetch.host for fetch in scene.site.fetches() if fetch.agent == crawlers[0].agent}
        left = lambda: hosts - {fetch.host for fetch in scene.site.fetches() if fetch.at > at}  # noqa: E731
        t.wait_until(lambda: not left(), "its hosts to be asked by the other", 12)
        scene.wait_for_end(crawlers[1])
        scene.judge(delay=2 * DELAY)


def resumed_after_interrupt(test, directory, options):
    """The last crawler is interrupted; the same command, or resume, goes on at once."""
    with Scene(test, directory, options, "resumed") as scene:
        crawler = scene.crawler("alpha", {"takeover_after": "5m"})
        for requests, command in ((80, "crawl"), (300, "resume")):
            scene.wait_for(requests)
            crawler.interrupt()
            scene.wait_for_end(crawler, code=t.EXIT_INTERRUPTED)
            crawler.start(command=command)
        scene.wait_for_end(crawler)
        scene.judge()


def killed(test, directory, options):
    """kill -9: another takes over after takeover_after, and no host is asked too soon."""
    # Enough pages of enough hosts that each has some, however late it starts, and in any buckets.
    delay = 3 * DELAY
    with Scene(test, directory, options, "killed", Tree(2400, 120)) as scene:
        crawlers = [scene.crawler(member, delay=delay) for member in ("alpha", "beta", "gamma")]
        scene.wait_for_agents(*crawlers)
        at = time.monotonic()
        crawlers[0].kill()
        scene.wait_for_end(*crawlers[1:])
        scene.judge([judge.Fault("kill", at, at, {crawlers[0].agent})], delay)


def killed_and_started_again(test, directory, options):
    """The same command after kill -9 of the only crawler, three times: it need not wait for the end of
    its own lease, and nothing is lost."""
    with Scene(test, directory, options, "again") as scene:
        crawler = scene.crawler("alpha", {"takeover_after": "4s"})
        faults = []
        for requests in (50, 200, 400):
            scene.wait_for(requests)
            at = time.monotonic()
            crawler.kill()
            faults.append(judge.Fault("kill", at, at, {crawler.agent}))
            crawler.start()
        scene.wait_for_end(crawler)
        scene.judge(faults)


def one_name_twice(test, directory, options):
    """The second of two crawlers with one member name is refused; the first goes on."""
    with Scene(test, directory, options, "one-name") as scene:
        first = scene.crawler("alpha")
        scene.wait_for(60)
        second = scene.crawler("beta", {"member": "alpha"})
        scene.expect_refusal(second, "alpha", r"member|name")
        scene.wait_for_end(first)
        scene.judge()
        scene.check(not second.lines(), "the refused crawler fetched something")


# --- Redis in trouble --------------------------------------------------------------------------------

def redis_away_meanwhile(test, directory, options):
    """Killed and started again with its file, then frozen: the crawlers wait, and nothing is lost."""
    with Scene(test, directory, options, "away") as scene:
        crawlers = [scene.crawler(member) for member in ("alpha", "beta")]
        scene.wait_for_agents(*crawlers)
        faults = []
        for stop, back in ((scene.redis.kill, scene.redis.start), (scene.redis.freeze, scene.redis.thaw)):
            at = time.monotonic()
            stop()
            time.sleep(4)
            back()
            faults.append(judge.Fault("away", at, time.monotonic() + UNFINISHED, None))
            known = scene.site.count()
            if scene.check(all(crawler.is_running() for crawler in crawlers), "a crawler gave up", scene.ends()):
                scene.wait_for(min(known + 30, 600))
        scene.wait_for_end(*crawlers)
        scene.judge(faults)


def cut_off(test, directory, options):
    """A crawler that Redis' network leaves: it stops asking before another takes over, and what it sent
    meanwhile, which arrives late, changes nothing."""
    with Scene(test, directory, options, "cut-off", Tree(2000, 60)) as scene, \
            TcpRelay(("127.0.0.1", scene.redis.port)) as relay:
        cut = scene.crawler("cut", {"redis": [relay.address]})
        other = scene.crawler("other")
        scene.wait_for_agents(cut, other)
        at = time.monotonic()
        relay.hold()
        time.sleep(6)  # three times takeover_after
        relay.release()
        fault = judge.Fault("cut", at, time.monotonic() + UNFINISHED, {cut.agent})
        scene.wait_for_end(cut, other)
        scene.judge([fault])


def redis_away_at_start(test, directory, options):
    """A clear end, or patience: with the address."""
    with Scene(test, directory, options, "away-at-start") as scene:
        scene.redis.kill()
        crawler = scene.crawler("alpha")
        scene.expect_refusal(crawler, re.escape(scene.redis.address), code=t.EXIT_FAILURE)
        scene.check(not scene.site.count(), "it fetched something")
        scene.redis.start()
        crawler.start()
        scene.wait_for_end(crawler)
        scene.judge()


def redis_full(test, directory, options):
    """Pages wait until there is room again; nothing is lost, and the reason is reported."""
    with Scene(test, directory, options, "full", Tree(3000, 30)) as scene:
        crawlers = [scene.crawler(member) for member in ("alpha", "beta")]
        scene.wait_for_agents(*crawlers)
        scene.redis.command("CONFIG", "SET", "maxmemory", 1)
        at = time.monotonic()
        is_reported = lambda: re.search("maxmemory|memory", "".join(each.text for each in crawlers))  # noqa: E731
        until = time.monotonic() + 15  # a progress line is written each 10 s
        t.wait_until(lambda: is_reported() or time.monotonic() > until, "a message that Redis is full", 30)
        scene.check(is_reported(), "no message that Redis is full", scene.ends())
        scene.check(all(crawler.is_running() for crawler in crawlers), "a crawler gave up", scene.ends())
        scene.redis.command("CONFIG", "SET", "maxmemory", 0)
        scene.wait_for_end(*crawlers)
        scene.judge([judge.Fault("full", at, time.monotonic(), None)])


def redis_read_only(test, directory, options):
    """A replica, which no cluster moves: writes are refused."""
    with Scene(test, directory, options, "replica") as scene, RedisServer(scene.directory) as master:
        scene.redis.command("REPLICAOF", "127.0.0.1", master.port)
        t.wait_until(lambda: scene.redis.info("replication")["master_link_status"] == "up", "the replica")
        scene.expect_refusal(scene.crawler("alpha"), r"read-?only|replica", re.escape(scene.redis.address))


def too_few_replicas(test, directory, options):
    """Where writes need a replica that is away, the crawl waits, and says for what."""
    with Scene(test, directory, options, "few-replicas") as scene:
        crawlers = [scene.crawler(member) for member in ("alpha", "beta")]
        scene.wait_for_agents(*crawlers)
        at = time.monotonic()
        scene.redis.command("CONFIG", "SET", "min-replicas-to-write", 1)
        t.wait_until(lambda: all("waits for Redis" in crawler.text for crawler in crawlers), "crawlers that wait", 20)
        scene.check(all(re.search("waits for Redis.*min-replicas-to-write", crawler.text) for crawler in crawlers),
                    "no message of what Redis lacks", scene.ends())
        scene.redis.command("CONFIG", "SET", "min-replicas-to-write", 0)
        scene.wait_for_end(*crawlers)
        scene.judge([judge.Fault("replicas", at, time.monotonic(), None)])


def master_away(test, directory, options):
    """A master without a replica: its part of the crawl waits until it is back, and status says
    what it does not know."""
    with Scene(test, directory, options, "master-away", redis=False) as scene, \
            RedisCluster(scene.directory, replicas=0) as scene.redis:
        crawlers = [scene.crawler(member) for member in ("alpha", "beta")]
        scene.wait_for_agents(*crawlers)
        at = time.monotonic()
        scene.redis.nodes[1].kill()
        t.wait_until(lambda: all("waits for Redis" in crawler.text for crawler in crawlers), "crawlers that wait", 20)
        time.sleep(3)  # longer than takeover_after
        url = f"redis://{scene.redis.nodes[0].address}/c"
        status = t.Run(options, scene.directory, "cluster", "status", url)
        status.wait(30)
        scene.check(re.search(rf"unknown, .*{scene.redis.nodes[1].address}", status.text), "status", status.text)
        scene.redis.nodes[1].start()
        scene.wait_for_end(*crawlers)
        scene.judge([judge.Fault("master", at, time.monotonic(), None)])


def replica_gone(test, directory, options):
    """A machine that does not come back: its replica is promoted and has none itself. Writes wait
    for another one for six times takeover_after, and then go on without."""
    with Scene(test, directory, options, "replica-gone", redis=False) as scene, \
            RedisCluster(scene.directory) as scene.redis:
        crawlers = [scene.crawler(member) for member in ("alpha", "beta")]
        scene.wait_for_agents(*crawlers)
        at = time.monotonic()
        scene.redis.wait_for_promotion(scene.redis.kill_master(scene.redis.masters()[0], 0))
        scene.wait_for_end(*crawlers)
        scene.check(all("no replica" in crawler.text for crawler in crawlers), "no message of what it waits for",
                    scene.ends())
        scene.check(time.monotonic() - at > 10, "nobody waited for a replica", scene.ends())
        scene.judge([judge.Fault("master", at, time.monotonic(), None)])


def over_tls(test, directory, options):
    """A cluster whose nodes and clients use TLS, with a failover; and what is refused."""
    if not shutil.which("openssl"):
        return
    with Scene(test, directory, options, "tls", redis=False) as scene:
        certificate = write_certificate(scene.directory)
        with RedisCluster(scene.directory, certificate=certificate) as scene.redis:
            plain = [f"127.0.0.1:{scene.redis.nodes[0].port}"]
            trusted = {"tls": True, "ca_file": certificate[0]}
            scene.expect_refusal(scene.crawler("untrusted", {"tls": True}), "certificate", r"cluster\.ca_file")
            scene.expect_refusal(scene.crawler("without"), r"closed the connection", r"cluster\.tls")
            scene.expect_refusal(scene.crawler("no-tls", {"redis": plain, **trusted}), r"cluster\.tls")
            crawlers = [scene.crawler(member, trusted) for member in ("alpha", "beta")]
            scene.wait_for_agents(*crawlers)
            at = time.monotonic()
            master = scene.redis.masters()[0]
            scene.redis.wait_for_promotion(scene.redis.kill_master(master, 0))
            master.start()
            scene.wait_for_end(*crawlers)
            scene.judge([judge.Fault("master", at, time.monotonic(), None)])


# --- what is refused ---------------------------------------------------------------------------------

def unsafe_settings(test, directory, options):
    with Scene(test, directory, options, "unsafe", Tree(40, 10)) as scene:
        scene.redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        scene.expect_refusal(scene.crawler("evicts"), "evict", "maxmemory-policy noeviction")
        scene.redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        scene.redis.command("CONFIG", "SET", "appendonly", "no")
        scene.expect_refusal(scene.crawler("no-file"), "append-only file", "appendonly yes", 'durability = "async"')
        scene.check(not RedisCrawl(scene.redis).keys(), "a refused crawl left keys")
        scene.check(not scene.site.count(), "a refused crawl fetched something")
        scene.wait_for_end(scene.crawler("async", {"durability": "async"}))
        scene.judge()
        scene.redis.command("CONFIG", "SET", "appendonly", "yes")
        scene.expect_refusal(scene.crawler("late-sync", {"durability": "synced"}), "appendfsync always")


def slow_failover(test, directory, options):
    with Scene(test, directory, options, "slow-failover", Tree(40, 10), redis=False) as scene, \
            RedisCluster(scene.directory, node_timeout=1.5, replicas=0) as scene.redis:
        scene.expect_refusal(scene.crawler("alpha"), "cluster-node-timeout 1500", "takeover_after")
        # One node is enough to find all. Masters without replicas are a warning.
        crawler = scene.crawler("beta", {"takeover_after": "4s", "redis": scene.redis.addresses[:1]})
        scene.wait_for_end(crawler)
        scene.check("no replica" in crawler.text, "no warning of masters without replicas", crawler.text)
        scene.judge()


def another_configuration(test, directory, options):
    """What all crawlers must have in common; the first one's holds."""
    with Scene(test, directory, options, "other-config", Tree(3000, 20)) as scene:
        first = scene.crawler("alpha")
        scene.wait_for(30)
        for member, cluster, tables, pattern in (
                ("rules", None, {"url": {"rules": ["sort_query"]}}, r"url\.rules"),
                ("buckets", {"buckets": 32}, {}, r"cluster\.buckets"),
                ("urls", None, {"filter": {"expected_urls": 77_000}}, r"filter\.expected_urls"),
                ("delay", None, {"politeness": {"delay": "50ms"}}, r"politeness\.delay"),
                ("domains", None, {"politeness": {"domain_delay": "70ms"}}, r"politeness\.domain_delay")):
            refused = scene.crawler(member, cluster, **tables)
            scene.expect_refusal(refused, pattern, r"cluster\.name")
            scene.check(not refused.lines(), f"{member}: it fetched something")
        # Another name is another crawl.
        other = scene.crawler("other", {"name": "other"}, scope={"max_pages": 5})
        scene.wait_for_end(other)
        scene.check(first.is_running(), "the first crawler ended", first.run.tail())
        first.interrupt()
        scene.wait_for_end(first, code=t.EXIT_INTERRUPTED)


def foreign_data(test, directory, options):
    """Keys of another program under the names of the crawl's: named, and not touched."""
    for number, (key, command) in enumerate((("{c:cfg}", ("SET", "{c:cfg}", "mine")),
                                             ("{c:mem}", ("SET", "{c:mem}", "mine")),
                                             ("{c:3}i", ("HSET", "{c:3}i", "field", "mine")),
                                             ("{c:5}m", ("LPUSH", "{c:5}m", "mine")))):
        with Scene(test, directory, options, f"foreign-{number}", Tree(40, 10)) as scene:
            scene.redis.command(*command)
            crawler = scene.crawler("alpha")
            # A key of one bucket does not end the crawl; that of the crawl does.
            t.wait_until(lambda: key in crawler.text or not crawler.is_running(), f"a message about {key}", 30)
            scene.check(re.search(re.escape(key) + ".*another (program|cluster)", crawler.text), f"no message about {key}",
                        crawler.text)
            if key == "{c:cfg}":
                scene.expect_refusal(crawler, re.escape(key), code=t.EXIT_FAILURE)
            kind = {"SET": b"string", "HSET": b"hash", "LPUSH": b"list"}[command[0]]
            scene.check(scene.redis.command("TYPE", key) == kind, f"{key} was changed")


def damaged_message(test, directory, options):
    """What is not a message is set apart and reported; the crawl goes on."""
    with Scene(test, directory, options, "damaged") as scene:
        crawler = scene.crawler("alpha")
        scene.wait_for(60)
        scene.redis.command("RPUSH", "{c:3}i", b"sixteen bytes id" + b"\xff" * 20)
        scene.wait_for_end(crawler)
        scene.check(not judge.judge_coverage(scene.tree, scene.site.fetches()), "not all pages were fetched")
        scene.check(re.search(r"\{c:3\}[iw]", crawler.text), "the damaged message is not reported", crawler.text)
        scene.check(scene.redis.command("LLEN", "{c:3}i") == 0, "the damaged message is still in the inbox")


def logins(test, directory, options):
    """A password, right and wrong, and a user; it is shown nowhere."""
    with Scene(test, directory, options, "login", Tree(100, 10), password="s3cret-of-redis") as scene:
        scene.redis.command("ACL", "SETUSER", "crawler", "on", ">another-s3cret", "~{c:*", "~c:*", "&*", "+@all")
        scene.redis.command("ACL", "SETUSER", "reader", "on", ">another-s3cret", "~*", "&*", "+@read", "+info",
                            "+config|get", "+@connection", "+cluster", "+time")
        right, wrong, other = (scene.directory / name for name in ("right", "wrong", "other"))
        right.write_text("s3cret-of-redis\n")
        wrong.write_text("guessed-s3cret\n")
        other.write_text("another-s3cret\n")
        refusals = (
            ("none", {}, ("NOAUTH|password|log ?in",)),
            ("wrong", {"password_file": wrong}, ("WRONGPASS|password",)),
            ("missing", {"password_file": scene.directory / "nowhere"}, ("nowhere",)),
            ("unknown", {"username": "nobody", "password_file": right}, ("WRONGPASS|password|user",)),
            ("reader", {"username": "reader", "password_file": other}, ("NOPERM|permission|allow",)))
        for member, cluster, patterns in refusals:
            scene.expect_refusal(scene.crawler(member, cluster), *patterns)
        scene.wait_for_end(scene.crawler("default", {"password_file": right}, scope={"max_pages": 20}))
        scene.wait_for_end(scene.crawler("named", {"username": "crawler", "password_file": other}))
        scene.check(not judge.judge_coverage(scene.tree, scene.site.fetches()), "not all pages were fetched")
        secrets = re.compile(rb"s3cret")
        for path in scene.directory.rglob("*"):
            if path.is_file() and path not in (right, wrong, other) and "redis-" not in str(path.relative_to(scene.directory)):
                scene.check(not secrets.search(path.read_bytes()), f"{path} has a password")


def wrong_configs(test, directory, options):
    """Errors in [cluster] have their line, before anything else happens."""
    with Scene(test, directory, options, "wrong", Tree(40, 10)) as scene:
        for member, cluster, patterns in (
                ("no-name", {"name": ""}, (r"cluster\.name",)),
                ("braces", {"name": "a{b}"}, (r"cluster\.name|name",)),
                ("address", {"redis": ["127.0.0.1:port"]}, (r"cluster\.redis", "not a port")),
                ("few", {"buckets": 3}, (r"cluster\.buckets", "16")),
                ("short", {"takeover_after": "10ms"}, (r"takeover_after",)),
                ("durable", {"durability": "very"}, (r"durability", "replicated")),
                ("user", {"username": "someone"}, (r"password_file",))):
            scene.expect_refusal(scene.crawler(member, cluster), r"\.toml:\d+|\.toml", *patterns, code=t.EXIT_BAD_CONFIG)
        scene.check(not scene.redis.keys("*"), "keys were written")


# --- limits over all crawlers ------------------------------------------------------------------------

def limits(test, directory, options):
    """max_pages and max_bytes count what all crawlers do together, and may be raised."""
    def crawl(name, code, key, values, padding=0):
        with Scene(test, directory, options, name, Tree(1200, 60, padding=padding)) as scene:
            crawlers = [scene.crawler(member, scope={key: values[0]}) for member in ("alpha", "beta", "gamma")]
            scene.wait_for_end(*crawlers, code=code)
            totals = [total(scene, key)]
            for crawler in crawlers:
                crawler.start("--set", f"scope.{key}={values[1]}")
            scene.wait_for_end(*crawlers, code=code)
            totals.append(total(scene, key))
            scene.check(key in crawlers[0].text, "the limit is not reported", scene.ends())
            return totals

    def total(scene, key):
        lines = [line for crawler in scene.crawlers for line in crawler.lines()]
        return len(lines) if key == "max_pages" else sum(line["bytes"] for line in lines)

    pages = crawl("max-pages", t.EXIT_DONE, "max_pages", (200, 300))
    # What a crawler has in hand when the others have ended may stay unused, never more than the limit.
    test.check(all(0.95 * most <= got <= most for got, most in zip(pages, (200, 300))),
               f"max_pages = 200, then 300, over three crawlers: {pages} pages")
    size = 2000
    bytes_ = crawl("max-bytes", t.EXIT_MAX_BYTES, "max_bytes", (400_000, 800_000), padding=size)
    for limit, got in zip((400_000, 800_000), bytes_):
        # What is in flight at each is finished.
        most = limit + 3 * CONNECTIONS * (size + 1000)
        test.check(limit <= got <= most, f"max_bytes = {limit} over three crawlers: {got} bytes")


def limits_of_hosts(test, directory, options):
    """A host has one owner; wherever its URLs are found, they count together."""
    members = ("alpha", "beta", "gamma")
    for key, most in (("max_urls_per_host", 20), ("max_pages_per_host", 15)):
        # 20 pages of other hosts link to 20 pages each of one host. The buckets are shared out before
        # the first of them is answered.
        tree = Tree(421, 60, fanout=20, crowd=400)
        with Scene(test, directory, options, key.replace("_", "-"), tree, stall=4.0) as scene:
            def crowd():
                return [fetch for fetch in judge.pages_of(scene.site.fetches()) if fetch.host == tree.hosts[0]]

            def crawl(limit):
                for crawler in scene.crawlers:
                    crawler.start("--set", f"scope.{key}={limit}")
                for crawler in scene.crawlers:
                    crawler.run.wait(60)
                    scene.check(crawler.run.exit_code in (t.EXIT_DONE, t.EXIT_INCOMPLETE),
                                f"exit code {crawler.run.exit_code}", crawler.run.tail())
                return len(crowd())

            for member in members:
                scene.crawler(member, begin=False, delay=0.02)
            count = crawl(most)
            scene.check(count == most, f"{key} = {most}: {count} pages", scene.ends())
            finders = {fetch.agent for fetch in judge.pages_of(scene.site.fetches()) if fetch.host != tree.hosts[0]}
            owners = {fetch.agent for fetch in crowd()}
            scene.check(len(owners) == 1 and len(finders) > 1, f"found by {finders}, fetched by {owners}")
            if key == "max_urls_per_host":
                beyond = sum(int(each) for crawler in scene.crawlers
                             for each in re.findall(r"beyond scope.max_urls_per_host: (\d+)", crawler.text))
                scene.check(0 < beyond <= 400 - most, f"{beyond} links of other crawlers were beyond the limit",
                            scene.ends())
                # What the limit excluded is not lost.
                more = crawl(400) - count
                scene.check(more == 400 - most, f"{key} = 400: {more} more pages", scene.ends())
            else:
                # Its pages are counted over runs, and owners.
                more = crawl(2 * most) - count
                scene.check(more == most, f"{key} = {2 * most}: {more} more pages", scene.ends())


PARTS = (start_and_join, interrupted, resumed_after_interrupt, killed, killed_and_started_again, one_name_twice,
         redis_away_meanwhile, cut_off, redis_away_at_start, redis_full, redis_read_only, too_few_replicas,
         master_away, over_tls, unsafe_settings,
         another_configuration, foreign_data, damaged_message, logins, wrong_configs, limits, limits_of_hosts)

# They wait for several times takeover_after, or node-timeout.
LONG_PARTS = (replica_gone, slow_failover)


def cluster_crawl(test, directory, options):
    t.program("redis-server", "redis-server")
    if options.only:
        chosen = [part for part in PARTS + LONG_PARTS if part.__name__ in options.only]
    else:
        chosen = LONG_PARTS if options.long else PARTS
    t.run_parts(test, [(part,) for part in chosen], (test, directory, options), at_once=3)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--only", nargs="*", help="the names of some parts")
    arguments.add_argument("--long", action="store_true", help="the parts that take long, alone")
    t.main(cluster_crawl, arguments.parse_args())
