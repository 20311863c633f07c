"""What is done to any Python object, and what is wrong with it here: an exception, and never a crash."""

import asyncio
import copy
import inspect
import os
import pickle
import subprocess
import sys
import textwrap

import pytest

import trawl
import trawl.aio

FILTERS = (trawl.BloomFilter, trawl.BlockedBloomFilter, trawl.ClassicBloomFilter, trawl.CountingBloomFilter,
           trawl.CuckooFilter)


def run(code, *arguments, python=sys.executable):
    return subprocess.run([python, "-X", "dev", "-c", textwrap.dedent(code), *map(str, arguments)],
                          capture_output=True, text=True, timeout=60, check=False)


def test_nothing_is_pickled_or_copied():
    frontier = trawl.Frontier(None)
    frontier.offer(["https://a.example/"])
    objects = [frontier, *frontier.lease(), trawl.aio.Frontier(None), trawl.Canonicalizer(), trawl.Robots("")]
    objects += [kind(100) for kind in FILTERS]
    for each in objects:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="cannot pickle or copy"):
                pickle.dumps(each, protocol)
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot pickle or copy"):
                copied(each)


@pytest.mark.parametrize("call", [
    lambda text: trawl.Canonicalizer([text]),
    lambda text: trawl.filter_size(text, 10, 0.1),
    lambda text: trawl.extract_links("", kinds=[text]),
    lambda text: trawl.BloomFilter.open(b"/nowhere/" + text.replace(b"\0", b"")),
    lambda text: trawl.Frontier(None).host(text),
    lambda text: trawl.resolve(text),
])
def test_messages_can_be_printed(call):
    """Though what they quote has zero bytes, or is not UTF-8."""
    with pytest.raises((trawl.Error, ValueError)) as caught:
        call(b"wrong\0\xff\xfe")
    assert "wrong" in str(caught.value)
    assert r"\xff\xfe" in str(caught.value)
    str(caught.value).encode("utf-8")


def test_exceptions_of_numbers_are_kept():
    class Mine:
        def __index__(self):
            raise KeyError("mine")

        def __float__(self):
            raise KeyError("mine")

    frontier = trawl.Frontier(None)
    for call in (lambda: frontier.offer(["https://a.example/"], depth=Mine()),
                 lambda: frontier.offer([trawl.Url("https://a.example/", priority=Mine())]),
                 lambda: frontier.lease(1, Mine()), lambda: trawl.BloomFilter(Mine()),
                 lambda: trawl.BloomFilter(10, Mine()), lambda: trawl.bloom_bits(10, Mine())):
        with pytest.raises(KeyError, match="mine"):
            call()
    assert frontier.stats()["admitted"] == 0


@pytest.mark.parametrize("wrong, name", [
    (lambda f: f.lease(1, 10**400), "wait"),
    (lambda f: f.set_host("a.example", delay=10**400), "delay"),
    (lambda f: f.offer(["https://a.example/"], not_before=10**400), "not_before"),
    (lambda f: f.hosts(limit=0), "limit"),
    (lambda f: trawl.Frontier(None, delay=10**400), "delay"),
    (lambda f: trawl.BloomFilter(10, 10**400), "false_positive_rate"),
    (lambda f: trawl.bloom_bits(-1, 0.1), "keys"),
    (lambda f: trawl.bloom_bits(10, 0), "rate"),
    (lambda f: trawl.bloom_bits(10, 1.5), "rate"),
    (lambda f: trawl.bloom_bits(float("nan"), 0.1), "keys"),
    (lambda f: trawl.bloom_hashes(-1), "bits_per_key"),
    (lambda f: trawl.bloom_rate(10, 0, 1), "bits"),
    (lambda f: trawl.bloom_rate(10, 100, float("inf")), "hashes"),
])
def test_numbers_out_of_range_are_named(wrong, name):
    with pytest.raises(ValueError, match=name):
        wrong(trawl.Frontier(None))


@pytest.mark.parametrize("memory", [0, 2**50 + 1, 2**62])
def test_memory_out_of_range_is_named(memory, tmp_path):
    with pytest.raises(trawl.InvalidArgumentError, match="max_memory must be from 67108864 to 1125899906842624"):
        trawl.Frontier(tmp_path / "state", max_memory=memory)


def test_a_short_delay_is_not_none():
    with trawl.Frontier(None, delay=0) as frontier:
        frontier.set_host("a.example", delay=0.0001)
        assert frontier.host("a.example")["delay"] == 0.001


def test_subclasses_have_arguments_of_their_own(tmp_path):
    class Mine(trawl.Frontier):
        def __init__(self, name, *, speed):
            super().__init__(tmp_path / name, delay=1 / speed)
            self.speed = speed

    with Mine("state", speed=1000) as frontier:
        assert frontier.speed == 1000
        with pytest.raises(trawl.InUseError):
            Mine("state", speed=1000)
    for kind in FILTERS:
        class Seen(kind):
            def __init__(self, keys):
                super().__init__(100, 0.001)
                self.update(keys)

            def save(self, path):
                return super().save(path)

        seen = Seen(["a", "b"])
        assert "a" in seen and len(seen) == 2 and seen.save(tmp_path / "keys") > 0
        assert isinstance(Seen.open(tmp_path / "keys"), Seen)
    key = type("Key", (trawl.Canonicalizer,), {})(["sort_query"]).key("https://a.example/?b=1&a=2")
    assert key == "https://a.example/?a=2&b=1"
    assert type("Rules", (trawl.Robots,), {})("User-agent: *\nDisallow: /").allowed("me", "https://a.example/") is False


@pytest.mark.parametrize("kind, call", [
    (trawl.Frontier, lambda f: f.offer([])), (trawl.Frontier, lambda f: f.close()),
    *((each, lambda f: f.add("a")) for each in FILTERS), *((each, len) for each in FILTERS),
    *((each, lambda f: "a" in f) for each in FILTERS), (trawl.BloomFilter, lambda f: f.update(["a"])),
    (trawl.BlockedBloomFilter, lambda f: trawl.BlockedBloomFilter(10).merge(f)), (trawl.CuckooFilter, lambda f: f.remove("a")),
    (trawl.BloomFilter, lambda f: f.save("nowhere")), (trawl.BloomFilter, lambda f: f.stats()),
    (trawl.Canonicalizer, lambda f: f.key("https://a.example/")), (trawl.Robots, lambda f: f.sitemaps())])
def test_objects_that_were_not_made(kind, call):
    class Mine(kind):
        def __init__(self):  # pylint: disable=super-init-not-called
            pass

    for unmade in (Mine(), kind.__new__(kind)):
        with pytest.raises(RuntimeError, match="super"):
            call(unmade)


def test_objects_are_made_once():
    for made, arguments in ((trawl.Frontier(None), (None,)), (trawl.Robots(""), ("",)),
                            (trawl.Canonicalizer(), ()), *((kind(10), (10,)) for kind in FILTERS)):
        with pytest.raises(RuntimeError, match="already"):
            made.__init__(*arguments)


def test_names_of_arguments():
    """As the stubs have them: those that are not positional can be named."""
    robots = trawl.Robots(text="User-agent: *\nDisallow: /b")
    assert not robots.allowed(agent="me", url="https://a.example/b")
    assert trawl.resolve(url="b", base="https://a.example/") == "https://a.example/b"
    assert trawl.bloom_bits(keys=1, rate=0.5) == trawl.bloom_bits(1, 0.5)
    assert trawl.filter_size(kind="classic", capacity=10, rate=0.1) == trawl.filter_size("classic", 10, 0.1)
    assert trawl.filter_capacity(kind="classic", rate=0.1, bits=512) == trawl.filter_capacity("classic", 0.1, 512)
    assert trawl.filter_rate(kind="classic", keys=9, bits=512) == trawl.filter_rate("classic", 9, 512)
    assert "wait" in inspect.signature(trawl.Frontier.offer).parameters


def test_a_child_that_leaves_the_block_ends_as_it_wants(tmp_path):
    done = run("""
        import os, sys, trawl
        with trawl.Frontier(sys.argv[1]) as frontier:
            pid = os.fork()
            if pid == 0:
                sys.exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            frontier.offer(["https://a.example/"])
    """, tmp_path / "state")
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)


def test_a_closed_frontier_is_not_entered():
    frontier = trawl.Frontier(None)
    frontier.close()
    with pytest.raises(trawl.ClosedError):
        frontier.__enter__()


@pytest.mark.parametrize("before", ["import trawl", "pass"])
def test_other_interpreters_are_refused(before):
    done = run("""
        import sys
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            sys.exit(5)
        exec(sys.argv[1])
        other = interpreters.create()
        interpreters.run_string(other, '''if True:
            try:
                import trawl
            except ImportError as error:
                print(error)
        ''')
        import trawl
        assert trawl.Frontier(None).offer(["https://a.example/"])[0] is trawl.Admission.NEW
        interpreters.destroy(other)
    """, before)
    if done.returncode == 5:
        pytest.skip("this Python has no module for interpreters")
    assert done.returncode == 0, done.stderr
    assert "subinterpreters" in done.stdout


def test_asyncio_has_one_loop_after_the_other():
    """The waits of the second loop end by its own eventfd, not by the time until the next look."""
    frontier = trawl.aio.Frontier(None, delay=0)

    async def crawl(number):
        frontier.offer([f"https://a.example/{number}"])
        (lease,) = await frontier.lease()
        waiting = asyncio.create_task(frontier.lease())
        await asyncio.sleep(0)  # it waits for the end of the lease
        lease.complete()
        return await asyncio.wait_for(waiting, 20)

    for number in range(3):
        assert asyncio.run(crawl(number)) == []
    asyncio.run(frontier.close())
    with pytest.raises(trawl.ClosedError):
        asyncio.run(frontier.lease())


def test_asyncio_refuses_a_second_loop_meanwhile():
    frontier = trawl.aio.Frontier(None)

    async def crawl():
        async with frontier:
            await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(frontier.lease()))

    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(crawl())
    assert frontier.sync.closed


def test_asyncio_goes_on_after_a_wait_was_cancelled():
    async def crawl():
        async with trawl.aio.Frontier(None, delay=0) as frontier:
            frontier.offer(["https://a.example/1", "https://a.example/2"])
            (first,) = await frontier.lease()
            waiting = asyncio.create_task(frontier.lease())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            first.complete()
            (second,) = await frontier.lease()
            second.complete()
            return await frontier.lease()

    assert asyncio.run(crawl()) == []


@pytest.mark.parametrize("call", [
    "seen.add(key)", "key in seen", "seen.update(keys)", "seen.add_many(iter(keys))", "seen.stats()",
    "refused(lambda: seen.update([key, 5]))", "frontier.offer(keys)", "frontier.offer([trawl.Url(key, note='n')])",
    "refused(lambda: frontier.offer([key, trawl.Url(key, priority='1')]))", "frontier.lookup(key)",
    "[(lease.renew(), lease.fetched(), lease.release()) for lease in frontier.lease(2)]", "frontier.hosts()",
    "refused(lambda: frontier.host('no.example'))", "trawl.resolve('b', key)", "refused(lambda: trawl.resolve(''))",
    "trawl.extract_links('<a href=b>c</a>', key, texts=True)", "trawl.Robots('Sitemap: ' + key).sitemaps()",
    "trawl.parse_sitemap(f'<urlset><url><loc>{key}</loc></url></urlset>', key)", "trawl.CuckooFilter(100)",
    "refused(lambda: trawl.BloomFilter(-1))", "trawl.filter_size('classic', 10, 0.1)",
    "refused(lambda: trawl.Canonicalizer(['wrong']))", "trawl.Canonicalizer(['sort_query']).key(key)"])
def test_nothing_leaks(call):
    def refused(wrong):
        with pytest.raises((trawl.Error, ValueError, TypeError)):
            wrong()

    keys = [f"https://a.example/{number}" for number in range(4)]
    seen = trawl.BloomFilter()
    frontier = trawl.Frontier(None, delay=0)
    frontier.offer(keys)
    space = {"trawl": trawl, "seen": seen, "frontier": frontier, "keys": keys, "key": keys[0], "refused": refused}
    code = compile(call, call, "eval")
    blocks = []
    for _ in range(3):
        for _ in range(200):
            eval(code, space)  # pylint: disable=eval-used
        blocks.append(sys.getallocatedblocks())
    assert blocks[2] - blocks[1] < 100, blocks
