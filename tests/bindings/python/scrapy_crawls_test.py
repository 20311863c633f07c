"""Whole crawls by Scrapy with Trawl's parts, each a process, which are killed or stopped on the way.
$TRAWL_SCRAPY_KILLS is how often the crawls that are killed are (3)."""

import concurrent.futures
import os
import pickle
import random
import re
import shutil
import signal

import pytest

import trawl

pytest.importorskip("scrapy", reason="Scrapy (python3-scrapy) is not installed")
# pylint: disable=wrong-import-position
from examples_test import run  # noqa: E402
from scrapy_crawls import BODY_BYTES  # noqa: E402
from scrapy_server import Crawl, Server  # noqa: E402

KILLS = int(os.environ.get("TRAWL_SCRAPY_KILLS", "3"))
AT_ONCE = 8  # CONCURRENT_REQUESTS
SCHEDULER = {"SCHEDULER": "trawl.scrapy.Scheduler"}
FILTER = {"DUPEFILTER_CLASS": "trawl.scrapy.DupeFilter"}
FINGERPRINTER = {"REQUEST_FINGERPRINTER_CLASS": "trawl.scrapy.Fingerprinter"}


@pytest.fixture
def serve():
    servers = []

    def start(tasks, **options):
        servers.append(Server(tasks, **options))
        return servers[-1]
    yield start
    for server in servers:
        server.close()


@pytest.fixture
def job(tmp_path):
    return {"JOBDIR": str(tmp_path / "job")}


def together(call, cases):
    """The results of calls that run side by side."""
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as threads:
        return list(threads.map(call, cases))


def get(*paths, **options):
    return [{"kind": "get", "url": path, **options} for path in paths]


def expected_of(tasks):
    """What a crawl of the tasks fetches with success, from "/" on."""
    wanted, left = set(), [("GET", "/", 0)]
    while left:
        method, path, size = one = left.pop()
        if one in wanted:
            continue
        wanted.add(one)
        if "redirect" in path:
            left.append((method, path.replace("redirect", "target"), size))
        for task in tasks.get(path, []):
            post = task["kind"] == "post"
            left.append(("POST" if post else "GET", task["url"], BODY_BYTES if post else 0))
    return wanted


def settings_in(page):
    """Those that a page of the documentation shows for Scrapy."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if "SCHEDULER = " in block]
    settings = {}
    exec(block, settings)  # pylint: disable=exec-used
    return {name: value for name, value in settings.items() if name.isupper()}


def test_the_same_pages_as_scrapys_own_scheduler(sample_site, source, tmp_path):
    shown = [settings_in(source / page) for page in ("README.md", "docs/embedding.md", "docs/moving.md")]
    assert shown[0] == {**SCHEDULER, **FINGERPRINTER, "JOBDIR": "job"}
    assert shown[2] == {**shown[0], "JOBDIR": "jobs/shop"}
    ours = [SCHEDULER, FILTER, {**SCHEDULER, **FILTER, "TRAWL_EXACT": True, "TRAWL_ORDER": "dfs"}]
    settings_of = [{}, *shown[:2], *({"JOBDIR": "job", **settings} for settings in ours)]

    def crawl(number):
        directory = tmp_path / str(number)
        directory.mkdir()
        settings = settings_of[number]
        fetched = []
        if number == 1:  # README's, which says that it survives this
            killed = Crawl("site", sample_site, directory, **settings)
            killed.wait_for("PAGE ", count=20)
            killed.kill()
            fetched += killed.pages()
        whole = Crawl("site", sample_site, directory, **settings)
        return whole.stats(), fetched + whole.pages()

    (stock, pages), (resumed, pages_of_both), *others = together(crawl, range(len(settings_of)))
    key = trawl.Canonicalizer().key
    wanted = sorted(map(key, pages))
    assert len(wanted) > 50
    assert resumed["trawl/resumed"] > 0 and set(map(key, pages_of_both)) == set(wanted)
    for its, fetched in others:
        assert sorted(map(key, fetched)) == wanted
        for name in ("scheduler/enqueued", "scheduler/dequeued", "dupefilter/filtered"):
            assert its[name] == stock[name]
        assert its["trawl/expected_lost"] < 0.01 and its["trawl/filter_bytes"] > 1000


def test_the_example_goes_on_though_it_is_killed(sample_site, source, tmp_path):
    script = source / "examples" / "python" / "scrapy_spider.py"
    assert len(script.read_text().splitlines()) < 60

    def crawl(kill_after):
        directory = tmp_path / str(kill_after)
        fetched = [] if kill_after is None else run(script, directory, sample_site, kill_after=kill_after)
        return set(fetched + run(script, directory, sample_site))

    whole, killed = together(crawl, (None, 20))
    assert len(whole) > 50 and killed == whole


def mixed_tasks(count):
    """Pages that link to each other, and to redirects, pages that fail at first, and forms."""
    tasks = {"/": get("/page/1", "/page/0")}
    for number in range(count):
        links = get(*(f"/page/{next_one}" for next_one in (2 * number, 2 * number + 1, number - 1, 0)
                      if 0 <= next_one < count))
        tasks[f"/page/{number}"] = links + get(f"/redirect/{number}") * (number % 3 == 0) + get(
            f"/flaky/{number}", priority=number % 4) * (number % 4 == 0) + [
                {"kind": "post", "url": f"/form/{number}"}] * (number % 5 == 0) + [
                    {"kind": "again", "url": f"/again/{number}"}] * (number % 7 == 0)
        tasks[f"/form/{number}"] = get(f"/of-form/{number}")
    return tasks


def test_kills_lose_nothing(serve, tmp_path):
    tasks = mixed_tasks(20 * KILLS)
    wanted = expected_of(tasks)

    def kill_often(case):
        kills, more = case
        server = serve(tasks)
        settings = {**SCHEDULER, **more, "CONCURRENT_REQUESTS": AT_ONCE, "JOBDIR": str(tmp_path / str(len(more)))}
        chance = random.Random(len(more))
        in_progress = []
        for _ in range(kills):
            crawl = Crawl("tasks", server.url, **settings)
            server.wait_for(len(server.log) + chance.randrange(10, len(wanted) // KILLS), crawl.process)
            crawl.kill()
            in_progress.append(crawl.in_progress())
        stats = Crawl("tasks", server.url, **settings).stats()
        fetched = server.fetched()
        assert set(fetched) == wanted
        repeated = sum(fetched.values()) - len(wanted)
        print(f"{kills} kills: {len(wanted)} of {len(wanted)}, {repeated} twice; in progress: {in_progress}")
        # Completions become durable within a millisecond or so.
        assert repeated <= sum(in_progress) + 2 * kills, "more than were in progress"
        assert stats["trawl/resumed"] > 0
        before = len(server.log)
        assert Crawl("tasks", server.url, **settings).stats().get("scheduler/dequeued") is None
        assert len(server.log) == before, "the start request, and all that it led to, is done"

    together(kill_often, [(KILLS, {}), ((KILLS + 1) // 2, {**FINGERPRINTER, **FILTER, "TRAWL_EXACT": True})])


def test_a_crawl_with_everything_that_is_stopped(serve, job):
    """CloseSpider, then ^C; the requests that lambdas keep in memory are lost by it, all others are not."""
    tasks = mixed_tasks(60)
    wanted = expected_of(tasks)
    tasks["/page/20"] = tasks["/page/20"] + [{"kind": "close", "url": "/"}]
    server = serve(tasks)
    settings = {**SCHEDULER, **job, "CONCURRENT_REQUESTS": AT_ONCE}
    stats = Crawl("tasks", server.url, **settings).stats()
    assert stats["finish_reason"] == "enough" and set(server.fetched()) < wanted
    crawl = Crawl("tasks", server.url, **settings)
    server.wait_for(len(server.log) + 10, crawl.process)
    crawl.process.send_signal(signal.SIGINT)
    stats = crawl.stats()
    assert stats["finish_reason"] == "shutdown" and set(server.fetched()) < wanted
    stats = Crawl("tasks", server.url, **settings).stats()
    assert stats["finish_reason"] == "finished" and "trawl/repeated" not in stats
    assert server.fetched() == {one: 1 for one in wanted}, "each once"


def test_interrupted_twice(serve, job):
    tasks = {"/": get("/1", "/blocked/1", "/blocked/2", "/2"), "/1": get("/3"), "/blocked/1": get("/4")}
    server = serve(tasks)
    settings = {**SCHEDULER, **job, "CONCURRENT_REQUESTS": AT_ONCE}
    crawl = Crawl("tasks", server.url, **settings)
    server.wait_for(6, crawl.process)
    for count, said in ((1, "Received SIGINT, shutting down gracefully"), (2, "Received SIGINT twice")):
        crawl.process.send_signal(signal.SIGINT)
        crawl.wait_for(said)
        assert any(said in line for line in crawl.lines), "\n".join(crawl.lines)
        assert (crawl.process.poll() is None) or count == 2
    assert crawl.end() in (0, 1), "\n".join(crawl.lines)
    server.released.set()
    stats = Crawl("tasks", server.url, **settings).stats()
    fetched = server.fetched()
    assert set(fetched) == expected_of(tasks)
    assert sum(fetched.values()) - len(fetched) <= AT_ONCE
    # Where the end of the connection came first it counts as a retry, which was not handed out before.
    assert fetched[("GET", "/blocked/1", 0)] == 2 and stats.get("trawl/repeated", 0) <= AT_ONCE


def test_lambda_callbacks(serve, job):
    tasks = {"/": get("/1") + [{"kind": "lambda", "url": f"/{number}"} for number in (1, 2, 3, 3)],
             "/2": get("/3", "/4")}
    server = serve(tasks)
    crawl = Crawl("tasks", server.url, **SCHEDULER, **job)
    stats = crawl.stats(tracebacks=True)  # of the warning
    assert server.fetched() == {one: 1 for one in expected_of(tasks)}
    assert stats["scheduler/unserializable"] == 2 and stats["finish_reason"] == "finished"
    assert sum("Unable to serialize request" in line for line in crawl.lines) == 1


def test_two_processes_of_one_job(serve, job, tmp_path):
    server = serve({"/": get("/blocked/1"), "/blocked/1": get("/1")})
    state = tmp_path / "job" / "spider.state"  # Scrapy's, which it writes though the spider could not be opened
    state.parent.mkdir()
    state.write_bytes(before := pickle.dumps({"the spider's": 1}))
    crawl = Crawl("tasks", server.url, **SCHEDULER, **job)
    server.wait_for(2, crawl.process)
    other = Crawl("tasks", server.url, **SCHEDULER, **job)
    assert other.end() == 1
    assert any(f"FAILED JOBDIR {tmp_path}/job is in use by another process (pid {crawl.process.pid})" in line
               for line in other.lines), "\n".join(other.lines)
    assert state.read_bytes() == before
    server.released.set()
    crawl.stats()
    assert len(server.log) == 3


def test_a_crawl_that_cannot_begin_ends_with_the_reason(serve):
    server = serve({})
    crawl = Crawl("tasks", server.url, **SCHEDULER)
    assert crawl.end() == 1 and any("FAILED" in line and "needs the setting JOBDIR" in line for line in crawl.lines)
    assert not server.log


def test_the_filter_with_scrapys_scheduler_after_a_kill(serve, tmp_path):
    tasks = mixed_tasks(30)
    wanted = expected_of(tasks)
    server = serve(tasks)
    killed = Crawl("tasks", server.url, JOBDIR=str(tmp_path / "0"), **FILTER)
    server.wait_for(20, killed.process)
    killed.kill()
    before = server.fetched()
    # What a kill leaves of Scrapy's own queue it may not be able to read.
    shutil.rmtree(tmp_path / "0" / "requests.queue")
    shutil.copytree(tmp_path / "0", tmp_path / "1")


    def crawl_on(keep):
        server.log.clear()
        crawl = Crawl("tasks", server.url, JOBDIR=str(tmp_path / str(int(keep))), TRAWL_KEEP_SEEN=keep, **FILTER)
        stats = crawl.stats()
        assert any("did not end cleanly" in line for line in crawl.lines)
        return stats

    assert crawl_on(True)["scheduler/dequeued"] == 1 and len(server.log) == 1, (
        "the start request: all that it leads to was seen, though not all was fetched")
    assert set(before) < wanted
    crawl_on(False)
    assert set(server.fetched()) == wanted


def test_delays_kept_by_the_frontier(serve, tmp_path):
    def crawl(case):
        spider, settings = case
        server = serve({"/": get(*(f"/{number}" for number in range(6)))}, robots=b"User-agent: *\nDisallow: /5\n")
        stats = Crawl(spider, server.url, **SCHEDULER, JOBDIR=str(tmp_path / spider), TRAWL_POLITENESS="frontier",
                      **settings).stats()
        times = [one[0] for one in server.log]
        assert len(times) == stats["downloader/request_count"] == 7
        assert times[-1] - times[0] > 0.8, times  # 6 * 0.2, less what the way to the server may vary

    together(crawl, [("delayed-by-attribute", {}), ("tasks", {
        "DOWNLOAD_DELAY": 0.2, "ROBOTSTXT_OBEY": True,
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor"})])
