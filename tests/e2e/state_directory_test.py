"""In a state directory, files of others are never overwritten, followed or deleted."""

import hashlib
import os
import pathlib
import shutil
import signal

import trawl_testing as t
from resume_test import TreeServer, check_all


def tree(directory):
    """Each file below, with what is in it; LOCK has but the number of a process."""
    found = {}
    for path in sorted(pathlib.Path(directory).rglob("*")):
        if path.name == "LOCK" and path.is_file() and path.read_bytes().isdigit():
            continue
        if path.suffix == ".log" and path.name.startswith("run-"):
            continue
        what = path.readlink() if path.is_symlink() else "a directory"
        if path.is_file() and not path.is_symlink():
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(directory))] = what
    return found


class Case:
    """A directory with a config, whose state is to lie in `state` of it."""

    def __init__(self, test, directory, options, server, name, state="state", **tables):
        self.test, self.options, self.server, self.name = test, options, server, name
        self.directory = directory / name
        self.directory.mkdir()
        self.runs = directory / f"{name}-runs"
        self.runs.mkdir()
        self.state = (self.directory / state).absolute()
        self.config = t.write_config(directory / f"{name}.toml",
                                     t.fast_crawl([server.url()], self.state, **tables))

    def run(self, *arguments):
        return t.run(self.options, self.runs, *arguments)

    def crawl(self, *arguments, what="a crawl"):
        finished = self.run("crawl", self.config, *arguments)
        t.expect_exit(self.test, finished, t.EXIT_DONE, f"{self.name}: {what}")
        return finished

    def refused(self, what, *patterns, arguments=("crawl",)):
        """It fails and says why, and nothing is changed or made."""
        before = tree(self.directory)
        finished = self.run(arguments[0], self.config, *arguments[1:])
        what = f"{self.name}: {what}, {' '.join(arguments)}"
        self.test.check(finished.exit_code in (t.EXIT_FAILURE, t.EXIT_BAD_CONFIG),
                        f"{what}: exit code {finished.exit_code}", finished.tail())
        for pattern in patterns:
            self.test.check(pattern in finished.text, f"{what}: no {pattern!r} in the message",
                            finished.tail())
        after = tree(self.directory)
        self.test.check(after == before, f"{what}: changed",
                        "\n".join(sorted(map(str, set(before.items()) ^ set(after.items())))))

    def put(self, name, text="mine\n"):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def config_in_its_own_state(test, directory, options, server):
    """state_dir = ".", with a config named crawl.toml: it is not written over."""
    case = Case(test, directory, options, server, "own-config")
    text = f'[crawl]\nseeds = ["{server.url()}"]\nstate_dir = "."\n'
    case.put("crawl.toml", text)
    for command in (["crawl"], ["crawl", "--fresh"], ["resume"]):
        finished = t.run(options, case.directory, command[0], "crawl.toml", *command[1:])
        for log in case.directory.glob("run-*.log"):
            log.unlink()
        test.check(finished.exit_code == t.EXIT_FAILURE, f"state_dir = \".\": {command}",
                   finished.exit_code)
        test.check(tree(case.directory).keys() == {"crawl.toml"}, f"{command} left files",
                   tree(case.directory))
        test.check((case.directory / "crawl.toml").read_text() == text, f"{command} wrote over it")


def others_directories(test, directory, options, server):
    files = ["notes.txt", "content/post.md", "store/goods.csv", "store/000001.log",
             "store/CURRENT", "MANIFEST", "MANIFEST.removed", "LOCK", "crawl.toml",
             "filter-000001.ckpt", "fetched-bytes", "output/pages.jsonl", "output/mine",
             "output.1/pages.jsonl", ".hidden"]
    for number, name in enumerate(files):
        case = Case(test, directory, options, server, f"others-{number}", state=".")
        case.put(name)
        for arguments in (("crawl",), ("crawl", "--fresh"), ("resume",)):
            case.refused(name, str(case.state), arguments=arguments)
        if name != "output/pages.jsonl":
            loaded = t.run(options, case.runs, "frontier", "load", case.state, "/dev/null")
            test.check(loaded.exit_code in (t.EXIT_FAILURE, t.EXIT_BAD_CONFIG),
                       f"frontier load next to {name}",
                       loaded.tail())
            test.check(tree(case.directory).keys() <= {name, *map(str, pathlib.Path(name).parents)},
                       f"frontier load next to {name} left files", tree(case.directory))
    empty = Case(test, directory, options, server, "folder", state=".")
    (empty.directory / "docs").mkdir()
    empty.refused("an empty folder of others", "docs")


def taken_directories(test, directory, options, server):
    """Directories with nothing of others in them."""
    for number, names in enumerate([[], ["lost+found"], ["output"], ["lost+found", "output"]]):
        for arguments in ([], ["--fresh"]):
            case = Case(test, directory, options, server, f"taken-{number}{''.join(arguments)}")
            case.state.mkdir()
            for name in names:
                (case.state / name).mkdir()
            case.crawl(*arguments, what=f"in a directory with {names}")
            check_all(test, server, case.state, f"in a directory with {names}")
    log = Case(test, directory, options, server, "log", log={
        "file": str(directory / "log" / "state" / "logs" / "crawl.log")})
    log.crawl(what="with its log in the state directory")
    log.crawl("--fresh", what="with its log in the state directory, again")
    elsewhere = Case(test, directory, options, server, "elsewhere", output={
        "directory": str(directory / "elsewhere" / "state" / "deep" / "pages")})
    (elsewhere.state / "deep" / "pages").mkdir(parents=True)
    elsewhere.crawl(what="with an output directory that is there")
    # A process that was killed before it had made its state.
    for mark in (False, True):
        what = f"after a crawl that was killed {'while' if mark else 'before'} it made its store"
        killed = Case(test, directory, options, server, f"killed-{mark}")
        (killed.state / "store").mkdir(parents=True)
        (killed.state / "LOCK").write_text("12345")
        if mark:
            (killed.state / "store" / "UNFINISHED").write_text("")
        killed.crawl(what=what)
        check_all(test, server, killed.state, what)


def others_config(test, directory, options, server):
    case = Case(test, directory, options, server, "config")
    case.crawl("--set", "scope.max_pages=3")
    saved = case.state / "crawl.toml"
    written = saved.read_text()
    saved.write_text(case.config.read_text())
    for arguments in (("resume",), ("crawl",), ("crawl", "--fresh")):
        case.refused("a crawl.toml of others", str(saved), arguments=arguments)
    # One that Trawl wrote, and somebody changed.
    saved.write_text(written.replace("[scope]\n", "[scope]\nmax_pages = 5\n"))
    t.expect_exit(test, case.run("resume", case.state), t.EXIT_DONE, "resumed by an edited config")
    test.check(len(t.read_pages(test, case.state)) == 5, "the edited config does not count")
    # One from before it had a head.
    head, rest = written.split("\n", 1)
    test.check(head.startswith("# "), "no head", head)
    saved.write_text(rest)
    t.expect_exit(test, case.run("resume", case.config), t.EXIT_DONE, "resumed with an old config")
    check_all(test, server, case.state, "resumed with an old config")


def symbolic_links(test, directory, options, server):
    outputs = {"links": True, "skipped": True, "warc": True}
    victims = directory / "victims"
    victims.mkdir()
    for number, name in enumerate(["output", "output/pages.jsonl", "output/links.jsonl",
                                   "output/skipped.jsonl", "output/.trawl.lock", "LOCK",
                                   "content", "store", "crawl.toml"]):
        case = Case(test, directory, options, server, f"link-{number}", output=outputs)
        case.crawl("--set", "scope.max_pages=3", what="to begin with")
        victim = victims / str(number)
        place = case.state / name
        if place.is_dir():
            place.rename(victim)
        else:
            victim.write_text("mine\n")
            place.unlink(missing_ok=True)
        place.symlink_to(victim)
        before = tree(victims)
        resumed = case.run("resume", case.config)
        test.check(resumed.exit_code == t.EXIT_FAILURE, f"{name} is a link: {resumed.exit_code}",
                   resumed.tail())
        test.check(str(place) in resumed.text, f"{name} is not named", resumed.tail())
        case.run("crawl", case.config, "--fresh")
        test.check(tree(victims) == before, f"a link at {name} was followed",
                   set(before.items()) ^ set(tree(victims).items()))
    # A directory that the user named is taken, wherever it leads.
    case = Case(test, directory, options, server, "named-link",
                output={"directory": str(directory / "named-link" / "out")})
    (case.directory / "disk").mkdir()
    (case.directory / "out").symlink_to("disk")
    case.crawl()
    test.check((case.directory / "disk" / "pages.jsonl").stat().st_size > 0, "no pages")


def fresh_keeps_others(test, directory, options, server):
    case = Case(test, directory, options, server, "fresh", output={"warc": True, "links": True})
    case.crawl()
    mine = [case.state / name for name in ("mine.txt", "content/post.md", "store/goods.csv",
                                           "docs/a.md", "filter-1.ckpt")]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine\n")
    (case.state / "output" / "notes.txt").write_text("mine\n")
    before = tree(case.state / "output")
    test.check(any(name.endswith(".warc.gz") for name in before), "no WARC file", before)
    for number in (1, 2):
        renamed = case.state / f"output.{number}"
        again = case.crawl("--fresh")
        test.check(f"renamed {case.state}/output to {renamed}\n" in again.text,
                   "it does not say what it renamed", again.tail())
        test.check(f"deleted the crawl in {case.state}: MANIFEST, " in again.text and
                   "store" in again.text, "it does not say what it deleted", again.tail())
        test.check(tree(renamed) == before, "the old output changed",
                   set(tree(renamed).items()) ^ set(before.items()))
        for path in mine:
            test.check(path.exists() and path.read_text() == "mine\n", f"{path} is gone")
        check_all(test, server, case.state, "afresh")
        # No database yet: what it knew about bodies was in CLAIMS alone.
        test.check(not (case.state / "content" / "CURRENT").exists(), "a database for a few bodies")
        copies = [page["url"] for page in t.read_pages(test, case.state) if page["duplicate_of"]]
        test.check(not copies, "--fresh leaves what it knew about bodies", copies)
        before = tree(case.state / "output")
    test.check("notes.txt" in tree(case.state / "output.1"), "the notes are not in output.1")


def fresh_after_a_kill(test, directory, options, server):
    """WARC files that were left open are closed before they are moved away."""
    case = Case(test, directory, options, server, "killed-warc", output={"warc": True},
                politeness={"delay": "100ms", "per_host_connections": 1})
    started = t.Run(options, case.runs, "crawl", case.config)
    pages = case.state / "output" / "pages.jsonl"
    t.wait_until(lambda: pages.exists() and pages.read_bytes().count(b"\n") > 2, "pages")
    started.signal(signal.SIGKILL)
    started.wait()
    case.crawl("--fresh")
    names = tree(case.state / "output.1").keys()
    test.check(any(name.endswith(".warc.gz") for name in names) and
               not any(name.endswith(".open") for name in names), "left open", sorted(names))
    check_all(test, server, case.state, "afresh after a kill")


def fresh_checks_first(test, directory, options, server):
    base = directory / "checked"
    case = Case(test, directory, options, server, "checked")
    case.crawl()
    other = Case(test, directory, options, server, "other-pages",
                 output={"directory": str(base / "shared")})
    other.crawl()
    (base / "file").write_text("mine\n")
    (base / "linked").mkdir()
    (base / "linked" / "pages.jsonl").symlink_to(base / "file")
    for setting, pattern in (
            (f'output.directory="{base}/shared"', "another crawl"),
            (f'output.directory="{base}/file/output"', "file"),
            (f'output.directory="{base}/file"', "file"),
            (f'output.directory="{base}/linked"', "symbolic link"),
            (f'log.file="{base}/file/log"', "log.file"),
            (f'scope.blocklist=["{base}/no-such.txt"]', "no-such.txt"),
            ("fetch.connections=no", "fetch.connections")):
        case.refused(f"--set {setting}", pattern,
                     arguments=("crawl", "--fresh", "--set", setting))
    # The crawl that writes there continues.
    slow = Case(test, directory, options, server, "slow", politeness={
        "delay": "20s", "per_host_connections": 1})
    running = t.Run(options, slow.runs, "crawl", slow.config)
    t.wait_until(lambda: (slow.state / "output" / "pages.jsonl").exists(), "a crawl that runs")
    refused = slow.run("crawl", slow.config, "--fresh")
    test.check(refused.exit_code == t.EXIT_FAILURE and "in use" in refused.text,
               "--fresh while a crawl runs", refused.tail())
    test.check((slow.state / "MANIFEST").exists() and not (slow.state / "output.1").exists(),
               "--fresh touched a crawl that runs", tree(slow.state).keys())
    running.kill()


def fresh_with_shared_places(test, directory, options, server):
    """An output directory that cannot be renamed as a whole."""
    case = Case(test, directory, options, server, "around", state="crawl/state",
                output={"directory": str(directory / "around" / "crawl")})
    case.put("crawl/notes.txt")
    case.crawl()
    pages = (case.directory / "crawl" / "pages.jsonl").read_bytes()
    again = case.crawl("--fresh")
    moved = case.directory / "crawl" / "output.1"
    test.check((moved / "pages.jsonl").read_bytes() == pages, "the pages are not in output.1")
    test.check(str(moved) in again.text, "it does not say where the pages are", again.tail())
    test.check((case.directory / "crawl" / "notes.txt").exists(), "notes are gone")
    # Output elsewhere is renamed where it is.
    case = Case(test, directory, options, server, "apart",
                output={"directory": str(directory / "apart" / "out")})
    case.crawl()
    case.crawl("--fresh")
    test.check((case.directory / "out.1" / "pages.jsonl").exists(), "no out.1")
    # A copy of a state directory has no say in the output of the original.
    copy = Case(test, directory, options, server, "copy",
                output={"directory": str(directory / "apart" / "out")})
    shutil.copytree(case.state, copy.state)
    copy.refused("a copy", "another crawl", arguments=("crawl", "--fresh"))


def fresh_interrupted(test, directory, options, server):
    """What is left of a --fresh that was killed on its way."""
    for number, left in enumerate([["crawl.toml"], ["crawl.toml", "LOCK", "store"],
                                   ["MANIFEST.removed", "LOCK", "store", "crawl.toml"],
                                   ["LOCK", "store", "crawl.toml", "content"]]):
        for arguments in ([], ["--fresh"]):
            case = Case(test, directory, options, server, f"cut-{number}{''.join(arguments)}")
            case.crawl()
            if "MANIFEST.removed" in left:
                (case.state / "MANIFEST").rename(case.state / "MANIFEST.removed")
            for path in case.state.iterdir():
                if path.name not in left:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not arguments and "store" in left and "MANIFEST.removed" not in left:
                lost = case.run("crawl", case.config)
                test.check("no MANIFEST" in lost.text, "a lost MANIFEST", lost.tail())
                continue
            case.crawl(*arguments, what=f"with what is left: {left}")
            check_all(test, server, case.state, f"with what is left: {left}")


def state_directory(test, directory, options):
    server = TreeServer()
    os.umask(0o022)
    try:
        for part in (config_in_its_own_state, others_directories, taken_directories,
                     others_config, symbolic_links, fresh_keeps_others, fresh_after_a_kill,
                     fresh_checks_first, fresh_with_shared_places, fresh_interrupted):
            print(part.__name__, flush=True)
            part(test, directory, options, server)
    finally:
        server.stop()


if __name__ == "__main__":
    t.main(state_directory, t.parser(__doc__).parse_args())
