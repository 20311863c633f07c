"""What the scripts that test the real `trawl` binary share. Python 3.9, standard library only."""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

SKIPPED = 77
UNRESERVED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

EXIT_DONE, EXIT_FAILURE, EXIT_USAGE, EXIT_NO_SPACE = 0, 1, 2, 3
EXIT_BAD_CONFIG, EXIT_INCOMPLETE, EXIT_INTERRUPTED = 4, 5, 11
EXIT_MAX_BYTES, EXIT_MAX_TIME = 14, 15


class Skip(Exception):
    """Something this machine lacks; the test is skipped and says what."""


class Failure(Exception):
    """The test cannot go on."""


class Test:
    """Collects failed checks; prints each when it happens."""

    def __init__(self):
        self.failures = 0
        self.checks = 0

    def check(self, condition, message, detail=""):
        self.checks += 1
        if condition:
            return True
        self.failures += 1
        print(f"FAILED: {message}", flush=True)
        if detail:
            print("    " + str(detail).strip().replace("\n", "\n    "), flush=True)
        return False

    def check_equal_sets(self, got, expected, what):
        missing, extra = sorted(expected - got), sorted(got - expected)
        self.check(not missing, f"{what}: {len(missing)} of {len(expected)} missing",
                   "\n".join(map(str, missing[:20])))
        self.check(not extra, f"{what}: {len(extra)} that should not be there",
                   "\n".join(map(str, extra[:20])))


def parser(description):
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("trawl", help="the trawl binary")
    arguments.add_argument("--keep", action="store_true", help="keep the temporary directory")
    return arguments


def run_parts(test, parts, common=(), at_once=None):
    """Runs all at the same time, `at_once` at most: they mostly wait. A part is a function and what
    it is called with behind `common`, which is left out of the report of a Failure."""
    with concurrent.futures.ThreadPoolExecutor(at_once or len(parts)) as pool:
        started = [(part, more, pool.submit(part, *common, *more)) for part, *more in parts]
        for part, more, done in started:
            try:
                done.result()
            except Failure as failure:
                test.check(False, f"{part.__name__}{tuple(more) if more else ''}: {failure}")


def run_cases(test, cases, helpers, only=None):
    """Runs the methods of `cases` in their order, or those named in `only`: all but private ones
    and `helpers`."""
    for name, value in vars(type(cases)).items():
        if not callable(value) or name.startswith("_") or name in helpers:
            continue
        if only and name not in only:
            continue
        print(name, flush=True)
        try:
            getattr(cases, name)()
        except (Failure, subprocess.TimeoutExpired, OSError, ValueError, LookupError) as failure:
            test.check(False, f"{name}: {failure!r}")


def main(function, options):
    """Runs function(test, directory, options) and exits with 0, 1 or 77."""
    if not os.access(options.trawl, os.X_OK):
        print(f"SKIPPED: no program at {options.trawl}")
        sys.exit(SKIPPED)
    options.trawl = os.path.abspath(options.trawl)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="trawl-script-"))
    test = Test()
    try:
        function(test, directory, options)
    except Skip as skip:
        print(f"SKIPPED: {skip}")
        sys.exit(SKIPPED)
    except Failure as failure:
        test.check(False, str(failure))
    except Exception:
        test.failures += 1  # what there is to look at stays
        raise
    finally:
        keep = options.keep or test.failures > 0
        if keep:
            print(f"kept {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    print(f"{test.checks} checks, {test.failures} failed")
    sys.exit(1 if test.failures else 0)


def wait_until(condition, what, timeout=60.0):
    """Polls until condition() is true; raises Failure if it stays false."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"waited {timeout:.0f} s for {what}")
        time.sleep(0.002)


def free_port():
    """A port that was free on all addresses a moment ago."""
    with socket.socket() as probe:
        probe.bind(("0.0.0.0", 0))
        return probe.getsockname()[1]


def canonical_key(url):
    """The canonical key of a URL as a browser serialises it: no fragment, escapes in upper case,
    none of unreserved characters."""

    def respell(match):
        byte = chr(int(match.group(1), 16))
        return byte if byte in UNRESERVED else match.group(0).upper()

    return re.sub("%([0-9A-Fa-f]{2})", respell, url.split("#", 1)[0])


# --- trawl ---------------------------------------------------------------------------------------

def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(str(value))


def write_config(path, tables):
    """Writes {"table": {"key": value}} as TOML and returns the path."""
    text = ""
    for table, keys in tables.items():
        text += f"[{table}]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in keys.items()) + "\n"
    path.write_text(text)
    return path


def fast_crawl(seeds, state_dir, **tables):
    """The tables of a config that crawls loopback hosts at once, with one try a page."""
    config = {
        "crawl": {"seeds": seeds, "state_dir": state_dir},
        "scope": {"type": "host"},
        "politeness": {"delay": "0ms", "per_host_connections": 4, "host_failures": 0,
                       "host_backoff": "0ms"},
        "fetch": {"threads": 2, "connections": 8, "timeout": "20s", "retries": 0,
                  "allow_private_addresses": True},
        "checkpoint": {"interval": "200ms"},
    }
    for table, keys in tables.items():
        config.setdefault(table, {}).update(keys)
    return config


class Run:
    """One run of trawl, with all it prints in a file. `before_exec` is called in the child."""

    def __init__(self, options, directory, *arguments, before_exec=None):
        self.command = [options.trawl, *map(str, arguments)]
        descriptor, name = tempfile.mkstemp(prefix="run-", suffix=".log", dir=directory)
        self.log = pathlib.Path(name)
        self.peak_memory = 0  # bytes resident, as often looked at as ended() is called
        self.looked_at = 0.0
        self.cpu = 0.0  # seconds, user and system, once ended
        self.exit_code = None
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=descriptor,
                                        stderr=subprocess.STDOUT, cwd=directory,
                                        preexec_fn=before_exec)
        os.close(descriptor)

    @property
    def text(self):
        return self.log.read_text(errors="replace")

    def ended(self):
        """Whether it ended; negative exit codes are the signal that ended it."""
        if self.exit_code is None:
            self._look_at_memory()
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid != 0:
                self.exit_code = os.waitstatus_to_exitcode(status)
                self.process.returncode = self.exit_code
                self.cpu = usage.ru_utime + usage.ru_stime
        return self.exit_code is not None

    def _look_at_memory(self):
        """The peak by the kernel's high-water mark: wait4() would include the memory of the script,
        which the process was before it became trawl."""
        now = time.monotonic()
        if now < self.looked_at + 0.02:
            return
        self.looked_at = now
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            program = os.readlink(f"/proc/{self.process.pid}/exe")
        except OSError:
            return
        found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
        if found and program == self.command[0]:
            self.peak_memory = max(self.peak_memory, int(found.group(1)) * 1024)

    def wait(self, timeout=120.0):
        try:
            wait_until(self.ended, f"the end of {' '.join(self.command)}", timeout)
        except Failure as failure:
            self.kill()
            raise Failure(f"{failure}\n{self.tail()}") from None
        return self.exit_code

    def signal(self, number):
        if not self.ended():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        wait_until(self.ended, "a killed process to go")

    def tail(self):
        return "\n".join(self.text.splitlines()[-25:])


def run(options, directory, *arguments, timeout=120.0):
    started = Run(options, directory, *arguments)
    started.wait(timeout)
    return started


def expect_exit(test, finished, code, what):
    return test.check(finished.exit_code == code,
                      f"{what}: exit code {finished.exit_code}, expected {code}", finished.tail())


PAGE_KEYS = {"url", "status", "error", "reason", "redirect", "content_type", "bytes", "depth",
             "parent", "links", "new_links", "fetched_at", "elapsed_ms", "digest", "duplicate_of",
             "warc", "canonical", "robots", "etag", "last_modified", "attempts", "recrawl", "truncated"}


def read_lines(test, state_dir, name, keys):
    """The lines of an output file, each checked to be a whole JSON object with the promised keys."""
    path = pathlib.Path(state_dir) / "output" / name
    if not test.check(path.exists(), f"no output at {path}"):
        return []
    data = path.read_bytes()
    test.check(data.endswith(b"\n") or not data, f"{path}: the last line has no end",
               repr(data[-200:]))
    lines = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            read = json.loads(line)
        except ValueError as error:
            test.check(False, f"{path}:{number}: torn line: {error}", repr(line[:200]))
            continue
        if test.check(isinstance(read, dict) and keys <= read.keys(),
                      f"{path}:{number}: not the promised keys", line[:300]):
            lines.append(read)
    return lines


def read_pages(test, state_dir, name="pages.jsonl"):
    return read_lines(test, state_dir, name, PAGE_KEYS)


def by_path(pages):
    """The pages by path and query, those of one in the order they were written."""
    found = collections.defaultdict(list)
    for page in pages:
        parts = urllib.parse.urlsplit(page["url"])
        found[parts.path + ("?" + parts.query if parts.query else "")].append(page)
    return found


def keys_of(pages):
    return {canonical_key(page["url"]) for page in pages}


# --- the sample site -----------------------------------------------------------------------------

# Pages of this size are read by other threads than their fetcher, too.
SHARED_BYTES = 40_000


class SampleSite:
    """`trawl sample-site` as a process of its own, which outlives the crawler's death."""

    def __init__(self, options, directory, pages, seed=1, hosts=3, page_bytes=0):
        self.access_log = pathlib.Path(directory) / f"access-{pages}-{seed}.log"
        self.hosts = [f"127.0.0.{i + 1}" for i in range(min(hosts, pages))]
        for _ in range(5):
            self.port = free_port()
            same_site = ["--port", self.port, "--pages", pages, "--seed", seed, "--hosts", hosts,
                         "--page-bytes", page_bytes]
            self.run = Run(options, directory, "sample-site", *same_site,
                           "--access-log", self.access_log)
            wait_until(lambda: self.run.ended() or self._listens(), "the sample site to listen")
            if not self.run.ended():
                break
        else:
            raise Failure(f"the sample site does not start\n{self.run.tail()}")
        listed = subprocess.run([options.trawl, "sample-site", "--list", *map(str, same_site)],
                                capture_output=True, text=True, timeout=120)
        if listed.returncode != 0:
            self.stop()
            raise Failure(f"sample-site --list: exit code {listed.returncode}\n{listed.stderr}")
        self.reachable = set(listed.stdout.split())
        self.seeds = [f"http://{host}:{self.port}/" for host in self.hosts]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _listens(self):
        for host in [*self.hosts, "127.0.0.250"]:
            with socket.socket() as probe:
                if probe.connect_ex((host, self.port)) != 0:
                    return False
        return True

    def stop(self):
        self.run.kill()

    def requests(self):
        """The canonical keys requested, in order, robots.txt left out."""
        urls = []
        if self.access_log.exists():
            for line in self.access_log.read_text().split("\n")[:-1]:
                url = canonical_key(line.split(" ", 1)[1])
                if urllib.parse.urlsplit(url).path != "/robots.txt":
                    urls.append(url)
        return urls

    def wait_until_quiet(self):
        """Waits until every connection is closed: then the log has all that killed clients sent."""
        open_states = {"01", "03", "08"}  # established, not accepted yet, closed by the client only

        def is_quiet():
            for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state in open_states and int(local.rsplit(":", 1)[1], 16) == self.port:
                    return False
            return True

        wait_until(is_quiet, "the site's connections to close")

    def log_size(self):
        return self.access_log.stat().st_size if self.access_log.exists() else 0


def check_complete(test, site, state_dir, what="the crawl"):
    """Nothing lost, nothing outside: by the output and by the site's own log."""
    pages = read_pages(test, state_dir)
    test.check_equal_sets(keys_of(pages), site.reachable, f"{what}, output")
    test.check_equal_sets(set(site.requests()), site.reachable, f"{what}, the site's log")
    return pages


def repeats(urls):
    return {url: count for url, count in collections.Counter(urls).items() if count > 1}


def program(name, package):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Skip(f"{name} is missing: apt-get install {package}")
    return path


class Nginx:
    """nginx on a free port of loopback; its config is a template of prefix, port and `values`."""

    def __init__(self, directory, template, **values):
        self.port = free_port()
        self.log = directory / "access.log"
        config = directory / "nginx.conf"
        config.write_text(template.format(prefix=directory, port=self.port, **values))
        self.process = subprocess.Popen(
            [program("nginx", "nginx-light"), "-p", directory, "-c", config,
             "-e", directory / "error.log"], stdin=subprocess.DEVNULL)
        try:
            wait_until(self.is_up, "nginx to listen", 20)
        except Failure:
            self.process.kill()
            raise

    def is_up(self):
        if self.process.poll() is not None:
            raise Failure(f"nginx ended with {self.process.returncode}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.terminate()  # a quick end
        self.process.wait(20)


# --- disks -------------------------------------------------------------------------------------------

def fill(path):
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 512):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)


@contextlib.contextmanager
def tmpfs(directory, size):
    """A file system of that size at `directory`; yields False where that is not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "trawl-test", str(directory)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(directory)], check=True)
