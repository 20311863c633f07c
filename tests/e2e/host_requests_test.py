"""Settings of a host apply to that host only: headers, authorization, cookies,
Referer, proxies."""

import base64

import trawl_testing as t
from dns_server import DnsServer
from proxy_servers import HttpProxy, SocksProxy
from scripted_server import ScriptedServer, answer, links, redirect

SECRETS = ("s3cret-password", "s3cret-token", "s3cret-cookie", "s3cret-proxy")
HOSTS = ("a.test", "b.test", "www.b.test", "c.test", "d.test")


def crawl(test, options, directory, name, seeds, dns, fetch, code=t.EXIT_DONE, **tables):
    config = t.fast_crawl(
        seeds, directory / name, fetch={"dns_servers": [dns.address], **fetch},
        log={"level": "trace"},
        **{"scope": {"type": "any"}, "politeness": {"per_host_connections": 1}, **tables})
    finished = t.run(options, directory, "crawl",
                     t.write_config(directory / f"{name}.toml", config))
    t.expect_exit(test, finished, code, name)
    for secret in SECRETS:
        test.check(secret not in finished.text, f"{name}: {secret} was logged", finished.tail())
    return finished


def host_of(request):
    return request.host.rsplit(":", 1)[0]


def name_server():
    return DnsServer({host: ["127.0.0.1"] for host in HOSTS})


def headers_and_authorization(test, directory, options):
    """With links and a redirect from each host to each other, robots.txt included."""
    def respond(request):
        if request.path == "/robots.txt":
            return answer("User-agent: *\nDisallow:\n", content_type="text/plain")
        if request.path == "/away":
            return redirect(server.url("/from-a", "c.test"))
        return answer(links(["/away"] + [server.url("/", host) for host in HOSTS]))

    hosts = [
        {"host": "a.test", "headers": ["X-Only: a", "Accept-Language: de"],
         "basic_auth": "user:s3cret-password"},
        {"host": ".b.test", "bearer_token": "s3cret-token"},
        {"host": "www.b.test", "headers": ["Cookie: id=s3cret-cookie"]},
    ]
    basic = "Basic " + base64.b64encode(b"user:s3cret-password").decode()
    expected = {  # Authorization, X-Only, Accept-Language, Cookie
        "a.test": (basic, "a", "de", None),
        "b.test": ("Bearer s3cret-token", None, "en", None),
        "www.b.test": (None, None, "en", "id=s3cret-cookie"),
        "c.test": (None, None, "en", None),
        "d.test": (None, None, "en", None),
    }
    with ScriptedServer(respond) as server, name_server() as dns:
        crawl(test, options, directory, "headers", [server.url("/", "a.test")], dns,
              {"headers": ["Accept-Language: en"], "host": hosts})
    seen = {(host_of(request), request.path) for request in server.requests}
    test.check_equal_sets(seen, {("c.test", "/from-a")} | {
        (host, path) for host in HOSTS for path in ("/robots.txt", "/", "/away")}, "headers")
    for request in server.requests:
        got = tuple(request.headers.get(name) for name in
                    ("authorization", "x-only", "accept-language", "cookie"))
        test.check(got == expected[host_of(request)],
                   f"{request.host}{request.path}: wrong headers", got)
        test.check("referer" not in request.headers, "Referer is off by default", request.headers)


def cookies(test, directory, options):
    """Off by default; then each site has its own jar, and a host what was set for it."""
    def respond(request):
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        host = host_of(request)
        cookies = [f"own={host}; Path=/", "gone=1; Path=/; Max-Age=0"]
        if host == "b.test":  # for www.b.test too
            cookies.append("wide=1; Path=/; Domain=b.test")
        return answer(links(["/", "/1", "/2"]), "200 OK",
                      *[f"Set-Cookie: {cookie}" for cookie in cookies])

    for name, fetch, with_jar in (
            ("no-cookies", {}, set()),
            ("all-cookies", {"cookies": True}, set(HOSTS)),
            ("one-cookies", {"host": [{"host": "www.b.test", "cookies": True}]}, {"www.b.test"}),
            ("but-one-cookies", {"cookies": True, "host": [{"host": "a.test", "cookies": False}]},
             set(HOSTS) - {"a.test"})):
        with ScriptedServer(respond) as server, name_server() as dns:
            crawl(test, options, directory, name, [server.url("/", host) for host in HOSTS], dns,
                  {**fetch, "threads": 1})
        answered = set()
        for request in server.pages:
            host = host_of(request)
            got = set(filter(None, request.headers.get("cookie", "").split("; ")))
            expected = set()
            if host in with_jar and host in answered:
                expected = {f"own={host}"} | ({"wide=1"} if host == "b.test" else set())
            # Whether b.test has answered yet is a matter of time.
            if host == "www.b.test" and host in with_jar and {"b.test"} <= with_jar & answered:
                got.discard("wide=1")
            test.check(got == expected, f"{name}: {host}{request.path}: {got}, not {expected}")
            answered.add(host)
        test.check(len(server.pages) == 3 * len(HOSTS), f"{name}: not all pages", server.paths())


def referers(test, directory, options):
    def respond(request):
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        return answer(links(["/1#x", server.url("/2", "b.test"), server.url("/3", "c.test")]))

    with ScriptedServer(respond) as server, name_server() as dns:
        start = server.url("/dir/page?q=1", "a.test").replace("http://", "http://me:pw@")
        crawl(test, options, directory, "referers", [start], dns,
              {"referer": True, "host": [{"host": "c.test", "referer": False}]})
        page, origin = server.url("/dir/page?q=1", "a.test"), server.url("/", "a.test")
    firsts = {(host_of(request), request.path): request.headers.get("referer")
              for request in reversed(server.pages)}
    for key, expected in ((("a.test", "/dir/page?q=1"), None), (("a.test", "/1"), page),
                          (("b.test", "/2"), origin), (("c.test", "/3"), None)):
        test.check(firsts.get(key, "not requested") == expected, f"Referer of {key}: "
                   f"{firsts.get(key, 'not requested')}, not {expected}")


def proxies(test, directory, options):
    def respond(request):
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        return answer(links([server.url("/", host) for host in HOSTS]))

    with ScriptedServer(respond) as server, name_server() as dns, HttpProxy() as http, \
            SocksProxy() as socks, SocksProxy() as socks_addresses:
        crawl(test, options, directory, "proxies", [server.url("/", "a.test")], dns, {
            "proxy": f"http://{http.address}", "host": [
                {"host": "a.test", "proxy": f"http://user:s3cret-proxy@{http.address}",
                 "headers": ["X-Only: a"]},
                {"host": ".b.test", "proxy": f"socks5h://{socks.address}"},
                {"host": "c.test", "proxy": ""},
                {"host": "d.test", "proxy": f"socks5://{socks_addresses.address}"}]})
    pages = {host_of(request) for request in server.pages}
    test.check_equal_sets(pages, set(HOSTS), "proxies")
    test.check(http.hosts() == {"a.test"}, "the HTTP proxy's hosts", http.seen)
    test.check(socks.hosts() == {"b.test", "www.b.test"}, "the SOCKS5 proxy's hosts", socks.seen)
    test.check(socks_addresses.hosts() == {"127.0.0.1"}, "the proxy that gets addresses",
               socks_addresses.seen)
    # Proxies that get names look them up themselves.
    test.check(dns.asked() == {"c.test", "d.test"}, "names that were requested", dns.asked())
    password = "Basic " + base64.b64encode(b"user:s3cret-proxy").decode()
    for head in http.heads:
        test.check(f"Proxy-Authorization: {password}\r\n" in head, "no password for the proxy",
                   head)
    for request in server.requests:
        test.check("proxy-authorization" not in request.headers,
                   f"{request.host}: was sent the proxy's password", request.headers)
        test.check((request.headers.get("x-only") == "a") == (host_of(request) == "a.test"),
                   f"{request.host}: wrong headers", request.headers)


def dead_proxy(test, directory, options):
    with HttpProxy() as http:
        gone = http.address
    with ScriptedServer({"/": answer("page")}) as server, name_server() as dns:
        crawl(test, options, directory, "dead", [server.url("/", "a.test")], dns,
              {"proxy": f"http://{gone}"}, t.EXIT_INCOMPLETE, politeness={"respect_robots": False})
    pages = t.read_pages(test, directory / "dead")
    test.check([page["reason"] for page in pages] == ["proxy failure"], "a dead proxy", pages)
    test.check(not server.requests, "the proxy was passed over", server.paths())


def checked_settings(test, directory, options):
    """Each mistake is named with its place, and no secret is shown."""
    good = t.fast_crawl(["http://a.test/"], directory / "state")
    mistakes = [
        {"headers": ["Host: x"]}, {"headers": ["X-A: s3cret-token\r\nX-B: y"]},
        {"headers": ["s3cret-token"]}, {"proxy": "ftp://user:s3cret-proxy@x"},
        {"dns_servers": ["dns.test"]},
        {"host": [{"host": "a.test", "basic_auth": "u:s3cret-password",
                   "bearer_token": "s3cret-token"}]},
        {"host": [{"host": "a.test", "basic_auth": "s3cret-password"}]},
        {"host": [{"host": "a.test"}, {"host": "A.test."}]},
        {"host": [{"host": "http://a.test/"}]},
        {"host": [{"host": "a.test", "proxy": "x:s3cret-proxy"}]},
        {"host": [{"bearer_token": "s3cret-token"}]},
    ]
    for number, mistake in enumerate(mistakes):
        config = {**good, "fetch": {**good["fetch"], **mistake}}
        path = t.write_config(directory / f"bad{number}.toml", config)
        checked = t.run(options, directory, "check-config", path)
        t.expect_exit(test, checked, t.EXIT_BAD_CONFIG, f"{mistake}")
        test.check(f"bad{number}.toml:" in checked.text, f"{mistake}: no place", checked.tail())
        for secret in SECRETS:
            test.check(secret not in checked.text, f"{mistake}: {secret} is shown", checked.tail())


def host_requests(test, directory, options):
    parts = (headers_and_authorization, cookies, referers, proxies, dead_proxy, checked_settings)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(host_requests, t.parser(__doc__).parse_args())
