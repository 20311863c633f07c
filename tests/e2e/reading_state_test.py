"""A crawl that one may only read, of another user, on a read-only mount or in a snapshot, can be looked at."""

import fcntl
import json
import os
import re
import shutil
import subprocess

import trawl_testing as t
from resume_test import TreeServer
from state_directory_test import tree

NOBODY = 65534


class Reader:
    def __init__(self, test, directory, options):
        self.test, self.directory = test, directory
        # Where another user can run it.
        directory.chmod(0o755)
        self.program = directory / "trawl-program"
        shutil.copy(options.trawl, self.program)
        self.program.chmod(0o755)

    def look(self, config, state, url, prefix=()):
        """What each command that reads says, without what changes from run to run."""
        said = {}
        for name, arguments in (("stats", ["frontier", "stats", state, "--json"]),
                                ("dump", ["frontier", "dump", state]),
                                ("explain", ["explain", config, url, "--json", "--set",
                                             f'crawl.state_dir="{state}"'])):
            finished = subprocess.run([*prefix, self.program, *arguments], capture_output=True,
                                      cwd="/", timeout=60, check=False)
            self.test.check(finished.returncode == 0, f"{name}: exit code {finished.returncode}",
                            finished.stderr.decode(errors="replace"))
            text = finished.stdout.decode()
            said[name] = re.sub(r'"(directory|disk_bytes|store_bytes|state_dir)": ?("[^"]*"|\d+)', "",
                                text)
        return said


def as_nobody():
    """What runs a command as a user who may not write."""
    if os.geteuid() != 0:
        return []
    return [t.program("setpriv", "util-linux"), f"--reuid={NOBODY}", f"--regid={NOBODY}",
            "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]


def crawled(test, directory, options, server, name, kill):
    """A state directory with pages that wait, ended well or killed."""
    state = directory / name
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], state, fetch={"threads": 1, "connections": 1},
        frontier={"ledger": True}, politeness={"delay": "50ms", "per_host_connections": 1}))
    config.chmod(0o644)
    run = t.Run(options, directory, "crawl", config)
    pages = state / "output" / "pages.jsonl"
    t.wait_until(lambda: pages.exists() and pages.read_bytes().count(b"\n") > 3, "pages")
    run.kill() if kill else run.signal(15)
    run.wait()
    return config, state


def looked_at(test, directory, options, server, reader):
    for kill in (False, True):
        name = "killed" if kill else "stopped"
        config, state = crawled(test, directory, options, server, name, kill)
        copy = directory / f"{name}-copy"
        shutil.copytree(state, copy, ignore=shutil.ignore_patterns("control.sock"))
        before = tree(state)
        expected = reader.look(config, state, server.url("/"))
        test.check(tree(state) == before, f"{name}: looking changed the state",
                   set(before.items()) ^ set(tree(state).items()))
        facts = json.loads(subprocess.run([reader.program, "frontier", "stats", state, "--json"],
                                          capture_output=True, check=True).stdout)
        test.check(facts["completed"] > 0 and facts["queued"] > 0, f"{name}: stats", facts)
        test.check(expected["dump"].count("\n") == facts["queued"] + facts["deferred"],
                   f"{name}: dump", expected["dump"])
        test.check('"found": "read"' in expected["explain"] or
                   '"found":"read"' in expected["explain"], f"{name}: explain", expected["explain"])

        # Of another user.
        said = reader.look(config, state, server.url("/"), as_nobody())
        test.check(said == expected, f"{name}: the report differs for another user", said)
        # A snapshot whose files nobody may write, with and without the file LOCK.
        for path in sorted(copy.rglob("*"), reverse=True):
            path.chmod(0o555 if path.is_dir() else 0o444)
        for locked in (True, False):
            if not locked:
                copy.chmod(0o755)
                (copy / "LOCK").unlink()
            copy.chmod(0o555)
            before = tree(copy)
            said = reader.look(config, copy, server.url("/"), as_nobody())
            test.check(said == expected, f"{name}: a snapshot is reported differently", said)
            said = reader.look(config, copy, server.url("/"))
            test.check(said == expected, f"{name}: a snapshot is reported differently", said)
            test.check(tree(copy) == before and (copy / "LOCK").exists() == locked,
                       f"{name}: looking changed the snapshot")
        for path in [copy, *copy.rglob("*")]:
            path.chmod(0o755)
        # The crawl can be resumed afterwards.
        t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE, name)
        test.check(len(t.keys_of(t.read_pages(test, state))) == len(server.urls), f"{name}: pages")


def read_only_mount(test, directory, options, server, reader):
    config, state = crawled(test, directory, options, server, "mounted", True)
    expected = reader.look(config, state, server.url("/"))
    mounting = ["unshare", "--mount", "sh", "-ec",
                'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"; '
                'if touch "$0/x" 2>/dev/null; then exit 99; fi; shift 0; exec "$@"', state]
    if shutil.which("unshare") is None or subprocess.run(
            [*mounting, "true"], capture_output=True, check=False).returncode != 0:
        print("  left out: cannot mount here")
        return
    said = reader.look(config, state, server.url("/"), mounting)
    test.check(said == expected, "a read-only mount is reported differently", said)


def beside_others(test, directory, options, server, reader):
    """Readers do not keep each other out; a crawl that runs keeps them out."""
    config, state = crawled(test, directory, options, server, "shared", False)
    with open(state / "LOCK", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # as a dump that takes long
        reader.look(config, state, server.url("/"))
        refused = t.run(options, directory, "resume", config)
        test.check(refused.exit_code == t.EXIT_FAILURE and "in use" in refused.text,
                   "a crawl continues under a reader", refused.tail())


def reading_state(test, directory, options):
    server = TreeServer()
    reader = Reader(test, directory, options)
    try:
        for part in (looked_at, read_only_mount, beside_others):
            print(part.__name__, flush=True)
            part(test, directory, options, server, reader)
    finally:
        server.stop()


if __name__ == "__main__":
    t.main(reading_state, t.parser(__doc__).parse_args())
