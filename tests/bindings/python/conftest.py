"""Fixtures of the tests of the package trawl. The program is $TRAWL, the sources $TRAWL_SOURCE."""

import os
import pathlib
import signal
import subprocess

import pytest

# Started in the background, the tests would ignore SIGINT, and so would the processes they interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def program():
    return os.environ["TRAWL"]


@pytest.fixture
def source():
    return pathlib.Path(os.environ["TRAWL_SOURCE"])


@pytest.fixture
def ask(program):
    """Runs the program on lines; returns the lines that it prints: the C++ answers."""
    def run(*arguments, lines="", codes=(0,)):
        text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
        done = subprocess.run([program, *map(str, arguments)], input=text, capture_output=True,
                              text=True, timeout=60, check=False)
        assert done.returncode in codes, done.stderr
        return done.stdout.splitlines()
    return run


@pytest.fixture
def sample_site(program):
    """The address of the built-in site, which runs until the end of the test."""
    server = subprocess.Popen([program, "sample-site", "--pages", "300", "--port", "0"],
                              stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    yield server.stdout.readline().strip()
    server.kill()
    server.wait()
