"""What `trawl help-reference` prints, as objects: the program and its commands."""

import json
import subprocess


class Command:
    """A command such as `trawl crawl`; the program itself has an empty path."""

    def __init__(self, data, path):
        self.path = path
        self.summary = data.get("summary", "")
        self.usage = data.get("usage", "")
        self.description = data.get("description", "")
        self.positionals = data.get("positionals", [])
        self.options = data.get("options", [])
        self.sections = data.get("sections", [])
        self.commands = [Command(each, path + [each["name"]]) for each in data.get("commands", [])]

    @property
    def name(self):
        return "-".join(["trawl"] + self.path)

    def all(self):
        yield self
        for command in self.commands:
            yield from command.all()


def of_program(trawl):
    """Returns the program at this path as a Command, and its version."""
    data = json.loads(subprocess.run([trawl, "help-reference"], check=True, stdout=subprocess.PIPE).stdout)
    return Command(data, []), data["version"]
