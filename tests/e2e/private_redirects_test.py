"""The commands that read one document go where the user sent them; a server of the public internet
sends them to no private address. In a network of the test's own, whose loopback interface has a public
address."""

import os
import shutil
import subprocess
import sys

import trawl_testing as t
from scripted_server import ScriptedServer, answer, redirect

PUBLIC, OTHER_PUBLIC, PRIVATE = "93.184.216.34", "93.184.216.35", "127.0.0.1"
INSIDE = "TRAWL_TEST_NETWORK"

DOCUMENTS = {"links": "<a href='/found'>found</a>", "robots": "User-agent: *\nDisallow: /found\n",
             "sitemap": "<urlset><url><loc>http://x.test/found</loc></url></urlset>"}


def make_network():
    """The script starts again in it."""
    if os.environ.get(INSIDE):
        for address in (PUBLIC, OTHER_PUBLIC):
            subprocess.run(["ip", "address", "add", address + "/32", "dev", "lo"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    tools = ["unshare", "ip"]
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [tool for tool in tools if shutil.which(tool, path=path) is None]
    allowed = not missing and subprocess.run(
        ["unshare", "-rn", "ip", "link", "set", "lo", "up"], env={**os.environ, "PATH": path},
        capture_output=True).returncode == 0
    if not allowed:
        print(f"SKIPPED: no network of its own: {', '.join(missing) or 'not allowed'}")
        sys.exit(t.SKIPPED)
    os.execvpe("unshare", ["unshare", "-rn", sys.executable, "-B", *sys.argv],
               {**os.environ, INSIDE: "1", "PATH": path})


class Commands:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        t.write_config(directory / "explain.toml", {
            "crawl": {"seeds": ["http://x.test/"], "state_dir": directory / "none"}})

    def command(self, name, url, site):
        return {"links": ["links", url], "sitemap": ["sitemap", url],
                "robots": ["robots", url, "trawl", site + "/x"],
                "explain": ["explain", "explain.toml", site + "/x", "--fetch-robots"],
                "explain-robots": ["explain", "explain.toml", site + "/x", "--robots", url]}[name]

    def run(self, name, url, site):
        command = [self.options.trawl, *self.command(name, url, site)]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.directory,
                              timeout=60, errors="replace")

    def each(self, chain, refused):
        """`chain`: the addresses that redirect to each other, the last one with the document."""
        for name in ("links", "robots", "sitemap", "explain", "explain-robots"):
            body = DOCUMENTS["robots" if name.startswith("explain") else name]
            self.one(name, body, chain, refused)

    def one(self, name, body, chain, refused):
        urls = []

        def respond(request):
            address = request.host.rsplit(":", 1)[0].strip("[]")
            place = chain.index(address)
            return answer(body) if place == len(chain) - 1 else redirect(urls[place + 1])

        served = [address for address in chain if "." in address or address == "::1"]
        listening = [a for a in dict.fromkeys(served) if a in (PUBLIC, OTHER_PUBLIC, PRIVATE, "::1")]
        if "localhost" in chain:
            listening.append(PRIVATE)
        with ScriptedServer(respond, addresses=list(dict.fromkeys(listening))) as server:
            urls += [f"http://{'[' + a + ']' if ':' in a else a}:{server.port}/robots.txt"
                     for a in chain]
            done = self.run(name, urls[0], urls[0].rsplit("/", 1)[0])
            asked = [request.host.rsplit(":", 1)[0].strip("[]") for request in server.requests]
        what = f"{name} over {' -> '.join(chain)}"
        if refused:
            self.test.check(asked == chain[:-1], f"{what}: asked at {asked}")
            self.test.check(done.returncode in (t.EXIT_FAILURE, t.EXIT_USAGE),
                            f"{what}: exit code {done.returncode}", done.stderr)
            self.test.check("address is private" in done.stderr and urls[-1] in done.stderr,
                            f"{what}: does not say why", done.stderr)
        else:
            self.test.check(asked == chain, f"{what}: asked at {asked}", done.stderr)
            self.test.check("found" in done.stdout or name not in ("links", "sitemap"),
                            f"{what}: prints", done.stdout + done.stderr)
            self.test.check("private" not in done.stderr, f"{what}: complains", done.stderr)


def private_redirects(test, directory, options):
    commands = Commands(test, directory, options)
    for target in (PRIVATE, "localhost", "169.254.169.254", "168.63.129.16", "192.175.48.1",
                   "192.31.196.1", "192.52.193.1", "10.0.0.1", "::1", "2620:4f:8000::1",
                   "::ffff:7f00:1"):
        commands.each([PUBLIC, target], refused=True)
    commands.each([PUBLIC, OTHER_PUBLIC, PRIVATE], refused=True)
    commands.each([PUBLIC, OTHER_PUBLIC], refused=False)
    # The user's own is private.
    commands.each([PRIVATE], refused=False)
    commands.each([PRIVATE, "::1"], refused=False)
    commands.each(["localhost", PRIVATE], refused=False)
    commands.each([PRIVATE, PUBLIC, "::1"], refused=False)
    commands.each([PUBLIC], refused=False)


if __name__ == "__main__":
    arguments = t.parser(__doc__).parse_args()
    make_network()
    t.main(private_redirects, arguments)
