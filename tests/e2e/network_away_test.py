"""The whole network is away: every host refuses connections and the name servers are silent. A crawl
continues when it is back, or the next run fetches the rest; no URL is lost, none fetched twice."""

import collections
import itertools
import time

import trawl_testing as t
from dns_server import SILENT, DnsServer
from scripted_server import ScriptedServer, answer, links

HOSTS = 12
PAGES = 6  # of each host, besides the first
FIRST_RUN = 30  # pages
NETWORKS = itertools.count(40)  # parts run at once, and none takes another's port


class Network:
    """Hosts of which each leads to the next; half of them are known by name, half by address."""

    def __init__(self):
        network = next(NETWORKS)
        addresses = [f"127.0.{network}.{number + 1}" for number in range(HOSTS)]
        self.hosts = [f"host{number}.test" if number % 2 else address
                      for number, address in enumerate(addresses)]
        self.addresses = addresses
        names = {host: [address] for host, address in zip(self.hosts, addresses) if host != address}
        self.dns = DnsServer(names, ttl=0)
        self.asked = collections.Counter()
        self.server = ScriptedServer(self.page, addresses)
        self.port = self.server.port
        self.all = {self.url(host, path) for host in self.hosts
                    for path in ["/", *(f"/{i}" for i in range(PAGES))]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.dns.__exit__()
        if self.server:
            self.server.__exit__()

    def url(self, host, path="/"):
        return f"http://{host}:{self.port}{path}"

    def page(self, request):
        if request.path == "/robots.txt":
            return answer("User-agent: *\nDisallow: /private\n")
        self.asked[f"http://{request.host}{request.path}"] += 1
        if request.path != "/":
            return answer("<p>a page")
        number = self.hosts.index(request.host.rsplit(":", 1)[0])
        found = [f"/{i}" for i in range(PAGES)]
        if number + 1 < HOSTS:
            found.append(self.url(self.hosts[number + 1]))
        return answer(links(found))

    def goes(self):
        self.server.__exit__()
        self.server = None
        self.dns.trouble = SILENT

    def comes_back(self):
        self.dns.trouble = None
        self.server = ScriptedServer(self.page, self.addresses, port=self.port)


def prepare(directory, name, network, **politeness):
    tables = t.fast_crawl(
        [network.url(network.hosts[0])], directory / name, scope={"type": "any"},
        fetch={"dns_servers": [network.dns.address], "dns_timeout": "300ms", "retries": 2,
               "retry_delay": "100ms", "connect_timeout": "500ms"},
        politeness={"delay": "20ms", "per_host_connections": 1, "host_backoff": "50ms",
                    "max_host_backoff": "500ms", "host_failures": 1000, "robots_backoff": "100ms",
                    "robots_retries": 100, **politeness})
    return t.write_config(directory / f"{name}.toml", tables)


def check_all(test, directory, name, network, crawl):
    t.expect_exit(test, crawl, t.EXIT_DONE, name)
    good = collections.Counter(page["url"] for page in t.read_pages(test, directory / name)
                               if page["status"] == 200)
    test.check_equal_sets(set(good), network.all, name)
    for counted, where in ((good, "in the output"), (network.asked, "by the hosts")):
        more = {url: count for url, count in counted.items() if count > 1}
        test.check(not more, f"{name}: more than once {where}", more)


def wait_for(seconds):
    """An outage takes its time."""
    end = time.monotonic() + seconds
    t.wait_until(lambda: time.monotonic() > end, "an outage to pass", seconds + 60)


def begin(test, directory, options, name, network, path):
    first = t.run(options, directory, "crawl", path, "--set", f"scope.max_pages={FIRST_RUN}")
    t.expect_exit(test, first, t.EXIT_DONE, f"{name}, the first run")
    network.goes()


def at_resume(test, directory, options, seconds):
    name = f"resume-{seconds}s"
    with Network() as network:
        path = prepare(directory, name, network)
        begin(test, directory, options, name, network, path)
        crawl = t.Run(options, directory, "resume", path)
        t.wait_until(lambda: network.dns.troubled > 0 or crawl.ended(), f"{name}: lookups")
        wait_for(seconds)
        network.comes_back()
        crawl.wait(100 + 4 * seconds)
        check_all(test, directory, name, network, crawl)


def in_mid_crawl(test, directory, options, seconds):
    name = f"mid-{seconds}s"
    with Network() as network:
        crawl = t.Run(options, directory, "crawl", prepare(directory, name, network))
        t.wait_until(lambda: sum(network.asked.values()) > 15 or crawl.ended(), f"{name}: pages")
        network.goes()
        wait_for(seconds)
        network.comes_back()
        crawl.wait(100 + 4 * seconds)
        check_all(test, directory, name, network, crawl)


def for_good(test, directory, options):
    """Away for all of a run with little patience, and of another: the one after that has it all."""
    with Network() as network:
        path = prepare(directory, "good", network, host_failures=3, robots_retries=2)
        begin(test, directory, options, "for good", network, path)
        for _ in range(2):
            crawl = t.run(options, directory, "resume", path)
            t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "a run without a network")
        network.comes_back()
        check_all(test, directory, "good", network, t.run(options, directory, "resume", path))


def network_away(test, directory, options):
    parts = [(for_good,)]
    for seconds in options.seconds:
        parts += [(at_resume, seconds), (in_mid_crawl, seconds)]
    t.run_parts(test, parts, (test, directory, options))


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--seconds", type=int, nargs="+", default=[2],
                           help="how long the network is away")
    t.main(network_away, arguments.parse_args())
