"""The package as a whole: its examples, which fetch the sample site once, killed on the way or not; its
stubs; its wheel."""

import ast
import collections
import inspect
import os
import signal
import subprocess
import sys
import threading
import urllib.parse

import pytest

import trawl
import trawl.aio

EXAMPLES = ("aiohttp_crawler.py", "threads_crawler.py")


def run(script, state, url, kill_after=None):
    """The canonical keys of the URLs it fetched: which spelling of a URL is met first is chance."""
    key = trawl.Canonicalizer().key
    with subprocess.Popen([sys.executable, str(script), str(state), url], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        too_long = threading.Timer(120, process.kill)
        too_long.start()
        try:
            lines = []
            for line in process.stdout:
                lines.append(key(line.split()[1]))
                if len(lines) == kill_after:
                    process.send_signal(signal.SIGKILL)
            errors = process.stderr.read()
            code = process.wait()
        finally:
            too_long.cancel()
            process.kill()
    assert code == (0 if kill_after is None else -signal.SIGKILL), errors
    return lines


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_crawls_the_site_though_it_is_killed(name, source, sample_site, tmp_path):
    script = source / "examples" / "python" / name
    assert len(script.read_text().splitlines()) < 60
    whole = set(run(script, tmp_path / "whole", sample_site))
    assert len(whole) > 50 and {urllib.parse.urlsplit(url).netloc for url in whole} == {
        urllib.parse.urlsplit(sample_site).netloc}
    fetched = run(script, tmp_path / "killed", sample_site, kill_after=20)
    fetched += run(script, tmp_path / "killed", sample_site)
    assert set(fetched) == whole
    repeated = sum(count - 1 for count in collections.Counter(fetched).values())
    assert repeated <= 32, "more than the leases that were open"


def test_types(source):
    package = source / "bindings" / "python"
    files = [package / "trawl" / "__init__.pyi", package / "trawl" / "aio.pyi"]
    files += [source / "examples" / "python" / name for name in EXAMPLES]
    for strict, some in ((["--strict"], files[:2]), ([], files[2:])):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *strict, "--no-incremental", "--check-untyped-defs",
             "--ignore-missing-imports", "--scripts-are-modules", *map(str, some)],
            env={**os.environ, "MYPYPATH": str(package)}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def names_of_stub(path):
    """The public names of a stub: of the module, and of each class."""
    names = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and not node.targets[0].id.startswith("_"):
            names[node.targets[0].id] = set()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            names[node.name] = set()
        if isinstance(node, ast.ClassDef) and node.name in names:
            inner = [each.name for each in node.body
                     if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
            names[node.name] = {name for name in inner if not name.startswith("_")}
    return names


@pytest.mark.parametrize("module, stub", [(trawl, "__init__.pyi"), (trawl.aio, "aio.pyi")])
def test_stubs_and_package_have_the_same_names(module, stub, source):
    described = names_of_stub(source / "bindings" / "python" / "trawl" / stub)
    for name, methods in described.items():
        for method in methods:
            assert hasattr(getattr(module, name), method), f"{name}.{method}"
    real = {name for name, value in vars(module).items()
            if not name.startswith("_") and not inspect.ismodule(value)}
    assert real == set(described)
    for name in real & set(described):
        if not inspect.isclass(getattr(module, name)) or issubclass(getattr(module, name), tuple):
            continue
        own = {each for each in dir(getattr(module, name)) if not each.startswith("_")}
        base = {each for kind in (OSError, ValueError, int, trawl.BloomFilter, trawl.Lease)
                for each in dir(kind)}
        assert own - base <= described[name] | set(trawl.Url.__slots__) | {"closed"} | set(
            trawl.Admission.__members__), name


def test_stubs_are_what_the_package_is(tmp_path):
    """Names, arguments and their defaults, by mypy's own comparison."""
    settings = tmp_path / "settings"
    settings.write_text("[mypy]\nignore_missing_imports = True\n")
    allowed = tmp_path / "allowed"
    allowed.write_text("trawl\\.(_scrapy_[a-z]+|scrapy)\\..*\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "trawl", "--ignore-unused-allowlist", "--mypy-config-file",
         settings, "--allowlist", allowed], cwd=tmp_path,
        env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_wheel_for_all_versions_of_python(source, tmp_path):
    """Made without a network from the build that the tests run in, and used outside of it."""
    wheels = tmp_path / "wheels"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-index",
                    "--no-deps", "-q", "-w", wheels, source / "bindings" / "python"],
                   env=environment, check=True, timeout=300)
    (wheel,) = wheels.iterdir()
    assert wheel.name.startswith("trawl_frontier-") and "-cp310-abi3-linux_" in wheel.name
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True,
                   env=environment)
    done = subprocess.run(
        [python, "-c", "import trawl, trawl.aio; f = trawl.BloomFilter(); f.add('a'); print('a' in f, trawl.__file__)"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True") and str(tmp_path) in done.stdout
