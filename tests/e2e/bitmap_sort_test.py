"""The example bitmap-sort sorts as `sort -u -n` does, in little memory, and refuses bad input."""

import multiprocessing
import os
import random
import subprocess
import tempfile

import trawl_testing as t

SEED = 20240817
NUMBERS = 1_000_000


def write_numbers(path, seed, count):
    numbers = random.Random(seed).sample(range(10_000_000, 100_000_000), count)
    path.write_text("".join(f"{number}\n" for number in numbers))


def file_of_numbers(directory):
    """Made in a process of its own: a child's peak memory is never told as less than what its
    parent had when it started it, so that this script must stay small."""
    path = directory / "numbers.txt"
    maker = multiprocessing.get_context("fork").Process(
        target=write_numbers, args=(path, SEED, NUMBERS))
    maker.start()
    maker.join()
    if maker.exitcode != 0:
        raise t.Failure("the numbers could not be made")
    return path


class Sorted:
    """One run; its output goes to a file, or to `stdout` if that is given."""

    def __init__(self, program, directory, *arguments, stdin=subprocess.DEVNULL, stdout=None):
        descriptor, self.output = tempfile.mkstemp(dir=directory)
        error_descriptor, errors = tempfile.mkstemp(dir=directory)
        process = subprocess.Popen([program, *map(str, arguments)], stdin=stdin,
                                   stdout=stdout or descriptor, stderr=error_descriptor)
        _, status, usage = os.wait4(process.pid, 0)
        self.exit_code = process.returncode = os.waitstatus_to_exitcode(status)
        self.peak_memory = usage.ru_maxrss / 1024  # MiB
        os.close(descriptor)
        os.close(error_descriptor)
        with open(errors, errors="replace") as file:
            self.errors = file.read()

    @property
    def text(self):
        with open(self.output) as file:
            return file.read()


class BitmapSort:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        self.program = os.path.abspath(options.program)

    def sort(self, *arguments, **streams):
        return Sorted(self.program, self.directory, *arguments, **streams)

    def sort_text(self, text):
        path = self.directory / "input.txt"
        path.write_bytes(text)
        with open(path, "rb") as file:
            return self.sort(stdin=file)

    def expect_sorted(self, run, expected, what):
        self.test.check(run.exit_code == 0, f"{what}: exit code {run.exit_code}", run.errors)
        same = subprocess.run(["cmp", run.output, expected], capture_output=True, text=True)
        self.test.check(same.returncode == 0, f"{what}: not as sort has it", same.stdout)

    def a_million_numbers(self):
        numbers = file_of_numbers(self.directory)
        expected = self.directory / "expected.txt"
        with open(expected, "wb") as out:
            subprocess.run(["sort", "-u", "-n", numbers], stdout=out, check=True,
                           env={**os.environ, "LC_ALL": "C"})
        self.test.check(expected.stat().st_size == 9 * NUMBERS, f"seed {SEED}: not distinct")
        from_file = self.sort(numbers)
        self.expect_sorted(from_file, expected, f"a file, seed {SEED}")
        self.test.check(from_file.peak_memory < self.options.max_memory,
                        f"peak memory {from_file.peak_memory:.1f} MiB")
        print(f"peak memory {from_file.peak_memory:.1f} MiB", flush=True)
        with open(numbers, "rb") as file:
            self.expect_sorted(self.sort(stdin=file), expected, "standard input")
        twice = self.directory / "twice.txt"
        twice.write_bytes(numbers.read_bytes() * 2)
        self.expect_sorted(self.sort(twice), expected, "each number twice")

        with open("/dev/full", "wb") as full:
            run = self.sort(numbers, stdout=full)
        self.test.check(run.exit_code == 1 and "cannot write" in run.errors
                        and "No space left" in run.errors,
                        f"a full disk: exit code {run.exit_code}", run.errors)

    def small_inputs(self):
        for text, expected in (
                (b"", ""), (b"0\n", "0\n"), (b"99999999\n0\n7\n", "0\n7\n99999999\n"),
                (b"3\n1\n3\n2", "1\n2\n3\n"), (b"007\n7\n00000000\n", "0\n7\n")):
            run = self.sort_text(text)
            self.test.check(run.exit_code == 0 and run.text == expected and run.errors == "",
                            f"{text}: exit code {run.exit_code}, {run.text!r}", run.errors)
        with open("/dev/full", "wb") as full:
            self.test.check(self.sort("/dev/null", stdout=full).exit_code == 0, "nothing to write")

    def bad_inputs(self):
        for text, where, why in (
                (b"1\n\n2\n", ":2:", "empty line"), (b"\n", ":1:", "empty line"),
                (b"1\n2\n123456789\n", ":3:", "more than 8 digits"),
                (b"000000001\n", ":1:", "more than 8 digits"), (b"1\nx\n", ":2:", "not a number"),
                (b"-1\n", ":1:", "not a number"), (b"1 \n", ":1:", "not a number"),
                (b"1\r\n", ":1:", "not a number"), (b"5\n1.5\n", ":2:", "not a number"),
                (b"1\n2\0\n", ":2:", "not a number"), (b"1\n" * 100_000 + b"\xff", ":100001:",
                                                       "not a number")):
            run = self.sort_text(text)
            what = f"{text[:20]}"
            self.test.check(run.exit_code == 1, f"{what}: exit code {run.exit_code}")
            self.test.check("standard input" + where in run.errors and why in run.errors,
                            f"{what}: the message is not about {where} {why}", run.errors)
            self.test.check(run.text == "", f"{what}: partial output", run.text[:100])
        bad = self.directory / "bad.txt"
        bad.write_bytes(b"12\nabc\n")
        run = self.sort(bad)
        self.test.check(run.exit_code == 1 and f"{bad}:2:" in run.errors, "no FILE:LINE",
                        run.errors)
        for arguments, code, why in (
                ([self.directory / "none"], 1, "No such file"),
                ([self.directory], 1, "Is a directory"), ([bad, bad], 2, "usage")):
            run = self.sort(*arguments)
            self.test.check(run.exit_code == code and why in run.errors,
                            f"{why}: exit code {run.exit_code}", run.errors)


def check(test, directory, options):
    sorter = BitmapSort(test, directory, options)
    sorter.a_million_numbers()
    sorter.small_inputs()
    sorter.bad_inputs()


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("program", help="the example bitmap-sort")
    arguments.add_argument("--max-memory", type=float, default=32, help="in MiB")
    t.main(check, arguments.parse_args())
