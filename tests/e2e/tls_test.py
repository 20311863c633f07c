"""Certificates are verified by default; what is refused says so, and can be allowed."""

import datetime
import ssl
import subprocess

import trawl_testing as t
from hostile_server import Host, tls_context

CONFIG = """[ca]
default_ca = test
[test]
database = {directory}/index.txt
new_certs_dir = {directory}
serial = {directory}/serial
default_md = sha256
policy = anything
unique_subject = no
[anything]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[site]
basicConstraints = CA:FALSE
subjectAltName = IP:127.0.0.1, DNS:localhost
[other]
basicConstraints = CA:FALSE
subjectAltName = IP:127.0.0.77, DNS:other.example
"""


class Authority:
    """A certificate authority in a directory: ca.pem, and what it signs."""

    def __init__(self, directory):
        self.directory = directory
        self.openssl = t.program("openssl", "openssl")
        (directory / "openssl.cnf").write_text(CONFIG.format(directory=directory))
        (directory / "index.txt").write_text("")
        (directory / "serial").write_text("01\n")
        self._request("ca", "/CN=Authority of a test")
        self._run("ca", "-config", "openssl.cnf", "-batch", "-notext", "-selfsign",
                  "-keyfile", "ca.key", "-in", "ca.csr", "-extensions", "authority",
                  "-days", "2", "-out", "ca.pem")
        self.file = directory / "ca.pem"

    def sign(self, name, extensions="site", begins=-1, ends=2, by_itself=False):
        """A TLS context with a new certificate, valid between so many days from now."""
        self._request(name, f"/CN={name}")
        now = datetime.datetime.utcnow()

        def day(days):
            return (now + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")

        signer = ["-selfsign", "-keyfile", f"{name}.key"] if by_itself else \
            ["-cert", "ca.pem", "-keyfile", "ca.key"]
        self._run("ca", "-config", "openssl.cnf", "-batch", "-notext", *signer,
                  "-in", f"{name}.csr", "-extensions", extensions, "-startdate", day(begins),
                  "-enddate", day(ends), "-out", f"{name}.pem")
        return tls_context(self.directory / f"{name}.pem", self.directory / f"{name}.key")

    def _request(self, name, subject):
        self._run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                  "-nodes", "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")

    def _run(self, *arguments):
        finished = subprocess.run([self.openssl, *arguments], cwd=self.directory,
                                  capture_output=True, text=True, timeout=60)
        if finished.returncode != 0:
            raise t.Failure(f"openssl {' '.join(arguments)}\n{finished.stderr}")


def crawl(options, directory, name, hosts, **fetch):
    tables = t.fast_crawl([host.url() for host in hosts.values()], directory / name,
                          politeness={"respect_robots": False},
                          fetch={"connect_timeout": "5s", **fetch})
    return t.run(options, directory, "crawl",
                 t.write_config(directory / f"{name}.toml", tables))


def check(test, directory, name, hosts, accepted):
    pages = {page["url"]: page for page in t.read_pages(test, directory / name)}
    for kind, host in hosts.items():
        page = pages.get(host.url())
        if not test.check(page is not None, f"{name}: {kind}: no line of output"):
            continue
        if kind in accepted:
            test.check(page["status"] == 200 and not page["error"], f"{name}: {kind}: refused", page)
        else:
            test.check(page["status"] == 0 and page["reason"] == "TLS failure",
                       f"{name}: {kind}: not refused for its TLS", page)
            test.check(not host.paths, f"{name}: {kind}: was asked anyway", host.paths)
        host.paths.clear()


def old_protocol(authority):
    context = authority.sign("old")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def forgotten_authority(test, directory, options, host):
    """URLs that a run no longer trusts wait for a run that does, whatever is requested first."""
    ca_file = directory / "keys" / "ca.pem"
    for obeys in (True, False):
        name = f"forgotten-{obeys}"
        urls = [host.url(f"p{i}") for i in range(12)]
        config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
            urls, directory / name, fetch={"retries": 1, "retry_delay": "10ms", "threads": 1},
            politeness={"respect_robots": obeys, "robots_retries": 1, "robots_backoff": "10ms",
                        "host_backoff": "10ms", "max_host_backoff": "20ms",
                        "host_failures": 20}))
        trusted = ("--set", f"fetch.ca_file={ca_file}")
        t.expect_exit(test, t.run(options, directory, "crawl", config, *trusted,
                                  "--set", "scope.max_pages=4"), t.EXIT_DONE, f"{name}: begun")
        forgotten = t.run(options, directory, "resume", config)
        t.expect_exit(test, forgotten, t.EXIT_INCOMPLETE, f"{name}: forgotten")
        test.check(f"the URLs of https://127.0.0.1:{host.port} are held" in forgotten.text,
                   f"{name}: the origin is not named", forgotten.tail())
        test.check("8 held by rules, 0 failed" in forgotten.text, f"{name}: not held",
                   forgotten.tail())
        # Now it is not less than before: its host is parked.
        again = t.run(options, directory, "resume", config)
        t.expect_exit(test, again, t.EXIT_INCOMPLETE, f"{name}: forgotten again")
        test.check(len(t.read_pages(test, directory / name)) == 4, f"{name}: a URL ended",
                   again.tail())
        done = t.run(options, directory, "resume", config, *trusted)
        t.expect_exit(test, done, t.EXIT_DONE, f"{name}: trusted again")
        good = {page["url"] for page in t.read_pages(test, directory / name)
                if page["status"] == 200}
        test.check_equal_sets(good, set(urls), f"{name}: in the end")


def tls(test, directory, options):
    keys = directory / "keys"
    keys.mkdir()
    authority = Authority(keys)
    contexts = {
        "good": authority.sign("good"),
        "self-signed": authority.sign("itself", by_itself=True),
        "expired": authority.sign("expired", begins=-10, ends=-1),
        "not valid yet": authority.sign("future", begins=1, ends=10),
        "of another host": authority.sign("other", extensions="other"),
        "an old protocol": old_protocol(authority),
    }
    hosts = {kind: Host(lambda c, _: c.reply(b"<p>page"), tls=context)
             for kind, context in contexts.items()}
    try:
        refused = crawl(options, directory, "default", hosts)
        t.expect_exit(test, refused, t.EXIT_INCOMPLETE, "an authority that is not known")
        test.check("set fetch.ca_file" in refused.text, "the key is not named", refused.tail())
        check(test, directory, "default", hosts, accepted=set())
        t.expect_exit(test, crawl(options, directory, "with_authority", hosts,
                                  ca_file=authority.file), t.EXIT_DONE, "fetch.ca_file")
        check(test, directory, "with_authority", hosts, accepted={"good"})
        t.expect_exit(test, crawl(options, directory, "unverified", hosts, verify_tls=False),
                      t.EXIT_DONE, "fetch.verify_tls = false")
        check(test, directory, "unverified", hosts, accepted=hosts.keys() - {"an old protocol"})
        forgotten_authority(test, directory, options, hosts["good"])
    finally:
        for host in hosts.values():
            host.stop()


if __name__ == "__main__":
    t.main(tls, t.parser(__doc__).parse_args())
