"""What each page of the documentation needs before its commands can run, and what is not run."""

import dataclasses
import json
import re
import subprocess

import trawl_testing as t
from page_examples import SITEMAP

# Commands that do not run here, and why. Their names and flags are checked all the same.
NOT_RUN = [
    (r"scripts/(quickstart|test|deps|package)\.sh", "installs packages, and builds"),
    (r"scripts/format\.sh", "changes the sources"),
    (r".*sudo |journalctl |systemctl ", "needs an installed package and systemd"),
    (r"trawl (status|pause|unpause|offer|checkpoint|stop|reload) (archive-state|my\.toml)",
     "needs a running crawl: e2e.status_api and e2e.live_reload run them"),
    (r"cmake --install build/release --prefix DIR", "installs what may not be built"),
    (r"cmake --workflow", "builds for minutes"),
    (r"ctest --preset slow", "runs for an hour"),
    (r".*ctest --preset e2e", "runs such tests as this one"),
    (r"valgrind ", "measures for minutes, with a server of its own"),
    (r"trawl (crawl|resume) (https://)?example\.com", "crawls a whole site at one request a second"),
    (r"(build/release/bench/\w+|bench/peers/run\.py|bench/(python|resp|scrapy)_bench\.py|bench/cluster_crawl\.py|bench/serial_parts\.py|bench/start_cost\.py|bench/scale\.sh)( |$)", "measures for minutes"),
    (r"trawl serve |redis-cli ", "one serves until it ends, the other needs it: e2e.serve_clients runs them"),
    (r".*rediss?://", "needs a crawl in Redis: e2e.shared_crawl runs them"),
    (r"for port in 7001 7002|redis-server ", "starts servers that stay: e2e.cluster_crawl starts its own"),
    (r"seq .*[0-9]{9,}|zcat .*--capacity 10G", "makes filters of billions of keys"),
    (r"for i in 1 2 3 4; do for v in old new", "compares with a trawl of the past"),
]


@dataclasses.dataclass
class Needs:
    # Called with the workplace before the first block.
    setup: object = None
    # By the beginning of a block's text: called with the workplace before the block.
    before: dict = dataclasses.field(default_factory=dict)
    # How numbers in shown output are compared: "exact", "close" (within a tenth), "any".
    numbers: str = "exact"
    # Exit statuses other than 0, by the beginning of the command.
    exits: dict = dataclasses.field(default_factory=dict)
    # Checks of blocks of text, by the beginning of the text: called with workplace and block, they
    # yield complaints. A string says why there is nothing to check.
    texts: dict = dataclasses.field(default_factory=dict)
    # The tables of keys, by the heading above: which lines must have exactly these keys.
    keys: dict = dataclasses.field(default_factory=dict)
    # Blocks of TOML hold several fragments, with an empty line between two.
    split_toml: bool = False


# --- filters ---

def make_lists(work):
    def pages(begin, end):
        return "".join(f"https://example.org/page/{i}\n" for i in range(begin, end))

    work.write("crawled.txt", pages(0, 1_000_000))
    work.write("found.txt", pages(999_991, 1_000_011))
    work.write("second.txt", pages(1_000_000, 1_500_000))
    work.write("more.txt", pages(2_000_000, 2_000_100))
    work.write("blocked-urls.txt", pages(0, 100))
    work.write("gone.txt", "10.0.0.1\n")
    work.write("addresses.txt", "10.0.0.1\n10.0.0.2\n")
    work.run("filter", "build", "--kind", "counting", "--capacity", "1000", "-o", "addresses.filter",
             "addresses.txt")
    work.environment["url"] = "https://example.org/page/7"


def make_filter_anew(work):
    """The numbers of the page are those of the filter before `add`."""
    work.run("filter", "build", "--force", "-o", "crawled.filter", "--capacity", "2M", "crawled.txt")


# --- crawls ---

def config_of_readme(work):
    work.write("my.toml", work.block("README.md", "# my.toml").text)


def make_config(work):
    work.write("FILE", '[crawl]\nseeds = ["https://example.com/"]\nstate_dir = "state"\n')


QUEUES = """[crawl]
seeds = ["https://www.example.com/", "https://forum.example.org/", "https://slow.example.net/"]
state_dir = "example-state"
[scope]
max_pages = 5
[politeness]
host_failures = 2
host_backoff = "1ms"
robots_backoff = "1ms"
[fetch]
max_body = "64KiB"
[filter]
expected_urls = 100
[checkpoint]
admissions = 1
[recrawl]
rules = [{ match = "*-1?", interval = "1d" }]
"""


def make_queues(work):
    """A crawl with long queues, a parked host, and URLs that failed, are held, or wait for a time."""
    work.write("my.toml", QUEUES)
    work.trawl("crawl", "my.toml", "--set", "scope.max_pages=30")
    work.trawl("resume", "my.toml", "--set", "scope.max_pages=60")
    lines = work.run("frontier", "dump", "example-state", "--state", "queued").splitlines()
    work.write("dump.jsonl", work.run("frontier", "dump", "example-state"))
    work.write("waiting.jsonl", "".join(line + "\n" for line in lines[:100]))


def damage_checkpoints(work):
    for file in (work.directory / "example-state").glob("filter-*.ckpt"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xff
        file.write_bytes(data)


# --- blocks of text ---

def config_errors(work, block):
    work.write("crawl.toml", '[crawl]\nseeds = ["http://a.example/"]\nstate_dir = "s"\n\n\n\n\n[fetch]\n'
               'threads = 0\ntiemout = "20s"\n')
    printed = work.run("check-config", "crawl.toml", "--set", "scope.type=site", status=t.EXIT_BAD_CONFIG)
    for line in block.text.splitlines():
        if line not in re.sub(r"^trawl: (error: )?", "", printed, flags=re.MULTILINE):
            yield f"not printed: {line}\n{printed}"


def prometheus_config(work, block):
    path = work.directory / "prometheus.yml"
    path.write_text(block.text)
    checked = subprocess.run(["promtool", "check", "config", path], capture_output=True, text=True)
    if checked.returncode != 0:
        yield f"promtool: {checked.stdout}{checked.stderr}"


def cron_line(work, block):
    line = next(line for line in block.text.splitlines() if not line.startswith("#"))
    fields = line.split(None, 5)
    if not all(re.fullmatch(r"[\d*/,-]+", field) for field in fields[:5]):
        yield "not five fields of a crontab"
    command = fields[5].replace("/var/lock/", "").replace("/srv/crawl/", "")
    yield from work.shell(command)


def robots_of_two_groups(work, block):
    work.write("robots.txt", block.text)
    work.run("robots", "robots.txt", "mybot", "/")
    work.run("robots", "robots.txt", "badbot", "/", status=1)
    yield from ()


def index_line(work, block):
    key, time, fields = block.text.split(" ", 2)
    lines = [line for file in work.directory.rglob("*.cdxj") for line in file.read_text().splitlines()]
    shapes = {tuple(json.loads(line.split(" ", 2)[2])) for line in lines}
    if tuple(json.loads(fields)) not in shapes or len(time) != 14 or ")" not in key:
        yield f"no line of an index is like this; there are {shapes}"


def profile_line(work, block):
    work.write("profile.toml", """[crawl]
seeds = ["http://www.example.com/"]
state_dir = "profile-state"
[url]
rules = ["drop_index", "drop_www"]
index_names = ["default.*", "index.*"]
[[url.host]]
host = ".example.com"
rules = ["drop_www", "lowercase_path"]
""")
    work.write("urls.jsonl", '{"url":"http://www.example.com/"}\n')
    work.run("frontier", "load", "profile-state", "urls.jsonl", "--config", "profile.toml")
    stats = work.run("frontier", "stats", "profile-state")
    if f"rules for keys  {block.text.strip()}\n" not in stats:
        yield f"another profile: {stats}"


# --- other pages ---

def serve_sample_site(work):
    port = work.serve_sample_site("--pages 50")
    work.substitutions.append(("8099", str(port)))
    work.write("robots.txt", "User-agent: *\nDisallow: /private/\n")
    work.write("sitemap.xml", SITEMAP.decode())
    work.environment["url"] = "/public"
    root = f"http://127.0.0.1:{port}"
    work.samples += work.run("links", f"{root}/dir/18/", "--json").splitlines()
    work.samples += work.run("robots", f"{root}/robots.txt", "trawl", "/private/diary", "--json",
                             status=1).splitlines()
    work.samples += work.run("sitemap", "sitemap.xml", "--json").splitlines()


def copy_example(work):
    for file in (work.root / "examples/embed-frontier").iterdir():
        work.write(file.name, file.read_text())
    work.substitutions += [("/opt/trawl", str(work.directory / "prefix")),
                           ("build/release", str(work.build))]


def make_cookies(work):
    work.write("cookies.txt", "# Netscape HTTP Cookie File\n")


DRAWING = "a drawing"
PAGES = {
    "README.md": Needs(exits={"trawl explain my.toml https://example.com/print/7": 1}),
    "CONTRIBUTING.md": Needs(texts={"include/trawl/": "the list of folders",
                                    "crawler/main.cc": DRAWING}),
    "docs/archiving.md": Needs(setup=make_cookies),
    "docs/canonical-keys.md": Needs(texts={"lossless-2": profile_line}),
    "docs/cluster-command.md": Needs(texts={"crawl           crawl1": "e2e.shared_crawl checks such lines"}),
    "docs/config.md": Needs(setup=make_config, split_toml=True, texts={"crawl.toml:9:11": config_errors}),
    "docs/filter-command.md": Needs(setup=make_lists, numbers="close",
                                    before={"$ trawl filter check crawled": make_filter_anew}),
    "docs/formats.md": Needs(texts={
        begin: "formulas, which filter_formats_test and its like check" for begin in (
            "floor(high * blocks", "(r + i) mod 8", "(hash >> 6 w)", "x ^= x >> 30", "floor(h * m",
            "floor(mix64(high", "tag = 1 + floor")}),
    "docs/frontier.md": Needs(texts={" offer(urls)": DRAWING}),
    "docs/frontier-command.md": Needs(setup=make_queues, numbers="any",
                                      before={"$ trawl frontier repair": damage_checkpoints},
                                      keys={"Dump": "dump.jsonl"}),
    "docs/operating.md": Needs(texts={"# crontab": cron_line, "# prometheus.yml": prometheus_config,
                                      "3 min 20 s": "e2e.summary and ProgressLineTest check such lines",
                                      "fetched 500 URLs": "e2e.summary checks such a summary"}),
    "docs/output.md": Needs(keys={name: name for name in ("pages.jsonl", "links.jsonl", "skipped.jsonl")}),
    "docs/page-commands.md": Needs(setup=serve_sample_site),
    "docs/robots.md": Needs(texts={"User-agent: *": robots_of_two_groups}),
    "docs/scope.md": Needs(setup=config_of_readme, exits={"trawl explain": 1}),
    "docs/warc.md": Needs(texts={"com,example)": index_line,
                                "20261121203109": "e2e.dns_records reads such records"}),
    "examples/embed-frontier/README.md": Needs(setup=copy_example),
}
