"""[[login]]: a form logs in before a host is fetched, and again when the session has ended, at most
once a minute and within the host's delay; its fields are in nothing that a crawl writes."""

import time
import urllib.parse

import trawl_testing as t
from dns_server import DnsServer
from scripted_server import ScriptedServer, answer, check_gaps, links, redirect
from status_client import StatusClient
from warc_reader import read_warcs

PAGES = 12
MINUTE = 60
FORM = {"user": "s3cret-user", "pass word": "s3cret &=+é"}


class Members:
    """Pages for those who are logged in: others get a 401, or a redirect to the form. A session ends
    after `lasts` pages."""

    def __init__(self, lasts=None, redirects=False, right=True):
        self.lasts, self.redirects, self.right = lasts, redirects, right
        self.session = None
        self.sessions = self.given = 0
        self.refused = []

    def __call__(self, request):
        path = request.path.split("?")[0]
        if path == "/robots.txt":
            return answer("User-agent: *\nDisallow: /in\n", content_type="text/plain")
        if path == "/in":
            return self.log_in(request)
        if f"sid={self.session}" not in request.headers.get("cookie", ""):
            self.refused.append(request.path)
            if self.redirects:
                return redirect("/in?from=" + request.path)
            return answer("log in", "401 Unauthorized")
        self.given += 1
        if self.given == self.lasts:
            self.session, self.lasts = "ended", None
        return answer("<title>x</title>" + links([f"/{i}" for i in range(PAGES)]))

    def log_in(self, request):
        fields = dict(urllib.parse.parse_qsl(request.body, encoding="utf-8", keep_blank_values=True))
        if request.method != "POST" or fields != FORM or not self.right:
            return redirect("/in?wrong")
        self.sessions += 1
        self.session = f"s3cret-{self.sessions}"
        return redirect("/0").replace(b"Location", f"Set-Cookie: sid={self.session}; Path=/\r\nLocation".encode(), 1)


def crawl(test, directory, options, name, members, **tables):
    state = directory / name
    with ScriptedServer(members) as server:
        config = t.fast_crawl([server.url("/0")], state, log={"level": "trace"}, output={"warc": True}, **tables)
        config["fetch"]["login"] = [{"url": server.url("/in?key=s3cret"), "fields": quoted(FORM)}]
        finished = t.run(options, directory, "crawl", t.write_config(directory / f"{name}.toml", config))
    t.expect_exit(test, finished, t.EXIT_DONE, name)
    check_secrets(test, state, finished, name)
    return server, finished, t.by_path(t.read_pages(test, state))


def quoted(fields):
    return {f'"{name}"': value for name, value in fields.items()}


def check_secrets(test, state, finished, name):
    test.check("s3cret" not in finished.text, f"{name}: a secret in the log", finished.tail())
    for path in state.rglob("*"):
        if path.is_file() and path.name not in ("cookies.txt", "crawl.toml", "last-run.toml"):
            test.check(b"s3cret" not in path.read_bytes(), f"{name}: a secret in {path.name}")
    for path in ("crawl.toml", "cookies.txt"):
        if (state / path).exists():
            test.check((state / path).stat().st_mode & 0o077 == 0, f"{name}: others can read {path}")
    records = read_warcs(test, state / "output")
    test.check(records and not any(b"s3cret" in record.body or b"/in" in record.url.encode()
                                   for record in records if record.url), f"{name}: in the archive")


def posts(server):
    return [request for request in server.requests if request.method == "POST"]


def all_pages():
    return {f"/{i}" for i in range(PAGES)}


def logs_in_first(test, directory, options):
    members = Members()
    server, finished, pages = crawl(test, directory, options, "first", members,
                                    politeness={"delay": "150ms", "per_host_connections": 1})
    test.check([request.path for request in server.requests[:3]] == ["/robots.txt", "/in?key=s3cret", "/0"],
               "the first requests", server.paths())
    test.check(len(posts(server)) == 1, "logins", server.paths())
    test.check(not members.refused, "not logged in", members.refused)
    test.check({path for path, each in pages.items() if each[0]["status"] == 200} == all_pages(), "pages", pages)
    test.check("/in: logged in, status 302" in finished.text, "not said", finished.tail())
    check_gaps(test, server.requests, 0.15, "with a login")


def logs_in_again(test, directory, options, name, redirects):
    """The session ends in the middle, within the minute after the login."""
    members = Members(lasts=5, redirects=redirects)
    server, _, pages = crawl(test, directory, options, name, members)
    first, second = posts(server)
    test.check(second.there - first.not_yet >= MINUTE - 0.005, f"{name}: logins {second.there - first.there} s apart")
    test.check(0 < len(members.refused) <= 4, f"{name}: requests after the end", members.refused)
    test.check(set(pages) == all_pages(), f"{name}: pages", pages.keys())
    test.check(all(len(each) == 1 and each[0]["status"] == 200 and each[0]["attempts"] == 1
                   for each in pages.values()), f"{name}: pages are not fetched once and well", pages)


def never_works(test, directory, options, name, right):
    """The form is refused, or the pages are nobody's."""
    members = Members(right=right)
    members.lasts = 0
    if right:
        members.log_in = lambda request: redirect("/0")
    seeds = [f"/{i}" for i in range(65)]
    with ScriptedServer(members) as server:
        state = directory / name
        config = t.fast_crawl([server.url(path) for path in seeds], state, scope={"type": "page"},
                              politeness={"delay": "1s", "per_host_connections": 1})
        config["fetch"]["login"] = {"url": server.url("/in"), "fields": quoted(FORM)}
        finished = t.run(options, directory, "crawl", t.write_config(directory / f"{name}.toml", config))
    times = [request.there for request in posts(server)]
    test.check(len(times) == 2 and times[1] - posts(server)[0].not_yet >= MINUTE - 0.005, f"{name}: logins", times)
    pages = t.by_path(t.read_pages(test, state))
    test.check({path for path, each in pages.items() if each[0]["status"] == 401} == set(seeds),
               f"{name}: the answers are taken as they are", pages.keys())
    test.check(len(members.refused) <= len(seeds) + 1, f"{name}: fetched again", members.refused)
    said = ": status 401 in spite of the login at" if right else (
        ": the login failed: a redirect back to the login page; check url and fields of [[login]].")
    test.check(finished.text.count(said) == 2, f"{name}: what is said", finished.tail())


def for_a_whole_domain(test, directory, options):
    """Hosts of several threads share the login of another host, which is asked once, in its turn."""
    seen = {}

    def respond(request):
        host = request.host.rsplit(":", 1)[0]
        if request.path == "/robots.txt":
            return answer("User-agent: *\nDisallow:\n", content_type="text/plain")
        if request.method == "POST":
            return answer("welcome", "200 OK", "Set-Cookie: sid=s3cret-0; Domain=shop.test; Path=/")
        cookie = request.headers.get("cookie", "")
        seen.setdefault(host, []).append(cookie)
        return answer("<title>x</title>" + links(["/1", "/2"]))

    names = [f"{name}.shop.test" for name in ("auth", "a", "b", "c", "d", "e")]
    state = directory / "domain"
    with DnsServer({name: ["127.0.0.1"] for name in [*names, "other.test"]}) as dns, \
            ScriptedServer(respond) as server:
        config = t.fast_crawl([server.url("/", name) for name in [*names, "other.test"]], state,
                              politeness={"delay": "300ms", "per_host_connections": 1},
                              fetch={"dns_servers": [dns.address], "threads": 4}, output={"warc": True},
                              log={"level": "trace"})
        config["fetch"]["login"] = {"url": server.url("/in", names[0]), "fields": quoted(FORM),
                                    "host": ".shop.test"}
        finished = t.run(options, directory, "crawl", t.write_config(directory / "domain.toml", config))
    t.expect_exit(test, finished, t.EXIT_DONE, "a domain")
    check_secrets(test, state, finished, "a domain")
    test.check(len(posts(server)) == 1, "logins of a domain", server.paths())
    test.check(seen.pop("other.test") == ["", "", ""], "cookies of another site", seen)
    test.check({name: each for name, each in seen.items()} == {name: ["sid=s3cret-0"] * 3 for name in names},
               "sessions of the hosts", seen)
    for name in names:
        check_gaps(test, [request for request in server.requests if request.host.startswith(name)], 0.3, name)


def of_a_running_crawl(test, directory, options):
    """Nothing of the status API has a secret."""
    state = directory / "running"
    with ScriptedServer(Members()) as server:
        config = t.fast_crawl([server.url("/0")], state, politeness={"delay": "500ms"},
                              status={"listen": "127.0.0.1:0"}, log={"level": "trace"})
        config["fetch"]["login"] = {"url": server.url("/in"), "fields": quoted(FORM)}
        file = t.write_config(directory / "running.toml", config)
        checked = t.run(options, directory, "check-config", file)
        test.check("s3cret" not in checked.text, "check-config", checked.text)
        crawling = t.Run(options, directory, "crawl", file)
        t.wait_until(lambda: len(server.pages) > 2, "pages")
        client = StatusClient(state)
        for path in ("config", "status", "hosts", "errors", "skipped", "frontier"):
            test.check("s3cret" not in client.text(f"/api/v1/{path}"), f"a secret in {path}")
        test.check("pass word" in client.text("/api/v1/config"), "the config")
        # A change of it is seen, and not shown.
        config["fetch"]["login"]["fields"] = {"user": "s3cret-other"}
        t.write_config(file, config)
        reloaded = t.run(options, directory, "reload", state)
        test.check("fetch.login: {" in reloaded.text and "(hidden)" in reloaded.text and "s3cret" not in reloaded.text, "reload",
                   reloaded.text)
        crawling.wait()
        test.check("s3cret" not in crawling.text, "the log", crawling.tail())


def login(test, directory, options):
    begun = time.monotonic()
    t.run_parts(test, [(logs_in_first,), (logs_in_again, "status", False), (logs_in_again, "redirect", True),
                       (never_works, "refused", False), (never_works, "useless", True), (of_a_running_crawl,), (for_a_whole_domain,)],
                common=(test, directory, options))
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    t.main(login, t.parser(__doc__).parse_args())
