"""The filters: their files and sizes are those of the C++ ones, which `trawl filter` has."""

import json
import math
import threading

import pytest

import trawl

KINDS = {
    "growing": trawl.BloomFilter,
    "blocked": trawl.BlockedBloomFilter,
    "classic": trawl.ClassicBloomFilter,
    "counting": trawl.CountingBloomFilter,
    "cuckoo": trawl.CuckooFilter,
}
KEYS = [f"key {i} \N{SNOWMAN}" for i in range(900)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_key_after_another(kind):
    seen = KINDS[kind](1000, 1e-3)
    assert seen.add("a") is True
    assert seen.add("a") is False
    assert seen.add(b"a") is False, "str is UTF-8"
    assert "a" in seen and b"a" in seen and "b" not in seen
    assert len(seen) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 10, 900])
def test_batches(kind, count):
    seen = KINDS[kind](1000, 1e-4)
    keys = KEYS[:count]
    assert seen.update(iter(keys)) == count
    assert seen.update(keys) == 0
    assert seen.add_many(keys[:3] + ["new"]) == bytes([0] * min(count, 3) + [1])
    assert seen.contains_many(keys + ["not there"]) == bytes([1] * count + [0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_program_reads_its_file(kind, ask, tmp_path):
    seen = KINDS[kind](1000, 1e-3)
    seen.update(KEYS)
    path = tmp_path / "keys.filter"
    assert seen.save(path) == path.stat().st_size
    candidates = KEYS[::7] + [f"other {i}" for i in range(300)]
    expected = ask("filter", "check", path, lines=candidates, codes=(0, 1))
    assert [key for key in candidates if key in seen] == expected
    again = KINDS[kind].open(str(path))
    assert len(again) == len(seen) and again.stats()["capacity"] == seen.stats()["capacity"]
    assert again.contains_many(KEYS) == bytes([1] * len(KEYS))


@pytest.mark.parametrize("kind", KINDS)
def test_it_reads_the_programs_file(kind, ask, tmp_path):
    path = tmp_path / "built.filter"
    ask("filter", "build", "-o", path, "--kind", kind, "--capacity", 1000, "--fpr", 1e-3, lines=KEYS)
    seen = KINDS[kind].open(path)
    candidates = KEYS + [f"other {i}" for i in range(2000)]
    assert [key for key in candidates if key in seen] == ask("filter", "check", path, lines=candidates)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes(kind, ask):
    (table,) = json.loads("\n".join(
        ask("filter", "size", "--capacity", 12345, "--fpr", 1e-4, "--json")))["tables"]
    (shown,) = [each for each in table["filters"] if each["kind"] == kind]
    size = trawl.filter_size(kind, 12345, 1e-4)
    assert size["bits"] == shown["bits"] and math.isclose(size["rate"], shown["rate"])
    if kind != "growing":
        assert KINDS[kind](12345, 1e-4).stats()["memory"] == size["memory"]
    assert trawl.filter_capacity(kind, 1e-4, size["bits"]) >= 12345
    assert trawl.filter_rate(kind, 12345, size["bits"]) <= 1.01e-4


def test_formulas():
    assert math.isclose(trawl.bloom_bits(1000, 1e-2), -1000 * math.log(1e-2) / math.log(2) ** 2)
    assert math.isclose(trawl.bloom_hashes(10), 10 * math.log(2))
    assert math.isclose(trawl.bloom_rate(1000, 10000, 7), (1 - math.exp(-0.7)) ** 7)


def test_equal_hash_keys_merge():
    key = bytes(range(16))
    first, second = (trawl.BlockedBloomFilter(1000, 1e-3, hash_key=key) for _ in range(2))
    first.add("a")
    second.add("b")
    first.merge(second)
    assert "a" in first and "b" in first
    with pytest.raises(trawl.InvalidArgumentError):
        first.merge(trawl.BlockedBloomFilter(1000, 1e-3))
    with pytest.raises(TypeError):
        first.merge(trawl.ClassicBloomFilter(1000, 1e-3))
    with pytest.raises(ValueError, match="16 bytes"):
        trawl.BlockedBloomFilter(hash_key=b"short")


@pytest.mark.parametrize("kind", ["counting", "cuckoo"])
def test_removal(kind):
    seen = KINDS[kind](100, 1e-3)
    seen.add("a")
    assert seen.remove("a") is True and "a" not in seen
    assert seen.remove("a") is False


def test_a_full_cuckoo_filter_says_so():
    seen = trawl.CuckooFilter(10, 1e-3)
    with pytest.raises(trawl.NoSpaceError) as caught:
        for i in range(10_000):
            seen.add(str(i))
    assert isinstance(caught.value, OSError)


def test_a_growing_filter_keeps_its_rate():
    seen = trawl.BloomFilter(100, 1e-2)
    seen.update(f"in {i}" for i in range(20_000))
    wrong = sum(seen.contains_many([f"out {i}" for i in range(20_000)]))
    assert wrong < 20_000 * 1e-2 * 1.5 and seen.stats()["layers"] > 1


def test_of_all_threads_one_adds_a_key():
    seen = trawl.BloomFilter(100_000, 1e-9)
    keys = [f"key {i}" for i in range(20_000)]
    new = []
    threads = [threading.Thread(target=lambda: new.append(seen.update(keys))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == len(keys)


@pytest.mark.parametrize("wrong, error", [
    (lambda: trawl.BloomFilter(0), ValueError),
    (lambda: trawl.BloomFilter(-1), ValueError),
    (lambda: trawl.BloomFilter(2**70), ValueError),
    (lambda: trawl.BloomFilter(10, 2.0), ValueError),
    (lambda: trawl.BloomFilter(10, float("nan")), ValueError),
    (lambda: trawl.BloomFilter("10"), TypeError),
    (lambda: trawl.BloomFilter(10, "0.1"), TypeError),
    (lambda: trawl.BloomFilter(wrong=1), TypeError),
    (lambda: trawl.BloomFilter().add(5), TypeError),
    (lambda: trawl.BloomFilter().add(None), TypeError),
    (lambda: trawl.BloomFilter().add("\ud800"), UnicodeEncodeError),
    (lambda: 5 in trawl.BloomFilter(), TypeError),
    (lambda: trawl.BloomFilter().update("abc"), TypeError),
    (lambda: trawl.BloomFilter().update(5), TypeError),
    (lambda: trawl.BloomFilter().update(["a", 5]), TypeError),
    (lambda: trawl.BloomFilter().save(5), TypeError),
    (lambda: trawl.BloomFilter().save("a\0b"), ValueError),
    (lambda: trawl.BloomFilter.open("/nowhere/at/all"), trawl.NotFoundError),
    (lambda: trawl.BloomFilter().save("/nowhere/at/all"), trawl.Error),
    (lambda: trawl.filter_size("square", 10, 0.1), ValueError),
    (lambda: trawl.filter_size("classic", 0, 0.1), ValueError),
    (lambda: trawl.filter_size("growing", 2**64 + 5, 0.1), ValueError),
    (lambda: trawl.filter_size("growing", -1, 0.1), ValueError),
    (lambda: trawl.filter_capacity("growing", 0.1, 2**70), ValueError),
    (lambda: trawl.filter_rate("growing", -5, 100), ValueError),
])
def test_wrong_arguments(wrong, error):
    with pytest.raises(error) as caught:
        wrong()
    assert str(caught.value)


def test_an_iterable_that_raises_adds_nothing():
    seen = trawl.BloomFilter()

    def keys():
        yield "a"
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        seen.update(keys())
    assert len(seen) == 0


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "damaged"
    seen = trawl.BloomFilter(1000)
    seen.update(KEYS)
    seen.save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(trawl.CorruptError, match="damaged"):
        trawl.BloomFilter.open(path)
    with pytest.raises(trawl.Error, match="damaged"):
        trawl.CuckooFilter.open(path)
