"""Runs the commands of a block of the documentation, and compares what they print with what the
block shows."""

import json
import re
import subprocess

TIMEOUT = 120
MARK = re.compile(r"\x1e(\d+) (\d+)\x1e\n")
MASKS = [
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "HEX"),
]
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")
SIZE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s*(?:[KMGT]i?B|B|bytes)\b")


def is_whole(command):
    """Whether bash needs no further line to run it."""
    if re.search(r"(\\|\|)\s*$", command):
        return False
    parsed = subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True, check=False)
    return parsed.returncode == 0 and not parsed.stderr


def commands_of(block):
    """Pairs of a command and the lines it is shown to print, or None where the block shows none."""
    lines = block.text.split("\n")[:-1]
    if block.language == "console":
        commands = []
        for line in lines:
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif commands:
                commands[-1][1].append(line)
            else:
                raise ValueError(f"{block.place}: output before the first command")
        return commands
    commands, command = [], ""
    for line in lines:
        command += line + "\n"
        if not command.strip() or (re.match(r"\s*#", command) and command.count("\n") == 1):
            command = ""
        elif is_whole(command):
            says = re.search(r"# prints (\S+)\n$", command)
            commands.append((command.rstrip("\n"), [says.group(1)] if says else None))
            command = ""
    if command:
        raise ValueError(f"{block.place}: a command without an end: {command.strip()}")
    return commands


def run_commands(commands, directory, environment):
    """For each command its exit status and the lines that it printed; fewer if the shell ended."""
    script = "set -o pipefail\n" \
             "mark() { local status=$?; printf '\\x1e%s %s\\x1e\\n' \"$1\" \"$status\"; return $status; }\n"
    script += "".join(f"{command}\nmark {number}\n" for number, command in enumerate(commands))
    file = directory / ".block.sh"
    file.write_text(script)
    with open(directory / ".block.log", "w+b") as log:
        try:
            subprocess.run(["bash", str(file)], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                           stdout=log, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            pass
        log.seek(0)
        text = log.read().decode(errors="replace")
    file.unlink()
    parts = MARK.split(text)
    results = [(int(parts[i + 2]), parts[i].split("\n")[:-1]) for i in range(0, len(parts) - 1, 3)]
    return results, parts[-1]


def shape_of(value):
    """The keys of JSON, in order; null fits anything."""
    if isinstance(value, dict):
        return {key: shape_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape_of(value[0])] if value else []
    return None if value is None else type(value).__name__


def shapes_agree(one, other):
    if one is None or other is None or one == [] or other == []:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(shapes_agree(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return shapes_agree(one[0], other[0])
    return one == other or {one, other} == {"int", "float"}


def read_json(line):
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def lines_agree(shown, printed, numbers):
    """`numbers`: "exact"; "close" is within a tenth; "any" looks at the words alone."""
    for pattern, instead in MASKS:
        shown, printed = pattern.sub(instead, shown), pattern.sub(instead, printed)
    if shown == printed:
        return True
    if numbers == "exact":
        return False
    if read_json(shown) is not None and read_json(printed) is not None:
        return shapes_agree(shape_of(read_json(shown)), shape_of(read_json(printed)))
    if numbers == "any":
        words = [NUMBER.sub("N", SIZE.sub("SIZE", line)).split() for line in (shown, printed)]
        return words[0] == words[1]
    words = [NUMBER.sub("N", line).split() for line in (shown, printed)]
    values = [[float(number) for number in NUMBER.findall(line)] for line in (shown, printed)]
    return words[0] == words[1] and all(
        abs(one - other) <= 0.1 * max(abs(one), abs(other)) for one, other in zip(*values))


def output_agrees(shown, printed, numbers):
    """A line "..." stands for any lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(output_agrees(shown[1:], printed[skipped:], numbers)
                   for skipped in range(len(printed) + 1))
    return bool(printed) and lines_agree(shown[0], printed[0], numbers) and \
        output_agrees(shown[1:], printed[1:], numbers)
