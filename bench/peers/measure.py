"""Runs crawlers and servers on loopback and reports what each used. Python 3.9, standard library."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time


class Missing(Exception):
    """A program that is missing on this machine."""


def program(name, package):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Missing(f"{name} is missing: apt-get install {package}")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Used:
    """The resources of a run: of the process and of the children it waited for."""

    def __init__(self, seconds, usage, memory, code, output):
        self.seconds = seconds
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = memory  # bytes, at its peak
        self.code = code
        self.output = output


def run(command, directory, timeout, watch=None):
    """Runs a program to its end; calls `watch(process)` from time to time."""
    begun = time.monotonic()
    with open(pathlib.Path(directory) / "output.log", "w+b") as log:
        process = subprocess.Popen(list(map(str, command)), cwd=directory, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL)
        finished = {}

        def wait():
            _, status, usage = os.wait4(process.pid, 0)
            finished.update(at=time.monotonic(), status=status, usage=usage)

        waiter = threading.Thread(target=wait)
        waiter.start()
        memory = 0
        while waiter.is_alive():
            waiter.join(0.05)
            memory = max(memory, peak_memory(process.pid, command[0]))
            if watch and waiter.is_alive():
                watch(process)
            if time.monotonic() > begun + timeout and waiter.is_alive():
                process.kill()
        code = process.returncode = os.waitstatus_to_exitcode(finished["status"])
        log.seek(0)
        output = log.read().decode(errors="replace")
    return Used(finished["at"] - begun, finished["usage"], memory, code, output)


def peak_memory(pid, program):
    """By the kernel's own mark. That of wait4() begins with what the process was before it became
    the program: this script."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        if os.readlink(f"/proc/{pid}/exe") != os.path.realpath(program):
            return 0
        return int(text.split("VmHWM:", 1)[1].split()[0]) * 1024
    except (OSError, IndexError):
        return 0


def resident(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def cpu_of(pids):
    """CPU seconds of running processes."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


# --- crawlers ------------------------------------------------------------------------------------

def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(str(value))


class Trawl:
    """The release build, with a durable frontier and pages.jsonl."""

    name = "trawl"

    def __init__(self, binary, connections=8, per_host=4, threads=2, warc=False, **tables):
        self.binary, self.tables = pathlib.Path(binary).resolve(), tables
        self.fetch = {"connections": connections, "threads": threads,
                      "allow_private_addresses": True}
        self.politeness = {"delay": "0ms", "per_host_connections": per_host}
        self.warc = warc
        if warc:
            self.name = "trawl, WARC"

    def crawl(self, seeds, directory, timeout, watch=None):
        tables = {
            "crawl": {"seeds": seeds, "state_dir": directory / "state"},
            "scope": {"type": "host"}, "politeness": self.politeness, "fetch": self.fetch,
            # Like the peers, which ignore rel=nofollow.
            "links": {"kinds": ["navigation", "document"], "respect_nofollow": False},
            "output": {"pages": True, "warc": self.warc}, "log": {"level": "warn"},
        }
        for table, keys in self.tables.items():
            tables[table] = {**tables.get(table, {}), **keys}
        config = directory / "crawl.toml"
        config.write_text("".join(
            f"[{table}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in keys.items())
            for table, keys in tables.items()))
        used = run([self.binary, "crawl", config], directory, timeout, watch)
        if used.code not in (0, 14, 15):
            raise RuntimeError(f"trawl: exit code {used.code}\n{used.output[-2000:]}")
        return used


class Wget2:
    """wget2 on the same links: those of a, area and frames."""

    IGNORED = "link,img,script,form,object,embed,video,audio,source,input,blockquote,body"

    def __init__(self, threads=8, save=False):
        self.binary = program("wget2", "wget2")
        self.threads, self.save, self.more = threads, save, []
        self.name = "wget2, saving" if save else "wget2"

    def crawl(self, seeds, directory, timeout, watch=None):
        (directory / "seeds.txt").write_text("\n".join(seeds) + "\n")
        used = run([self.binary, "--no-config", "-q", "-r", "-l", "inf", "--no-hsts", "--tries=1",
                    f"--ignore-tags={self.IGNORED}", f"--max-threads={self.threads}",
                    *([] if self.save else ["--delete-after"]), 
                    *[argument.format(directory=directory) for argument in self.more],
                    "-P", directory / "files", "-i", directory / "seeds.txt"],
                   directory, timeout, watch)
        # 8: the answer to some page was an error.
        if used.code not in (0, 8):
            raise RuntimeError(f"wget2: exit code {used.code}\n{used.output[-2000:]}")
        return used


class CurlLoop:
    """libcurl on a list of URLs, without parsing."""

    name = "libcurl loop"

    def __init__(self, programs, urls, connections=8, threads=1):
        self.binary = pathlib.Path(programs).resolve() / "curl_loop"
        if not self.binary.exists():
            raise Missing(f"no program at {self.binary}: build the target curl_loop")
        self.urls, self.connections, self.threads = urls, connections, threads

    def crawl(self, _, directory, timeout, watch=None):
        (directory / "urls.txt").write_text("\n".join(self.urls) + "\n")
        used = run([self.binary, directory / "urls.txt", "--connections", self.connections,
                    "--threads", self.threads], directory, timeout, watch)
        if used.code != 0 or json.loads(used.output)["failed"]:
            raise RuntimeError(f"curl_loop: exit code {used.code}\n{used.output[-2000:]}")
        return used


# --- servers -------------------------------------------------------------------------------------

NGINX = """daemon off; worker_processes 1; pid {prefix}/nginx.pid; error_log {prefix}/error.log;
worker_rlimit_nofile {open_files};
events {{ worker_connections {connections}; }}
http {{
  types {{
    text/html html htm en; text/css css; text/plain txt; application/javascript js; image/png png;
    application/pdf pdf;
  }}
  default_type application/octet-stream;
  log_format urls '{log_format}';
  access_log {prefix}/access.log urls buffer=64k;
  open_file_cache max={cached_files} inactive=1h; open_file_cache_valid 1h;
  keepalive_requests 1000000; sendfile on; tcp_nopush on;
  client_body_temp_path {prefix}/body; proxy_temp_path {prefix}/proxy;
  fastcgi_temp_path {prefix}/fastcgi; uwsgi_temp_path {prefix}/uwsgi; scgi_temp_path {prefix}/scgi;
{servers}
}}
"""


class Nginx:
    """Each folder on its own address; one log has all requests."""

    most_connections = 4096
    log_format = "$status http://$server_addr:$server_port$request_uri"

    def __init__(self, directory, roots):
        self.port = free_port()
        self.directory = directory
        self.hosts = self.hosts_of(roots)
        servers = "\n".join(map(self.server, self.hosts, roots))
        config = directory / "nginx.conf"
        # With too many open files it answers 500, and crawlers try again for minutes.
        most_open = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        open_files = 65536 if most_open == resource.RLIM_INFINITY else min(65536, most_open)
        cached_files = max(100, open_files - 2 * self.most_connections)
        config.write_text(NGINX.format(prefix=directory, servers=servers, open_files=open_files,
                                       cached_files=cached_files, connections=self.most_connections,
                                       log_format=self.log_format))
        self.log = directory / "access.log"
        # The workers drop their privileges but must still reach the folder.
        directory.chmod(0o755)
        self.process = subprocess.Popen([program("nginx", "nginx-light"), "-p", directory, "-c",
                                         config, "-e", directory / "error.log"],
                                        stdin=subprocess.DEVNULL)
        wait_for_port(self.hosts[-1], self.port, self.process)

    @staticmethod
    def hosts_of(roots):
        return [f"127.2.0.{i + 1}" for i in range(len(roots))]

    def server(self, host, root):
        return (f"  server {{ listen {host}:{self.port} backlog=4096; root {root}; "
                "index index.html; }")

    def workers(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *map(int, children.read_text().split())]

    def cpu(self):
        return cpu_of(self.workers())

    def take_lines(self):
        """The lines of the log since the last call."""
        old = self.log.with_name("access.taken")
        self.log.rename(old)
        self.process.send_signal(signal.SIGUSR1)  # flushes and reopens the log
        deadline = time.monotonic() + 10
        while not self.log.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)  # each worker does so on its own, without notice
        return old.read_text().splitlines()

    def take_requests(self):
        """The requests since the last call, without robots.txt: (status, URL)."""
        lines = (line.split(" ", 1) for line in self.take_lines())
        return [(int(status), url) for status, url in lines if not url.endswith("/robots.txt")]

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class LatencyServer:
    """bench/latency_server.cc: many hosts that answer after a given time."""

    def __init__(self, programs, **settings):
        binary = pathlib.Path(programs).resolve() / "latency_server"
        if not binary.exists():
            raise Missing(f"no program at {binary}: build the target latency_server")
        self.port = free_port()
        self.hosts = settings.get("hosts", 1)
        arguments = [str(part) for name, value in settings.items()
                     for part in (f"--{name}", value)]
        self.process = subprocess.Popen([binary, "--port", str(self.port), *arguments],
                                        stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("latency_server does not start")

    @property
    def seeds(self):
        return [f"http://127.1.{i // 250}.{i % 250 + 1}:{self.port}/" for i in range(self.hosts)]

    def stop(self):
        """The server's counters."""
        self.process.terminate()
        counted = json.loads(self.process.stdout.read())
        self.process.wait(20)
        return counted


def wait_for_port(host, port, process):
    for _ in range(1000):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError("the server does not listen")


# --- figures -------------------------------------------------------------------------------------

class Series:
    """A figure's value in each repetition."""

    def __init__(self, values):
        self.values = list(values)

    @property
    def median(self):
        return statistics.median(self.values)

    def text(self, form="{:.3f}"):
        middle = form.format(self.median)
        if len(self.values) == 1:
            return middle
        return f"{middle} ({form.format(min(self.values))} to {form.format(max(self.values))})"


def ratio(ours, theirs):
    """The ratio in each repetition, since a disturbance of the machine slows both."""
    return Series(a / b for a, b in zip(ours.values, theirs.values))


def print_table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) + " |")
    print(flush=True)
