"""Many hosts over TLS 1.3, and HTTP/2 against HTTP/1.1 on one host. Needs root: the hosts' names stand in a
file that takes the place of /etc/hosts for this process and its children only."""

import collections
import pathlib
import shutil
import subprocess

from measure import Missing, Nginx, Series, Trawl, Wget2, print_table, program, ratio

DOMAIN = "tls-site.test"
SITE = pathlib.Path("/usr/share/doc/libstdc++-12-doc/libstdc++")

TLS = """    ssl_certificate {directory}/site.pem; ssl_certificate_key {directory}/site.key;
    ssl_protocols TLSv1.3; ssl_session_cache shared:tls:64m; ssl_session_timeout 1h;"""


def openssl(directory, *arguments):
    subprocess.run([program("openssl", "openssl"), *map(str, arguments)], cwd=directory, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificates(directory):
    """ca.pem, and site.pem for all hosts of the domain."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(directory, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30",
            "-subj", "/CN=Test CA")
    openssl(directory, "req", *key, "-keyout", "site.key", "-out", "site.csr", "-subj", "/CN=site")
    (directory / "names").write_text(f"subjectAltName=DNS:*.{DOMAIN}\n")
    openssl(directory, "x509", "-req", "-in", "site.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "site.pem", "-days", "30", "-extfile", "names")


def name_hosts(directory, count):
    """Makes the names known to this process and its children, in a mount namespace of its own."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, private, recursive, bind = 0x00020000, 1 << 18, 1 << 14, 1 << 12
    hosts = directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n"
                     + "".join(f"127.0.0.1 h{i}.{DOMAIN}\n" for i in range(count)))
    if libc.unshare(new_mounts) or libc.mount(None, b"/", None, private | recursive, None) \
            or libc.mount(bytes(hosts), b"/etc/hosts", None, bind, None):
        raise Missing("tls needs root, for names of its own")


class TlsNginx(Nginx):
    """One site under all names, over TLS 1.3."""

    def __init__(self, directory, root, http2=False):
        self.tls, self.http2 = TLS.format(directory=directory), http2
        super().__init__(directory, [root])

    def server(self, host, root):
        return (f"  server {{ listen {host}:{self.port} ssl{' http2' if self.http2 else ''} "
                f"backlog=4096; root {root}; index index.html;\n{self.tls} }}")

    hosts_of = staticmethod(lambda roots: ["127.0.0.1"])
    log_format = "$status $ssl_session_reused$connection_requests https://$host$request_uri"

    def take(self):
        """The requests, without robots.txt; full and resumed handshakes."""
        self.handshakes = collections.Counter()
        requests = []
        for line in self.take_lines():
            status, connection, url = line.split(" ", 2)
            if connection in (".1", "r1"):
                self.handshakes["full" if connection[0] == "." else "resumed"] += 1
            if not url.endswith("/robots.txt"):
                requests.append((int(status), url))
        return requests


class TlsWget2(Wget2):
    def __init__(self, ca, threads, resume=False):
        super().__init__(threads)
        self.more = [f"--ca-certificate={ca}", "--no-http2", "--tls-session-file={directory}/tls-sessions",
                     *(["--tls-resume"] if resume else [])]
        self.name = "wget2 --tls-resume" if resume else "wget2"


def make_site(directory, pages):
    """Pages of about 8 KiB, all linked from the first."""
    directory.mkdir()
    text = "<p>" + "Some words of a page. " * 360 + "</p>"
    links = "".join(f'<a href="p{i}.html">{i}</a>' for i in range(1, pages))
    (directory / "index.html").write_text(f"<title>0</title>{links}{text}")
    for i in range(1, pages):
        (directory / f"p{i}.html").write_text(f'<title>{i}</title><a href="/">up</a>{text}')


def many_hosts(options, directory):
    hosts, pages = (50, 5) if options.quick else (1000, 20)
    make_site(directory / "site", pages)
    nginx = TlsNginx(directory, directory / "site")
    seeds = [f"https://h{i}.{DOMAIN}:{nginx.port}/" for i in range(hosts)]
    ca = directory / "ca.pem"
    tls = {"fetch": {"ca_file": ca, "http2": False}}
    crawlers = [Trawl(options.trawl, 100, 1, options.threads, **tls),
                TlsWget2(ca, 100), TlsWget2(ca, 100, resume=True)]
    runs = {crawler.name: [] for crawler in crawlers}
    right = True
    try:
        for _ in range(options.repetitions):
            for crawler in crawlers:
                place = directory / "run"
                place.mkdir()
                used = crawler.crawl(seeds, place, options.timeout)
                shutil.rmtree(place)
                requests = nginx.take()
                runs[crawler.name].append((used, nginx.handshakes, len(requests)))
                if crawler.name == "trawl":
                    right &= len(requests) == len(set(requests)) == hosts * pages
    finally:
        nginx.stop()
    cpu = {name: Series(1000 * used.cpu / (hosts * pages) for used, _, _ in each)
           for name, each in runs.items()}
    print(f"## {hosts} hosts over TLS 1.3, {pages} pages each, 100 connections\n")
    print_table(["", "requests", "full handshakes", "resumed", "CPU ms/page", "pages/s",
                 "peak MiB", "trawl's CPU is"],
                [[name, Series(n for _, _, n in each).text("{:.0f}"),
                  Series(shaken["full"] for _, shaken, _ in each).text("{:.0f}"),
                  Series(shaken["resumed"] for _, shaken, _ in each).text("{:.0f}"),
                  cpu[name].text(),
                  Series(hosts * pages / used.seconds for used, _, _ in each).text("{:.0f}"),
                  Series(used.memory / 2**20 for used, _, _ in each).text("{:.0f}"),
                  ratio(cpu["trawl"], cpu[name]).text("{:.2f}")] for name, each in runs.items()])
    return right


def http2(options, directory):
    """One site by HTTP/2, with many streams on one connection, and by HTTP/1.1."""
    if not (SITE / "index.html").exists():
        raise Missing(f"{SITE} is missing: apt-get install libstdc++-12-doc")
    cpu, speed, counts = {}, {}, {}
    for name, with_http2 in (("HTTP/1.1", False), ("HTTP/2", True)):
        place = directory / name.replace("/", "")
        place.mkdir(parents=True)
        make_certificates(place)
        nginx = TlsNginx(place, SITE, http2=with_http2)
        crawler = Trawl(options.trawl, 32, 32, options.threads,
                        fetch={"ca_file": place / "ca.pem", "http2": with_http2},
                        scope={"max_pages": 300} if options.quick else {})
        runs = []
        try:
            for _ in range(options.repetitions):
                run = place / "run"
                run.mkdir()
                used = crawler.crawl([f"https://h0.{DOMAIN}:{nginx.port}/index.html"], run,
                                     options.timeout)
                shutil.rmtree(run)
                runs.append((used, len(nginx.take())))
        finally:
            nginx.stop()
        cpu[name] = Series(1000 * used.cpu / max(1, n) for used, n in runs)
        speed[name] = Series(n / used.seconds for used, n in runs)
        counts[name] = Series(n for _, n in runs)
    print("## One site over TLS, 32 requests at a time\n")
    print_table(["", "requests", "CPU ms/page", "pages/s", "CPU to HTTP/1.1's"],
                [[name, counts[name].text("{:.0f}"), cpu[name].text(), speed[name].text("{:.0f}"),
                  ratio(cpu[name], cpu["HTTP/1.1"]).text("{:.2f}")] for name in cpu])
    return True


def tls(options, directory):
    directory.chmod(0o755)
    name_hosts(directory, 1000)
    make_certificates(directory)
    return many_hosts(options, directory) & http2(options, directory)
