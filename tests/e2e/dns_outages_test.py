"""Name servers that fail for a moment cost no page; those of a changed resolv.conf are asked."""

import collections
import os
import shlex
import subprocess
import time

import trawl_testing as t
from dns_server import MALFORMED, NO_SUCH_NAME, REFUSED, SERVFAIL, SILENT, DnsServer
from proxy_servers import HttpProxy
from scripted_server import ScriptedServer, answer, links

HOSTS = 20
PAGES = 4  # of each host, besides the first
KINDS = {"servfail": SERVFAIL, "refused": REFUSED, "silent": SILENT, "malformed": MALFORMED,
         "nxdomain": NO_SUCH_NAME}


def host(number):
    return f"host{number}.test"


class Site(ScriptedServer):
    """Hosts of which each leads to the next, so that names are looked up all the time."""

    def __init__(self, headers=()):
        super().__init__(self._page)
        self.headers = headers
        self.names = {host(number): ["127.0.0.1"] for number in range(HOSTS)}
        self.all = {self.url(path, name) for name in self.names
                    for path in ["/", *(f"/{i}" for i in range(PAGES))]}

    def _page(self, request):
        if request.path == "/robots.txt":
            return answer("User-agent: *\nDisallow: /private\n", "200 OK", *self.headers)
        if request.path != "/":
            return answer("<p>a page", "200 OK", *self.headers)
        number = int(request.host[len("host"):].split(".")[0])
        found = [f"/{i}" for i in range(PAGES)]
        if number + 1 < HOSTS:
            found.append(self.url("/", host(number + 1)))
        return answer(links(found), "200 OK", *self.headers)


def config(directory, name, site, fetch):
    return t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [site.url("/", host(0))], directory / name, scope={"type": "any"},
        fetch={"retries": 10, "retry_delay": "200ms", "dns_timeout": "300ms", **fetch},
        politeness={"delay": "50ms", "per_host_connections": 1, "host_backoff": "50ms",
                    "max_host_backoff": "500ms", "robots_backoff": "200ms",
                    "robots_retries": 10}))


def wait_for(seconds):
    """An outage takes its time."""
    end = time.monotonic() + seconds
    t.wait_until(lambda: time.monotonic() > end, "an outage to pass", seconds + 60)


def check_all_fetched(test, directory, name, site, crawl):
    crawl.wait(300)
    t.expect_exit(test, crawl, t.EXIT_DONE, name)
    good = {page["url"] for page in t.read_pages(test, directory / name) if page["status"] == 200}
    test.check_equal_sets(good, site.all, name)
    asked = collections.Counter(request.host + request.path for request in site.pages)
    again = {url: count for url, count in asked.items() if count > 1}
    test.check(not again, f"{name}: fetched more than once", again)


def mid_crawl(test, directory, options, kind, seconds):
    name = f"{kind}-{seconds}s"
    with Site() as site, DnsServer(site.names, ttl=0) as dns:
        crawl = t.Run(options, directory, "crawl",
                      config(directory, name, site, {"dns_servers": [dns.address]}))
        t.wait_until(lambda: len(site.pages) >= 10 or crawl.ended(), f"{name}: requests")
        dns.trouble = KINDS[kind]
        wait_for(seconds)
        dns.trouble = None
        check_all_fetched(test, directory, name, site, crawl)
    test.check(dns.troubled > 0, f"{name}: nobody asked meanwhile")


def at_resume(test, directory, options, kind, seconds):
    name = f"resume-{kind}-{seconds}s"
    with Site() as site, DnsServer(site.names, ttl=0) as dns:
        path = config(directory, name, site, {"dns_servers": [dns.address]})
        first = t.run(options, directory, "crawl", path, "--set", "scope.max_pages=20")
        t.expect_exit(test, first, t.EXIT_DONE, f"{name}: the first run")
        dns.trouble = KINDS[kind]
        crawl = t.Run(options, directory, "resume", path)
        t.wait_until(lambda: dns.troubled > 0 or crawl.ended(), f"{name}: lookups")
        wait_for(seconds)
        dns.trouble = None
        check_all_fetched(test, directory, name, site, crawl)


def gone(test, directory, options):
    """Names that stay unknown: hosts that answered before are parked, others fail, and all can be
    requested again."""
    with Site(["Connection: close"]) as site, DnsServer(site.names, ttl=0) as dns:
        path = config(directory, "gone", site, {"dns_servers": [dns.address]})
        crawl = t.Run(options, directory, "crawl", path, "--set", "politeness.delay=1s")
        t.wait_until(lambda: len(site.pages) >= 2 or crawl.ended(), "gone: requests")
        dns.trouble = NO_SUCH_NAME
        crawl.wait()
        t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "gone: hosts are parked")
        dns.trouble = None
        check_all_fetched(test, directory, "gone", site,
                          t.Run(options, directory, "resume", path, "--retry-failed"))


def impossible(test, directory, options):
    """An invalid host name is handled as one that does not exist: looked up once more, then given up."""
    label = "a" * 63
    bad = [f"http://{label}a.test/", f"http://{'.'.join([label] * 4)}.test/"]
    with Site() as site, DnsServer(site.names) as dns:
        path = config(directory, "impossible", site, {"dns_servers": [dns.address]})
        crawl = t.run(options, directory, "crawl", path, "--set",
                      f"crawl.seeds={t.toml([site.url('/', host(0)), *bad])}")
        check_all_fetched(test, directory, "impossible", site, crawl)
        failed = {page["url"] for page in t.read_pages(test, directory / "impossible")
                  if page["reason"] == "name not resolved"}
        test.check_equal_sets(failed, set(bad), "impossible: failed")


def at_start(test, directory, options, kind, seconds):
    name = f"start-{kind}-{seconds}s"
    with Site() as site, DnsServer(site.names, trouble=KINDS[kind]) as dns:
        crawl = t.Run(options, directory, "crawl",
                      config(directory, name, site, {"dns_servers": [dns.address]}))
        t.wait_until(lambda: dns.troubled > 0 or crawl.ended(), f"{name}: lookups")
        wait_for(seconds)
        dns.trouble = None
        check_all_fetched(test, directory, name, site, crawl)


def no_server(test, directory, options):
    """Nobody listens where a name server is to be, at first and in mid-crawl."""
    with Site() as site:
        with DnsServer(site.names) as gone:
            address = gone.socket.getsockname()
        crawl = t.Run(options, directory, "crawl",
                      config(directory, "no-server", site, {"dns_servers": [gone.address]}))
        wait_for(1)
        with DnsServer(site.names, ttl=0, address=address):
            t.wait_until(lambda: len(site.pages) >= 10 or crawl.ended(), "no-server: requests")
        wait_for(1)
        with DnsServer(site.names, ttl=0, address=address):
            check_all_fetched(test, directory, "no-server", site, crawl)


def proxy_by_name(test, directory, options):
    """Of a proxy the name is looked up, too."""
    with Site() as site, HttpProxy() as proxy, \
            DnsServer({"proxy.test": ["127.0.0.1"]}, ttl=0, trouble=SERVFAIL) as dns:
        port = proxy.address.rsplit(":", 1)[1]
        crawl = t.Run(options, directory, "crawl", config(
            directory, "proxy", site,
            {"dns_servers": [dns.address], "proxy": f"http://proxy.test:{port}"}))
        t.wait_until(lambda: dns.troubled > 0 or crawl.ended(), "proxy: lookups")
        wait_for(1)
        dns.trouble = None
        check_all_fetched(test, directory, "proxy", site, crawl)
    test.check(dns.asked() == {"proxy.test"}, "other names than the proxy's", dns.asked())


class WithResolvConf(t.Run):
    """Runs trawl where another file is /etc/resolv.conf: in a mount namespace of its own."""

    def __init__(self, options, directory, resolv_conf, *arguments):
        mount = f"mount --bind {shlex.quote(str(resolv_conf))} /etc/resolv.conf"
        trawl = " ".join(shlex.quote(str(word)) for word in [options.trawl, *arguments])
        shell = directory / "with-resolv-conf.sh"
        shell.write_text(f"#!/bin/sh\nexec unshare -m sh -c '{mount} && exec \"$@\"' sh {trawl}\n")
        shell.chmod(0o755)
        wrapped = type("Options", (), {"trawl": str(shell)})
        super().__init__(wrapped, directory)


def can_mount():
    if os.geteuid() != 0 or not os.path.isfile("/etc/resolv.conf"):
        return False
    probe = ["unshare", "-m", "mount", "--bind", "/dev/null", "/etc/resolv.conf"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def changed_resolv_conf(test, directory, options):
    """The first server is silent, the second is asked once resolv.conf names it; then none is
    named, then one is again."""
    if not can_mount():
        print("left out: a changed resolv.conf needs the right to mount and to port 53")
        return
    resolv_conf = directory / "resolv.conf"
    resolv_conf.write_text("nameserver 127.53.0.1\n")
    with Site() as site, \
            DnsServer(site.names, address=("127.53.0.1", 53), trouble=SILENT) as silent, \
            DnsServer(site.names, address=("127.53.0.2", 53), ttl=0):
        crawl = WithResolvConf(options, directory, resolv_conf, "crawl",
                               config(directory, "changed", site, {}))
        t.wait_until(lambda: silent.troubled > 0 or crawl.ended(), "lookups")
        resolv_conf.write_text("search other.test\nnameserver 127.53.0.2\n")
        t.wait_until(lambda: len(site.pages) >= 10 or crawl.ended(), "requests")
        resolv_conf.write_text("")
        wait_for(2)
        resolv_conf.write_text("nameserver 127.53.0.2\n")
        check_all_fetched(test, directory, "changed", site, crawl)


def parts_of(seconds):
    if seconds:
        return [(part, kind, each) for part in (at_start, mid_crawl, at_resume) for kind in KINDS
                for each in (seconds if kind != "nxdomain" else [2])]
    return [(mid_crawl, "servfail", 1), (mid_crawl, "servfail", 3), (mid_crawl, "refused", 1),
            (mid_crawl, "malformed", 1), (mid_crawl, "silent", 3), (mid_crawl, "nxdomain", 2),
            (at_start, "silent", 3), (at_start, "servfail", 1), (at_start, "nxdomain", 2),
            (at_resume, "silent", 3), (at_resume, "servfail", 1), (at_resume, "nxdomain", 2),
            (gone,), (impossible,), (no_server,), (proxy_by_name,), (changed_resolv_conf,)]


def dns_outages(test, directory, options):
    t.run_parts(test, parts_of(options.seconds), (test, directory, options))


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--seconds", type=int, nargs="+",
                           help="length of each kind of outage, in place of a few short ones")
    t.main(dns_outages, arguments.parse_args())
