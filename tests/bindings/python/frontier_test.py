"""trawl.Frontier: each URL once, none lost, and what is wrong is said."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import trawl
import trawl.aio

NEW, SEEN = trawl.Admission.NEW, trawl.Admission.SEEN


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def fast(directory, **options):
    return trawl.Frontier(directory, **{"delay": 0, "expected_urls": 10_000, **options})


def child(code, *arguments, **more):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
                            stdout=subprocess.PIPE, text=True, **more)


def test_urls_in_leases_out(state):
    with fast(state) as frontier:
        assert frontier.offer(["https://a.example/", b"https://a.example/#top", "no url"]) == [
            NEW, SEEN, trawl.Admission.INVALID]
        fetched = []
        for lease in frontier:
            fetched.append((lease.url, lease.depth, lease.parent))
            links = ["https://a.example/1", "https://b.example/2"] if lease.depth == 0 else []
            assert lease.complete(200, links=links) == len(links)
        assert sorted(fetched) == [("https://a.example/", 0, ""),
                                   ("https://a.example/1", 1, "https://a.example/"),
                                   ("https://b.example/2", 1, "https://a.example/")]
        assert frontier.progress() == "finished"
        assert frontier.stats()["succeeded"] == 3
    with fast(state) as frontier:
        assert list(frontier) == []
        assert frontier.offer(["https://a.example/1"]) == [SEEN]


def test_urls_with_settings(state):
    with fast(state, ledger=True) as frontier:
        answers = frontier.offer([
            trawl.Url("https://a.example/f", key=b"POST\0\xff", queue="slot", note=b"\0body", depth=3),
            trawl.Url("https://a.example/f", key="GET", queue="slot", priority=9),
            trawl.Url("https://a.example/f", key="GET", queue="slot"),
            trawl.Url("https://a.example/held", hold="rule"),
            trawl.Url("https://a.example/later", not_before=time.time() + 3600),
        ])
        assert answers == [NEW, NEW, SEEN, trawl.Admission.HELD, NEW]
        (first,) = frontier.lease()
        assert first.priority == 9 and first.host == "slot"
        first.complete(204)
        frontier.flush()
        assert frontier.lookup("GET")["status"] == 204
        (second,) = frontier.lease()
        assert (second.note, second.depth) == (b"\0body", 3)
        second.release()
        assert frontier.lookup("https://a.example/held")["state"] == "held"
        assert frontier.retry(state="held") == 1
        assert frontier.offer(["https://a.example/f"], again=True, depth=2) == [NEW]
        assert frontier.offer(["https://a.example/elsewhere"], seen_only=True) == [NEW]
        assert frontier.offer(["https://a.example/elsewhere"]) == [SEEN]
        assert frontier.offer([trawl.Url("x:", key="k", queue="q", note="n" * 5000)]) == [
            trawl.Admission.NOTE_TOO_LONG]


def test_every_end_of_a_lease(state):
    with fast(state, retry_delay=100) as frontier:
        frontier.offer([f"https://h{i}.example/" for i in range(5)])
        leases = {lease.host: lease for lease in frontier.lease(10)}
        assert len(leases) == 5 and frontier.lease(10) == []
        first = leases["h0.example"]
        first.renew()
        assert first.fail("timeout", retry_after=50) > time.time() + 40
        assert leases["h1.example"].fail("permanent", status=410, error="gone") is None
        leases["h2.example"].hold("not now")
        leases["h3.example"].release(after=0)
        leases["h4.example"].complete(200, recrawl_at=time.time() + 1000, note=b"etag")
        frontier.flush()
        stats = frontier.stats()
        assert (stats["held"], stats["set_aside_failed"], stats["deferred"]) == (1, 1, 2)
        assert frontier.retry(status=410) == 1
        with pytest.raises(trawl.NotFoundError):
            leases["h2.example"].renew()


def test_a_fetched_lease_makes_room_for_the_next_of_its_host(state):
    with fast(state) as frontier:
        frontier.offer(["https://a.example/1", "https://a.example/2"])
        first, = frontier.lease(10)
        assert frontier.lease(10) == []
        first.fetched()
        second, = frontier.lease(10)
        assert second.url == "https://a.example/2"
        assert first.complete(200, ["https://b.example/"]) == 1
        with pytest.raises(trawl.NotFoundError):
            first.fetched()


def test_hosts(state):
    with fast(state) as frontier:
        frontier.offer(["https://a.example/1", "https://a.example/2", "https://b.example/"])
        frontier.set_host("a.example", delay=2.5, limit=7, parked=True)
        host = frontier.host("a.example")
        assert (host["state"], host["queued"], host["delay"], host["limit"]) == ("parked", 2, 2.5, 7)
        assert {each["host"] for each in frontier.hosts()} == {"a.example", "b.example"}
        assert len(frontier.hosts(limit=1)) == 1
        frontier.set_host("a.example", parked=False, limit=None)
        assert frontier.host("a.example")["state"] == "active"
        assert frontier.drop_host("a.example") == 2
        with pytest.raises(trawl.NotFoundError):
            frontier.host("c.example")


def test_urls_set_aside_come_page_by_page(state):
    with fast(state) as frontier:
        urls = [f"https://a.example/{number}" for number in range(5)]
        frontier.offer([trawl.Url(url, hold="robots", note=b"\xff") for url in urls])
        frontier.offer(["https://a.example/failed"])
        (lease,) = frontier.lease()
        lease.fail("permanent", status=404)
        frontier.flush()
        found = []
        while page := frontier.set_aside(found[-1]["position"] if found else None, limit=2):
            assert len(page) <= 2
            found += page
        assert sorted(each["url"] for each in found if each["state"] == "held") == urls
        assert [(each["url"], each["status"]) for each in found if each["state"] == "failed"] == [
            ("https://a.example/failed", 404)]
        assert {each["note"] for each in found if each["state"] == "held"} == {b"\xff"}
        with pytest.raises(trawl.InvalidArgumentError):
            frontier.set_aside("wrong")
        frontier.set_host("a.example", exact_delay=True)
        assert frontier.host("a.example")["exact_delay"] is True


def test_offers_that_do_not_wait_are_not_the_end(state):
    with fast(state) as frontier:
        for i in range(30):
            assert frontier.offer([f"https://a.example/{i}"], wait=False) == [NEW]
            assert next(iter(frontier)).complete() == 0


def test_threads_share_it(state):
    count = 2000
    with fast(state, leases_per_host=100) as frontier:
        frontier.offer([f"https://h{i % 7}.example/{i}" for i in range(count)])
        fetched = []

        def work():
            for lease in frontier:
                fetched.append(lease.url)
                lease.complete()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(fetched) == len(set(fetched)) == count


def test_a_kill_loses_nothing(state):
    """What was offered or completed by a killed process is known to the next one."""
    code = """
        import sys, trawl
        frontier = trawl.Frontier(sys.argv[1], delay=0)
        frontier.offer([f"https://a.example/{i}" for i in range(300)])
        for lease in frontier:
            print(lease.url, flush=True)
            lease.complete()
            frontier.flush()
    """
    completed = []
    for kill_after in (50, 100, 1000):
        process = child(code, state)
        for number, line in enumerate(process.stdout, 1):
            completed.append(line.strip())
            if number == kill_after:
                process.send_signal(signal.SIGKILL)
        process.wait()
    assert sorted(set(completed)) == sorted(f"https://a.example/{i}" for i in range(300))
    assert len(completed) - len(set(completed)) <= 2, "those that were open at the two kills"


def test_one_process_at_a_time(state):
    with fast(state):
        with pytest.raises(trawl.InUseError, match=str(state)):
            fast(state)


def test_closed_handles(state):
    frontier = fast(state)
    frontier.offer(["https://a.example/"])
    (lease,) = frontier.lease()
    frontier.close()
    frontier.close()
    assert frontier.closed
    for call in (lambda: frontier.offer(["https://a.example/"]), frontier.lease, lease.complete,
                 frontier.flush, frontier.checkpoint, frontier.event_fd):
        with pytest.raises(trawl.ClosedError):
            call()
    assert frontier.stats()["admitted"] == 1


def test_fork(state):
    with fast(state) as frontier:
        frontier.offer(["https://a.example/"])
        (lease,) = frontier.lease()
        pid = os.fork()
        if pid == 0:
            failed = 0
            for call in (lambda: frontier.offer(["https://b.example/"]), lease.complete, frontier.stats,
                         frontier.close):
                try:
                    call()
                except trawl.ForkedError:
                    failed += 1
            del lease, frontier
            os._exit(0 if failed == 4 else 1)
        assert os.waitpid(pid, 0) == (pid, 0)
        assert lease.complete() == 0


def test_interrupts_end_a_wait(state):
    process = child("""
        import sys, trawl
        frontier = trawl.Frontier(sys.argv[1], delay=0)
        frontier.offer(["https://a.example/"])
        lease = frontier.lease()
        print("waiting", flush=True)
        try:
            frontier.lease(1, None)
        except KeyboardInterrupt:
            print("interrupted", frontier.stats()["leased"], flush=True)
    """, state)
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.3)  # it must be inside of the call
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted 1\n"
    assert process.wait() == 0


def test_the_end_of_the_interpreter_closes_it(state):
    process = child("""
        import sys, trawl
        frontier = trawl.Frontier(sys.argv[1], delay=0)
        frontier.offer(["https://a.example/"], wait=False)
    """, state)
    assert process.wait() == 0
    with fast(state) as frontier:
        assert len(frontier.lease()) == 1


DAEMONS = {
    "waits for a lease": "frontier.lease(1, None)",
    "offers": "frontier.offer([f'https://b.example/{next(numbers)}'])",
    "adds keys": "seen.update(keys)",
    "adds what a generator makes": "seen.update(str(next(numbers)) for _ in range(100_000))",
}


@pytest.mark.parametrize("call", DAEMONS.values(), ids=DAEMONS.keys())
def test_the_interpreter_ends_though_daemon_threads_are_in_calls(call, state):
    process = child(f"""
        import itertools, sys, threading, time, trawl
        frontier = trawl.Frontier(sys.argv[1], delay=0)
        frontier.offer(["https://a.example/"])
        lease = frontier.lease()
        seen, numbers, keys = trawl.BloomFilter(), itertools.count(), [str(i) for i in range(50_000)]
        calls = threading.Semaphore(0)

        def work():
            while True:
                calls.release()
                try:
                    {call}
                except trawl.ClosedError:
                    pass

        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(4):
            calls.acquire()
        time.sleep(0.05)  # so that they are inside of their calls, or between two
    """, state, stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


def test_a_forked_child_can_end_as_any_process(state):
    """Though RocksDB's destructors would wait for threads that only its parent has."""
    process = child("""
        import os, sys, trawl
        frontier = trawl.Frontier(sys.argv[1], delay=0)
        frontier.offer(["https://a.example/"])
        pid = os.fork()
        if pid == 0:
            with trawl.Frontier(sys.argv[1] + "-child", delay=0) as own:
                own.offer(["https://b.example/"])
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(frontier.lease()))
    """, state)
    assert process.communicate(timeout=60)[0] == "7 1\n"


def test_children_of_a_busy_process_can_end(state):
    process = child("""
        import itertools, os, sys, threading, trawl
        frontier = trawl.Frontier(sys.argv[1], delay=0)
        seen, numbers, stop = trawl.BloomFilter(), itertools.count(), False

        def work():
            while not stop:
                frontier.offer([f"https://a.example/{next(numbers)}"], wait=False)
                seen.update([str(next(numbers)) for _ in range(64)])

        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        codes = set()
        for _ in range(30):
            pid = os.fork()
            if pid == 0:
                sys.exit(7)
            codes.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        stop = True
        for thread in threads:
            thread.join()
        print(codes)
    """, state)
    try:
        assert process.communicate(timeout=60)[0] == "{7}\n"
    finally:
        process.kill()


def test_in_memory():
    with trawl.Frontier(None, delay=0) as frontier:
        frontier.offer(["https://a.example/"])
        assert [lease.complete() for lease in frontier] == [0]


@pytest.mark.parametrize("wrong, error", [
    (lambda f: f.offer("https://a.example/"), TypeError),
    (lambda f: f.offer(["https://a.example/", 5]), TypeError),
    (lambda f: f.offer([None]), TypeError),
    (lambda f: f.offer(["https://\ud800/"]), UnicodeEncodeError),
    (lambda f: f.offer(["https://a.example/"], priority=2**40), ValueError),
    (lambda f: f.offer(["https://a.example/"], depth=-1), ValueError),
    (lambda f: f.offer(["https://a.example/"], depth="1"), TypeError),
    (lambda f: f.offer(["https://a.example/"], note=5), TypeError),
    (lambda f: f.offer(["https://a.example/"], not_before=float("nan")), ValueError),
    (lambda f: f.offer(["https://a.example/"], not_before=float("inf")), ValueError),
    (lambda f: f.offer(["https://a.example/"], not_before=1e300), ValueError),
    (lambda f: f.offer([trawl.Url(None)]), TypeError),
    (lambda f: f.offer([trawl.Url("https://a.example/", not_before="soon")]), TypeError),
    (lambda f: next(iter(f)).complete(recrawl_at=float("nan")), ValueError),
    (lambda f: f.offer(["https://a.example/"], nonsense=1), TypeError),
    (lambda f: f.lease(0), ValueError),
    (lambda f: f.lease(-1), ValueError),
    (lambda f: f.lease(1, -1), ValueError),
    (lambda f: f.lease(1, float("nan")), ValueError),
    (lambda f: f.lease(1, "1"), TypeError),
    (lambda f: f.set_host("a.example", delay=-1), ValueError),
    (lambda f: f.set_host("", delay=1), trawl.InvalidArgumentError),
    (lambda f: f.retry(state="lost"), ValueError),
    (lambda f: f.lookup(5), TypeError),
    (lambda f: next(iter(f)).fail("boredom"), ValueError),
    (lambda f: next(iter(f)).complete(-1), ValueError),
    (lambda f: next(iter(f)).complete(200, links="https://a.example/"), TypeError),
    (lambda f: next(iter(f)).hold(""), trawl.InvalidArgumentError),
    (lambda f: trawl.Frontier(), TypeError),
    (lambda f: trawl.Frontier(""), ValueError),
    (lambda f: trawl.Frontier(5), TypeError),
    (lambda f: trawl.Frontier("a\0b"), ValueError),
    (lambda f: trawl.Frontier(None, delay="1"), TypeError),
    (lambda f: trawl.Frontier(None, no_such_option=1), TypeError),
    (lambda f: trawl.Frontier("/proc/nowhere"), trawl.Error),
    (lambda f: trawl.Lease(), TypeError),
])
def test_wrong_arguments(state, wrong, error):
    with fast(state) as frontier:
        frontier.offer(["https://a.example/0"])
        with pytest.raises(error) as caught:
            wrong(frontier)
        assert str(caught.value)
        assert frontier.stats()["admitted"] == 1, "nothing of a call that failed was admitted"


def test_an_iterable_that_raises_offers_nothing(state):
    def urls():
        yield "https://a.example/"
        raise RuntimeError("mine")

    with fast(state) as frontier:
        with pytest.raises(RuntimeError, match="mine"):
            frontier.offer(urls())
        assert frontier.stats()["admitted"] == 0


def test_an_attribute_that_raises_offers_nothing(state):
    class Mine:
        @property
        def url(self):
            raise RuntimeError("mine")

    with fast(state) as frontier:
        with pytest.raises(RuntimeError, match="mine"):
            frontier.offer(["https://a.example/", Mine()])
        assert frontier.stats()["admitted"] == 0


def test_links_are_one_deeper_than_their_page(state):
    with fast(state, leases_per_host=10) as frontier:
        frontier.offer(["https://a.example/"], depth=4)
        (page,) = frontier.lease()
        page.complete(links=["https://a.example/1", trawl.Url("https://a.example/2"),
                             trawl.Url("https://a.example/3", depth=0)])
        frontier.flush()
        depths = {lease.url[-1]: (lease.depth, lease.parent) for lease in frontier.lease(10)}
    assert depths == {"1": (5, "https://a.example/"), "2": (5, "https://a.example/"),
                      "3": (0, "https://a.example/")}


def test_other_threads_run_while_a_lease_waits(state):
    with fast(state) as frontier:
        frontier.offer(["https://a.example/"])
        (lease,) = frontier.lease()
        waiting = threading.Thread(target=lambda: frontier.lease(1, None))
        waiting.start()
        assert lease.complete() == 0  # from this thread, although the other one waits
        waiting.join(20)
        assert not waiting.is_alive()


def test_asyncio(state):
    async def crawl():
        running = most = 0
        fetched = []

        async def fetch(lease):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            fetched.append(lease.url)
            running -= 1
            if lease.depth == 0:
                lease.complete(200, links=[lease.url + f"/{i}" for i in range(3)])
            else:
                lease.complete()

        async with trawl.aio.Frontier(state, delay=0.001, leases_per_host=3) as frontier:
            frontier.offer([f"https://h{i}.example/x" for i in range(10)])
            tasks = [asyncio.create_task(fetch(lease))
                     async for lease in frontier.leases(concurrency=4)]
            await asyncio.gather(*tasks)
            await frontier.flush()
            assert frontier.sync.progress() == "finished"
            assert await frontier.lease() == []
        return most, fetched

    most, fetched = asyncio.run(crawl())
    assert most <= 4
    assert len(fetched) == len(set(fetched)) == 40


def test_asyncio_waits_without_a_thread(state):
    async def wait():
        async with trawl.aio.Frontier(state, delay=0) as frontier:
            frontier.offer(["https://a.example/1"])
            (first,) = await frontier.lease()
            threads = threading.active_count()
            waiting = asyncio.create_task(frontier.lease())
            await asyncio.sleep(0.05)
            assert not waiting.done() and threading.active_count() == threads
            first.complete(links=["https://b.example/2"])
            (second,) = await asyncio.wait_for(waiting, 20)
            assert second.url == "https://b.example/2"
            second.complete()
    asyncio.run(wait())


def test_asyncio_counts_leases_however_they_end(state):
    """A place is free again after a lease that was ended twice, was dropped, or ends in a thread."""
    async def crawl():
        seen = []
        async with trawl.aio.Frontier(state, delay=0, leases_per_host=10, lease_timeout=0.2) as frontier:
            frontier.offer([f"https://a.example/{i}" for i in range(4)])
            async for lease in frontier.leases(concurrency=1):
                assert isinstance(lease, trawl.Lease)
                seen.append(lease.url)
                if len(seen) == 1:
                    lease.complete()
                    with pytest.raises(trawl.NotFoundError):
                        lease.release()
                elif len(seen) == 2:
                    asyncio.get_running_loop().run_in_executor(None, lease.complete)
                elif len(seen) > 3:  # the third is dropped: it expires, and comes again
                    lease.complete()
                del lease
        return seen

    seen = asyncio.run(asyncio.wait_for(crawl(), 30))
    assert len(seen) == 5 and len(set(seen)) == 4


def test_asyncio_keeps_no_lease_of_a_loop_that_was_left(state):
    async def crawl():
        async with trawl.aio.Frontier(state, delay=0, leases_per_host=10) as frontier:
            frontier.offer([f"https://a.example/{i}" for i in range(10)])
            async for lease in frontier.leases(concurrency=5):
                lease.complete()
                break
            await frontier.flush()
            return frontier.sync.stats()["leased"]

    assert asyncio.run(crawl()) == 0


def test_asyncio_wrong_use(state):
    async def crawl():
        async with trawl.aio.Frontier(state, delay=0) as frontier:
            with pytest.raises(ValueError):
                await frontier.leases(concurrency=0).__anext__()
            frontier.offer(["https://a.example/"])
            (lease,) = await frontier.lease()
            waiting = asyncio.create_task(frontier.lease())
            await asyncio.sleep(0)
        with pytest.raises(trawl.ClosedError):
            await asyncio.wait_for(waiting, 20)
        for call in (lease.complete, lambda: frontier.offer(["https://b.example/"])):
            with pytest.raises(trawl.ClosedError):
                call()
        await frontier.close()

    asyncio.run(crawl())
