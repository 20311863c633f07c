"""The example bitmap-sort sorts as `sort -u -n` does, in little memory, and refuses bad input."""

import multiprocessing
import os
import random
import subprocess
import sys
import tempfile

import trawl_testing as t

SEED = 20240817
NUMBERS = 1_000_000


def write_numbers(path, seed, count):
    numbers = random.Random(seed).sample(range(10_000_000, 100_000_000), count)
    path.write_text("".join(f"{number}\n" for number in numbers))


def write_phone_numbers(path, seed, count):
    numbers = random.Random(seed).sample(range(100_000_000), count)
    path.write_text("".join(f"139{number:08}\n" for number in numbers))


def file_of_numbers(directory, write=write_numbers):
    """Made in a process of its own, so that this one stays small."""
    path = directory / "numbers.txt"
    maker = multiprocessing.get_context("fork").Process(target=write, args=(path, SEED, NUMBERS))
    maker.start()
    maker.join()
    if maker.exitcode != 0:
        raise t.Failure("the numbers could not be made")
    return path


# Starts the program from a process that is smaller than it: a child's peak memory is never reported as
# less than what its parent had when it started it.
MEASURE = """
import os, sys
process = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Sorted:
    """One run; its output goes to a file, or to `stdout` if that is given."""

    def __init__(self, program, directory, *arguments, stdin=subprocess.DEVNULL, stdout=None):
        descriptor, self.output = tempfile.mkstemp(dir=directory)
        error_descriptor, errors = tempfile.mkstemp(dir=directory)
        report = os.path.join(directory, "memory")
        command = [sys.executable, "-S", "-c", MEASURE, report, program, *map(str, arguments)]
        self.exit_code = subprocess.run(command, stdin=stdin, stdout=stdout or descriptor,
                                        stderr=error_descriptor, check=False).returncode
        with open(report) as file:
            self.peak_memory = int(file.read()) / 1024  # MiB
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

    def sort_text(self, text, *arguments):
        path = self.directory / "input.txt"
        path.write_bytes(text)
        with open(path, "rb") as file:
            return self.sort(*arguments, stdin=file)

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

    def a_million_phone_numbers(self):
        numbers = file_of_numbers(self.directory, write_phone_numbers)
        expected = self.directory / "expected.txt"
        with open(expected, "wb") as out:
            subprocess.run(["sort", "-u", numbers], stdout=out, check=True,
                           env={**os.environ, "LC_ALL": "C"})
        self.test.check(expected.stat().st_size == 12 * NUMBERS, f"seed {SEED}: not distinct")
        for options in (["--prefix", "139", "--digits", "8"], ["--prefix=139"], ["--digits=8",
                                                                                 "--prefix=139"]):
            run = self.sort(*options, numbers)
            self.expect_sorted(run, expected, f"{options}, seed {SEED}")
            self.test.check(run.peak_memory < self.options.max_memory,
                            f"{options}: peak memory {run.peak_memory:.1f} MiB")
        print(f"phone numbers: peak memory {run.peak_memory:.1f} MiB", flush=True)
        with open(numbers, "rb") as file:
            self.expect_sorted(self.sort("--prefix", "139", stdin=file), expected, "phone numbers")

    def prefixes_and_digits(self):
        for arguments, text, expected in (
                (["--prefix", "139", "--digits", "8"], b"13900267164\n", "13900267164\n"),
                (["--prefix", "139", "--digits", "8"],
                 b"13999999999\n13900000000\n13900000007\n13900267164\n13900000007",
                 "13900000000\n13900000007\n13900267164\n13999999999\n"),
                (["--prefix", "139"], b"", ""),
                (["--digits", "3"], b"010\n007\n999\n000\n", "000\n007\n010\n999\n"),
                (["--digits", "1"], b"5\n0\n9\n", "0\n5\n9\n"),
                (["--digits", "9"], b"999999999\n000000000", "000000000\n999999999\n"),
                (["--prefix", "+86 139-", "--digits", "2"], b"+86 139-07\n+86 139-00\n",
                 "+86 139-00\n+86 139-07\n"),
                (["--prefix", "00", "--digits", "2"], b"0099\n0000\n", "0000\n0099\n")):
            run = self.sort_text(text, *arguments)
            self.test.check(run.exit_code == 0 and run.text == expected and run.errors == "",
                            f"{arguments} {text}: exit code {run.exit_code}, {run.text!r}",
                            run.errors)

    def bad_phone_numbers(self):
        good = b"13900267164\n"
        for text, where, why in (
                (good + b"13800267164\n", ":2:", "does not begin with 139"),
                (b"13\n", ":1:", "does not begin with 139"),
                (b"900267164\n", ":1:", "does not begin with 139"),
                (good * 3 + b"\n", ":4:", "empty line"),
                (b"139\n", ":1:", "fewer than 8 digits"),
                (b"1390026716\n", ":1:", "fewer than 8 digits"),
                (good + b"1390026716", ":2:", "fewer than 8 digits"),
                (b"139002671640\n", ":1:", "more than 8 digits"),
                (b"1390026716x\n", ":1:", "not a number"), (b"13900267164\r\n", ":1:", "not a number"),
                (b"139 0267164\n", ":1:", "not a number"), (b"139-0267164\n", ":1:", "not a number"),
                (b" 13900267164\n", ":1:", "does not begin with 139"),
                (good * 100_000 + b"\xff", ":100001:", "does not begin with 139")):
            run = self.sort_text(text, "--prefix", "139", "--digits", "8")
            what = f"phone number {text[-20:]}"
            self.test.check(run.exit_code == 1, f"{what}: exit code {run.exit_code}")
            self.test.check("standard input" + where in run.errors and why in run.errors and
                            "a line must be 139 and then 8 digits" in run.errors
                            or why == "empty line" and where in run.errors,
                            f"{what}: the message is not about {where} {why}", run.errors)
            self.test.check(run.text == "", f"{what}: partial output", run.text[:100])
        for arguments, why in (
                (["--digits", "0"], "1 to 12"), (["--digits", "13"], "1 to 12"),
                (["--digits", "-1"], "1 to 12"), (["--digits", "8x"], "1 to 12"),
                (["--digits="], "1 to 12"), (["--prefix", ""], "1 to 64"),
                (["--prefix", "1\n39"], "1 to 64"), (["--prefix", "1" * 65], "1 to 64"),
                (["--prefix"], "usage"), (["--digits"], "usage"), (["--no-such"], "usage")):
            run = self.sort_text(good, *arguments)
            self.test.check(run.exit_code == 2 and why in run.errors and run.text == "",
                            f"{arguments}: exit code {run.exit_code}", run.errors)

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
    sorter.a_million_phone_numbers()
    sorter.prefixes_and_digits()
    sorter.bad_phone_numbers()
    sorter.small_inputs()
    sorter.bad_inputs()


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("program", help="the example bitmap-sort")
    arguments.add_argument("--max-memory", type=float, default=15.25, help="in MiB")
    t.main(check, arguments.parse_args())
