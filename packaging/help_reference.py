"""What `trawl help-reference` prints, as objects: the program and its commands."""

import json


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


def read(path):
    """Returns the program as a Command, and its version."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    return Command(data, []), data["version"]
