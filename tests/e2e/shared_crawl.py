"""Crawlers that share one frontier in Redis, and what Redis has of their crawl."""

import json
import re
import signal

import trawl_testing as t
from redis_cluster import die_with_parent, slot_of

FINGERPRINT_BYTES = 8


class Crawler:
    """One member: its own state directory and config, and its runs one after the other. `redis` is a
    list of addresses."""

    def __init__(self, options, directory, member, seeds, redis, cluster=None, **tables):
        self.options, self.directory, self.member = options, directory, member
        self.state = directory / f"state-{member}"
        config = t.fast_crawl(seeds, self.state, **tables)
        config["crawl"].setdefault("user_agent", f"{member}/1.0 (+https://example.org/)")
        config["cluster"] = {"redis": redis, "name": "c", "buckets": 16, "member": member,
                             "takeover_after": "2s", **(cluster or {})}
        self.agent = config["crawl"]["user_agent"]
        self.config = t.write_config(directory / f"{member}.toml", config)
        self.runs = []
        self.frozen = False

    def start(self, *more, command="crawl"):
        self.runs.append(t.Run(self.options, self.directory, command, self.config, *more,
                               before_exec=die_with_parent))
        return self.run

    @property
    def run(self):
        return self.runs[-1]

    @property
    def text(self):
        return "".join(run.text for run in self.runs)

    def is_running(self):
        return bool(self.runs) and not self.run.ended()

    def kill(self):
        if self.runs:
            self.run.kill()
        self.frozen = False

    def interrupt(self):
        self.run.signal(signal.SIGINT)

    def freeze(self):
        self.run.signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self):
        self.run.signal(signal.SIGCONT)
        self.frozen = False

    def lines(self, name="pages.jsonl"):
        """The whole lines of an output file; the last one of a crawler that was killed may be
        torn."""
        path = self.state / "output" / name
        if not path.exists():
            return []
        whole = path.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.split(b"\n") if line]


class RedisCrawl:
    """What Redis has of the crawl `name`. `redis` is a RedisServer or a RedisCluster."""

    KEY = re.compile(rb"\{(?P<name>[^{}]*):(?P<bucket>[0-9a-f]+)\}(?P<kind>[a-z])")

    def __init__(self, redis, name="c"):
        self.redis, self.name = redis, name

    def nodes(self):
        return self.redis.masters() if hasattr(self.redis, "masters") else [self.redis]

    def _keys(self, kinds):
        """(node, connection, bucket, kind, key) of each key of a bucket whose kind is in `kinds`."""
        for node in self.nodes():
            keys = node.keys(f"{{{self.name}:*")
            with node.connect() as connection:
                for key in sorted(keys):
                    found = self.KEY.match(key)
                    if found and found["kind"].decode() in kinds:
                        yield node, connection, int(found["bucket"], 16), found["kind"].decode(), key

    def keys(self):
        return {key for node in self.nodes() for key in node.keys(f"{{{self.name}:*")}

    def fingerprints(self):
        found = []
        for _, connection, _, _, key in self._keys("f"):
            for batch in connection.command("LRANGE", key, 0, -1):
                if len(batch) % FINGERPRINT_BYTES:
                    raise t.Failure(f"{key}: {len(batch)} bytes are not whole fingerprints")
                found += [batch[i:i + FINGERPRINT_BYTES] for i in range(0, len(batch), FINGERPRINT_BYTES)]
        return found

    def left(self):
        """By bucket what an ended crawl must not have."""
        names = {"i": ("inbox", "LLEN"), "x": ("commands", "LLEN"), "q": ("queues", "LLEN"),
                 "d": ("deferred", "ZCARD"), "e": ("set aside", "HLEN"), "w": ("damaged", "LLEN")}
        found = {}
        for _, connection, bucket, kind, key in self._keys("m" + "".join(names)):
            counts = found.setdefault(bucket, {})
            if kind == "m":
                counts["open"] = int(connection.command("HGET", key, "open") or 0)
            else:
                name, command = names[kind]
                counts[name] = counts.get(name, 0) + connection.command(command, key)
        return found

    def owners(self):
        """By bucket the token of its owner, if it has one."""
        return {bucket: token for _, connection, bucket, _, key in self._keys("m")
                if (token := connection.command("HGET", key, "t"))}

    def slots_with_keys(self, node):
        """Slots of a node that hold something of the crawl."""
        return sorted({slot_of(key) for key in node.keys(f"{{{self.name}:*")})
