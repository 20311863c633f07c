#!/usr/bin/env python3
"""What of a new URL's CPU time only one thread at a time can do: the commit, part by part.

    bench/serial_parts.py build/release/bench/frontier_bench [--urls N] [--threads N]

Runs `frontier_bench --only new` under perf (with call chains of DWARF; the cpu-clock, so that waiting
does not count) and prints, for each part, ns a URL and its share of all CPU time of the process, RocksDB's
threads and the making of the URLs included. A sample belongs to the first part that a function of its call
chain names. Profiling itself adds to system calls and switches, so parts are rather too large than too
small.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

COMMIT = "CommitQueue::commit_group"
# Of samples within COMMIT; the innermost first.
SERIAL = (
    ("RocksDB's log: write() and writing back", ("ksys_write", "sync_file_range", "RangeSync", "fallocate")),
    ("RocksDB's log: the rest", ("WriteToWAL",)),
    ("RocksDB's memtables", ("WriteBatchInternal::InsertInto",)),
    ("new memtables and log files", ("DBImpl::PreprocessWrite",)),
    ("RocksDB's batch", ("RocksDatabase::write",)),
    ("passing to the shards", ("FrontierImpl::after_commit",)),
    ("making the group's batch", ("GroupWriter::write",)),
    ("collecting the group", ("CommitQueue::collect",)),
    ("answering, freeing, the rest", (COMMIT,)),
)
# Of the others.
PARALLEL = (
    ("the shards' inboxes (by shard)", ("ShardState::take_inbox",)),
    ("sorting memtables (by flush, or by a reader)", ("SortedMemtable::put_in_order",)),
    ("RocksDB's flushes", ("rocksdb:high",)),
    ("RocksDB's compactions", ("rocksdb:low",)),
    ("offers: writing runs to files", ("RunFiles::write",)),
    ("offers: parsing, hashing, filter, records", ("FrontierImpl::offer",)),
    ("the rest, making URLs included", ("",)),
)


def samples(path):
    """The period in ns of each sample, and the functions of its call chain and its thread's name."""
    script = subprocess.run(
        ["perf", "script", "-i", path, "--no-inline", "-F", "comm,period,ip,sym"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for sample in script.split("\n\n"):
        lines = sample.split("\n")
        while lines and not lines[0].strip():
            lines.pop(0)
        if lines:
            thread, period = lines[0].rsplit(None, 1)
            yield int(period), [line.split(None, 1)[-1] for line in lines[1:]] + [thread]


def first_part(parts, chain):
    for name, functions in parts:
        if any(function in called for function in functions for called in chain):
            return name
    return parts[-1][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("--urls", type=int, default=2_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--directory", default=".")
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile(suffix=".perf", dir=options.directory) as data:
        subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1499", "--call-graph", "dwarf,8192", "-o",
             data.name, options.bench.absolute(), "--only", "new", "--urls", str(options.urls), "--threads",
             str(options.threads), "--directory", options.directory],
            check=True, stderr=subprocess.DEVNULL)
        times = {name: 0 for name, _ in SERIAL + PARALLEL}
        for period, chain in samples(data.name):
            serial = any(COMMIT in function for function in chain)
            times[first_part(SERIAL if serial else PARALLEL, chain)] += period
    total = sum(times.values())
    if total == 0:
        sys.exit("perf recorded nothing")

    def row(name, time):
        print(f"  {name:<46} {time / options.urls:6.0f} ns  {100 * time / total:5.1f} %")

    print("one thread at a time")
    for name, _ in SERIAL:
        row(name, times[name])
    row("all", sum(times[name] for name, _ in SERIAL))
    print("several at once")
    for name, _ in PARALLEL:
        row(name, times[name])
    row("all", total)


if __name__ == "__main__":
    main()
