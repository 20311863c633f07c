"""Crawlers that share a frontier in Redis Cluster, while crawlers and nodes are killed and frozen: no
page is lost, none is admitted twice, no host or domain is asked too soon, and the crawl ends. The site
is a tree, so that each link that is lost shows; its log is the witness."""

import random
import signal
import time

import crawl_judge as judge
import trawl_testing as t
from dns_server import DnsServer
from redis_cluster import RedisCluster
from shared_crawl import Crawler, RedisCrawl
from tree_site import Tree, TreeSite

TAKEOVER = 2.0       # cluster.takeover_after
NODE_TIMEOUT = 0.8   # of Redis: less than half of it
CUT = 0.4            # replication, before a master is killed
# How long before a fault a page may have been requested and be unfinished: its body, the commit of its
# links, then that of its end.
UNFINISHED = 1.0
CONNECTIONS = 50

# One of each; `all` is every node of Redis, `both` a master and half of the crawlers at one instant.
SHORT = ("kill", "master", "freeze", "revive", "slot", "start", "interrupt", "both", "revive", "stall", "all", "kill")


class Chaos:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        self.random = random.Random(options.seed)
        self.tree = Tree(options.pages, options.hosts)
        self.site = TreeSite(directory, self.tree)
        self.dns = DnsServer(self.tree.names())
        self.redis = None
        self.crawlers = []
        self.faults, self.thaws = [], []
        self.ended_in_fault = False  # what a fault kept from handing over stays owned
        self.expected_ends = {}  # of runs that did not end alone: exit codes
        self.began = time.monotonic()

    def __enter__(self):
        settings = {"appendfsync": "always"} if self.options.durability == "synced" else {}
        self.redis = RedisCluster(self.directory, NODE_TIMEOUT, settings=settings)
        return self

    def __exit__(self, *_):
        for crawler in self.crawlers:
            crawler.kill()
        if self.redis is not None:
            self.redis.kill_all()
        self.site.__exit__()
        self.dns.__exit__()

    def say(self, *words):
        print(f"{time.monotonic() - self.began:6.1f}", *words, flush=True)

    # --- crawlers --------------------------------------------------------------------------------

    def add_crawler(self):
        member = f"c{len(self.crawlers) + 1}"
        crawler = Crawler(
            self.options, self.directory, member, [self.tree.url(0)], self.redis.addresses,
            {"buckets": self.options.buckets, "takeover_after": f"{TAKEOVER:.0f}s",
             "durability": self.options.durability},
            scope={"type": "any"},
            politeness={"delay": f"{self.options.delay * 1000:.0f}ms", "per_host_connections": 1,
                        "domain_delay": f"{self.options.domain_delay * 1000:.0f}ms"},
            fetch={"connections": CONNECTIONS, "dns_servers": [self.dns.address]})
        self.crawlers.append(crawler)
        crawler.start()
        return crawler

    def running(self):
        return [crawler for crawler in self.crawlers if crawler.is_running() and not crawler.frozen]

    def note(self, kind, agents, at, until=None):
        self.faults.append(judge.Fault(kind, at, until or at, agents))

    def kill_crawlers(self, crawlers, kind="kill"):
        for crawler in crawlers:
            crawler.run.signal(signal.SIGKILL)
        at = time.monotonic()
        for crawler in crawlers:
            crawler.kill()
            self.expected_ends[crawler.run] = -signal.SIGKILL
        if crawlers:
            self.note(kind, {crawler.agent for crawler in crawlers}, at)

    # --- faults ----------------------------------------------------------------------------------

    def kill(self):
        """At least one goes on."""
        running = self.running()
        if len(running) > 1:
            crawler = self.random.choice(running)
            self.kill_crawlers([crawler])
            self.say("killed", crawler.member)

    def revive(self):
        """The same command as before, with what the crawler left behind."""
        for crawler in self.crawlers:
            if not crawler.is_running():
                crawler.start()
                self.say("started again:", crawler.member)
                return

    def start(self):
        self.say("started", self.add_crawler().member)

    def interrupt(self):
        """^C: it hands over its buckets."""
        running = self.running()
        if len(running) > 1:
            crawler = self.random.choice(running)
            crawler.interrupt()
            t.wait_until(crawler.run.ended, f"the end of {crawler.member}", 30)
            self.test.check(crawler.run.exit_code == t.EXIT_INTERRUPTED,
                            f"^C: exit code {crawler.run.exit_code}", crawler.run.tail())
            self.expected_ends[crawler.run] = t.EXIT_INTERRUPTED
            self.say("interrupted", crawler.member)

    def freeze(self):
        """For twice the time after which others take over."""
        running = self.running()
        if len(running) < 2:
            return
        crawler = self.random.choice(running)
        at = time.monotonic()
        crawler.freeze()
        self.say("froze", crawler.member)
        time.sleep(2 * TAKEOVER)
        thawed = time.monotonic()
        crawler.thaw()
        self.note("freeze", {crawler.agent}, at, thawed + UNFINISHED)
        self.thaws.append((crawler.agent, thawed))
        self.say("thawed", crawler.member)

    def master(self, too=()):
        master = self.random.choice(self.redis.masters())
        at = time.monotonic()
        replica = self.redis.kill_master(master, CUT, lambda: self.kill_crawlers(too, "both"))
        if replica is None:
            raise t.Failure(f"the master {master.address} has no replica")
        self.redis.wait_for_promotion(replica)
        promoted = time.monotonic()
        self.say(f"killed the master {master.address}", *(["and", *(each.member for each in too)] if too else []),
                 f"its replica has been promoted after {promoted - at - CUT:.1f} s")
        # Crawlers that could not renew their leases for this time may have lost buckets.
        self.note("master", None, at, promoted + UNFINISHED)
        master.start()
        self.redis.wait_ok()

    def both(self):
        """Without replicated writes this may lose links, and is left out."""
        if self.options.durability == "async":
            self.master()
            return
        running = self.running()
        self.master(self.random.sample(running, len(running) // 2))

    def all(self):
        at = time.monotonic()
        self.redis.kill_all()
        time.sleep(0.3)
        self.redis.start_all()
        self.redis.wait_ok()
        self.note("all", None, at, time.monotonic() + UNFINISHED)
        self.say(f"killed all nodes of Redis, back after {time.monotonic() - at:.1f} s")

    def stall(self):
        """A master stands still until its replica has been promoted, and then goes on with what it has
        received: it acknowledges what no other has."""
        master = self.random.choice(self.redis.masters())
        at = time.monotonic()
        replica = self.redis.replica_of(master)
        master.freeze()
        try:
            self.redis.wait_for_promotion(replica)
        finally:
            master.thaw()
        self.note("stall", None, at, time.monotonic() + UNFINISHED)
        self.redis.wait_ok()
        self.say(f"the master {master.address} stood still for {time.monotonic() - at:.1f} s")

    def slot(self):
        """A slot that is in use goes to another master, and stays half moved for a while."""
        source, target = self.random.sample(self.redis.masters(), 2)
        slots = RedisCrawl(self.redis).slots_with_keys(source)
        if slots:
            slot = self.random.choice(slots)
            self.redis.move_slot(slot, target, 0.3)
            self.say(f"moved slot {slot} from {source.address} to {target.address}")

    # --- the run ---------------------------------------------------------------------------------

    def has_ended(self):
        """Whether the crawl is over: those that run have ended, or none runs."""
        return not any(crawler.is_running() for crawler in self.crawlers)

    def plan(self):
        if self.options.seconds == 0:
            yield from SHORT
            return
        until = self.began + self.options.seconds
        kinds = ("kill", "revive", "start", "interrupt", "freeze", "master", "both", "stall", "all", "slot")
        while time.monotonic() < until:
            # Not fewer and fewer crawlers, nor more and more.
            dead = sum(not crawler.is_running() for crawler in self.crawlers)
            kind = self.random.choice(kinds)
            if len(self.running()) < 3 and dead:
                kind = "revive"
            elif kind == "start" and len(self.crawlers) >= 8:
                kind = "revive" if dead else "kill"
            yield kind

    def crawl(self):
        self.say(f"seed {self.options.seed}, {self.tree.pages} pages, {len(self.tree.hosts)} hosts")
        for _ in range(4):
            self.add_crawler()
        t.wait_until(lambda: self.site.count() > 100 or self.has_ended(), "the first pages", 60)
        for kind in self.plan():
            if self.has_ended():
                break
            getattr(self, kind)()
            time.sleep(self.random.uniform(0.8, 2.0))
        else:
            kind = None
        # Whether a fault found a crawl; one that had ended is to be planned larger.
        self.test.check(kind is None, f"the crawl ended before the fault {kind}: it needs more pages", self.ends())
        self.say("the last fault;", self.site.count(), "requests so far")
        self.ended_in_fault = self.has_ended()
        deadline = time.monotonic() + self.options.end_within
        t.wait_until(lambda: self.has_ended() or time.monotonic() > deadline, "the end of the crawl",
                     self.options.end_within + 10)
        if self.test.check(self.has_ended(), "the crawl does not end", self.ends()):
            self.say("the end")

    def ends(self):
        return "\n".join(f"{crawler.member}: exit code {run.exit_code}\n{run.tail()}"
                         for crawler in self.crawlers for run in crawler.runs)

    def judge(self):
        test, tree = self.test, self.tree
        fetches = self.site.fetches()
        for crawler in self.crawlers:
            for run in crawler.runs:
                expected = self.expected_ends.get(run, t.EXIT_DONE)
                if run.exit_code is not None:
                    t.expect_exit(test, run, expected, crawler.member)
        self.say(f"{len(fetches)} requests; smallest gap at a host {judge.smallest_gap(fetches):.4f} s, over two "
                 f"crawlers {judge.smallest_gap_over_crawlers(fetches):.4f} s; at a domain "
                 f"{judge.smallest_gap(fetches, tree.domain):.4f} s, over two crawlers "
                 f"{judge.smallest_gap_over_crawlers(fetches, tree.domain):.4f} s")
        repeated, causes = judge.judge_repeats(fetches, self.faults, UNFINISHED, 2 * CONNECTIONS)
        self.say(f"fetched again: {len(judge.repeats(fetches))}, {dict(causes)}")
        redis = RedisCrawl(self.redis)
        lines = [line for crawler in self.crawlers for line in crawler.lines()]
        for name, problems in (
                ("coverage", judge.judge_coverage(tree, fetches)),
                ("delay", judge.judge_gaps(fetches, self.options.delay, thaws=self.thaws)),
                ("domain_delay", judge.judge_gaps(fetches, self.options.domain_delay, tree.domain, "domain",
                                                  self.thaws)),
                ("repeats", repeated), ("output", judge.judge_output(tree, lines)),
                ("lines", judge.judge_lines(lines, fetches)),
                ("admissions", judge.judge_admissions(redis.fingerprints(), tree.pages)),
                ("the end", judge.judge_end(redis.left()))):
            test.check(not problems, f"{name}: {len(problems)} problems", "\n".join(problems[:10]))
        test.check(self.ended_in_fault or not redis.owners(), "buckets have owners after the end", redis.owners())


def cluster_chaos(test, directory, options):
    t.program("redis-server", "redis-server")
    with Chaos(test, directory, options) as chaos:
        chaos.crawl()
        chaos.judge()


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=0, help="of faults; 0: each once")
    arguments.add_argument("--pages", type=int, default=14_000)
    arguments.add_argument("--hosts", type=int, default=200)
    arguments.add_argument("--buckets", type=int, default=24)
    arguments.add_argument("--delay", type=float, default=0.3)
    arguments.add_argument("--domain-delay", type=float, default=0.1)
    arguments.add_argument("--durability", choices=("async", "replicated", "synced"), default="replicated")
    arguments.add_argument("--end-within", type=float, default=90, help="seconds after the last fault")
    t.main(cluster_chaos, arguments.parse_args())
