"""An HTTP proxy on loopback that answers for the hosts of the documentation's examples (example.com,
www.example.com, slow.example.net, ...), http and https. No name is looked up, and no request leaves
the machine."""

import contextlib
import ssl
import subprocess
import urllib.parse

import trawl_testing as t
from proxy_servers import Proxy, read_head

NAMES = [prefix + name for name in ("example.com", "example.org", "example.net") for prefix in ("", "*.")]
BIG_SITES = ("www.example.com", "forum.example.org", "slow.example.net")  # without an end
LINKS_OF_BIG_PAGES = 40


def html(title, links, text=""):
    anchors = "".join(f'<p><a href="{link}">{link}</a></p>\n' for link in links)
    return f"<!DOCTYPE html><title>{title}</title>\n<p>{text}</p>\n{anchors}".encode()


def home_page(host):
    return html(f"The home page of {host}", [
        "/a?b=1", "/news/2026/", "/news/2026/today", "/print/7", "/images/disk.iso", "/copy/1", "/copy/2",
        "/missing/1", "/broken/1", "/broken/2", "http://other.example.org/", "mailto:a@b.example"])


def answer(host, path):
    """Status, further header lines, body."""
    if host == "slow.example.net" and path not in ("/", "/robots.txt"):
        return 503, [], b"overloaded"
    if path == "/robots.txt":
        return (200, [], b"User-agent: *\nCrawl-delay: 5\n") if host == "forum.example.org" else \
            (404, [], b"none")
    if path.startswith("/broken/"):
        return 500, [], b"an error"
    if path.startswith("/later/"):
        return 502, [], b"an error that passes"
    if path.startswith("/missing/"):
        return 404, [], b"none"
    if path.startswith("/copy/"):
        return 200, [], html("A copy", [], "the same at each URL")
    if path.startswith("/large/"):
        return 200, [], html("A large page", [], "words " * 20_000)
    if host in BIG_SITES:
        links = [f"/t/{path.strip('/').replace('/', '-')}-{i}" for i in range(LINKS_OF_BIG_PAGES)]
        return 200, [], html(f"{path} of {host}", [
            "/large/1", "/later/1", "/broken/1", "/broken/2", "/missing/1", "http://other.example.org/", *links])
    if path == "/":
        return 200, [], home_page(host)
    return 200, ["X-Robots-Tag: noarchive"], html(f"{path} of {host}", ["/", path + "#top"])


class LocalInternet(Proxy):
    """`requests` are the URLs that were asked for."""

    def __init__(self, directory):
        self.requests = []
        self.certificate = directory / "certificate.pem"
        key = directory / "certificate.key"
        names = ",".join(f"DNS:{name}" for name in NAMES)
        finished = subprocess.run(
            [t.program("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-subj", "/CN=example.com", "-addext", f"subjectAltName={names}", "-keyout", key, "-out",
             self.certificate], capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            raise t.Failure(f"openssl req\n{finished.stderr}")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.certificate, key)
        super().__init__()

    def serve(self, client):
        head = read_head(client)
        if head is None:
            return
        method, target = head.decode("latin-1").split(" ")[:2]
        if method != "CONNECT":
            self.respond(client, head, target)
            self.serve(client)
            return
        self.seen.append(target)
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        with contextlib.suppress(ssl.SSLError), self.tls.wrap_socket(client, server_side=True) as secure:
            while (head := read_head(secure)) is not None:
                path = head.decode("latin-1").split(" ")[1]
                self.respond(secure, head, f"https://{target.removesuffix(':443')}{path}")

    def respond(self, client, head, url):
        self.requests.append(url)
        parts = urllib.parse.urlsplit(url)
        status, headers, body = answer(parts.hostname, parts.path)
        lines = [f"HTTP/1.1 {status} Status", "Content-Type: text/html; charset=utf-8",
                 f"Content-Length: {len(body)}", *headers, "", ""]
        client.sendall("\r\n".join(lines).encode() + (b"" if head.startswith(b"HEAD ") else body))
