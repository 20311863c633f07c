"""What a new user types first: trawl crawl URL and its options, init, help, misspelt words, seeds that
redirect, servers on private addresses."""

import json
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links

HERE, THERE = "127.0.0.1", "127.0.0.2"
QUICK = ["--delay", "0"]


def site():
    """Three pages a host; /moved leads to the other host."""

    def respond(request):
        if request.path == "/moved":
            place = f"http://{THERE}:{server.port}/home"
            return answer("", "301 Moved Permanently", f"Location: {place}")
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        return answer(f"<title>{request.host}{request.path}</title>" + links(["/a", "/b"]))

    server = ScriptedServer(respond, addresses=(HERE, THERE))
    return server


class Cases:
    def __init__(self, test, directory, options, server):
        self.test, self.directory, self.options, self.server = test, directory, options, server

    def folder(self, name):
        folder = self.directory / name
        folder.mkdir()
        return folder

    def run(self, folder, *arguments, stdin=None, code=0, patterns=(), what=""):
        """The exit code is checked, and that each of `patterns` is printed."""
        done = subprocess.run([self.options.trawl, *map(str, arguments)], cwd=folder, text=True,
                              input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        shown = what or " ".join(map(str, arguments))
        self.test.check(done.returncode == code, f"{shown}: exit code {done.returncode}, not {code}",
                        done.stdout)
        for pattern in patterns:
            self.test.check(pattern in done.stdout, f"{shown}: does not say {pattern!r}", done.stdout)
        return done.stdout

    def urls(self, state):
        """The URLs that were answered."""
        pages = map(json.loads, (state / "output" / "pages.jsonl").read_text().splitlines())
        return sorted(page["url"] for page in pages if page["status"])

    # --- the first crawl

    def crawl_without_config(self):
        folder = self.folder("first")
        url = self.server.url()
        self.run(folder, "crawl", url, *QUICK, code=t.EXIT_INCOMPLETE,
                 patterns=["--allow-private", "allow_private_addresses"])
        state = folder / HERE
        self.run(folder, "crawl", url, *QUICK, "--allow-private",
                 patterns=[f"{HERE}/output/pages.jsonl"], what="the second try")
        self.test.check(self.urls(state) == [url, url + "a", url + "b"], "not all pages",
                        self.urls(state))
        said = self.run(folder, "crawl", url, *QUICK, "--allow-private", code=t.EXIT_FAILURE,
                        patterns=[f"resume {HERE}", "--fresh", "-o DIR"], what="the third time")
        self.test.check("fetched 3 pages" in said, "it does not say how far the crawl is", said)
        self.run(folder, "resume", HERE, what="resume of the directory")
        self.run(folder, "resume", url, what="resume of the URL")
        self.run(folder, "crawl", url, *QUICK, "--allow-private", "--or-resume")
        self.run(folder, "crawl", url, *QUICK, "--allow-private", "--fresh")
        self.test.check([each.name for each in folder.iterdir()] == [HERE], "more than one directory")

    def set_names_the_same_key(self):
        folder = self.folder("set")
        self.run(folder, "crawl", self.server.url(), *QUICK, code=t.EXIT_INCOMPLETE)
        self.run(folder, "crawl", self.server.url(), *QUICK,
                 "--set", "fetch.allow_private_addresses=true")
        self.test.check(len(self.urls(folder / HERE)) == 3, "the held URL was not fetched")

    def options_of_crawl(self):
        folder = self.folder("options")
        url = self.server.url()
        common = [*QUICK, "--allow-private"]
        self.run(folder, "crawl", url, *common, "-o", "shallow/state", "--depth", "0")
        self.test.check(self.urls(folder / "shallow" / "state") == [url], "--depth 0")
        self.run(folder, "crawl", url, *common, "-o", "two", "--max-pages", "2")
        self.test.check(len(self.urls(folder / "two")) == 2, "--max-pages 2")
        self.run(folder, "crawl", url, *common, "-o", "page", "--scope", "page", "--warc")
        self.test.check(self.urls(folder / "page") == [url], "--scope page")
        self.test.check(list((folder / "page" / "output").glob("*.warc*")), "--warc")
        config = t.write_config(folder / "c.toml", t.fast_crawl([url], folder / "of-config"))
        self.run(folder, "crawl", config, "--max-pages", "1", "-o", "elsewhere")
        self.test.check(len(self.urls(folder / "elsewhere")) == 1, "options of a config")
        self.test.check(not (folder / "of-config").exists(), "-o did not replace the directory")

    def many_inputs(self):
        folder = self.folder("inputs")
        url = self.server.url()
        common = [*QUICK, "--allow-private", "--depth", "0"]
        (folder / "urls").write_text(f"# pages\n{url}a\n\n{{\"url\": \"{url}b\", \"status\": 200}}\n")
        self.run(folder, "crawl", url, "urls", *common)
        self.test.check(self.urls(folder / HERE) == [url, url + "a", url + "b"], "URLs and a file")
        self.run(folder, "crawl", "-", *common, "-o", "stdin", stdin=f"{url}a\n\"{url}b\"\n")
        self.test.check(self.urls(folder / "stdin") == [url + "a", url + "b"], "standard input")
        config = t.write_config(folder / "c.toml", t.fast_crawl([url], folder / "mixed"))
        self.run(folder, "crawl", config, url + "a", *common)
        self.test.check(self.urls(folder / "mixed") == [url, url + "a"], "a config and a URL")
        text = config.read_text().replace("mixed", "piped")
        self.run(folder, "crawl", "-", *common, stdin=text)
        self.test.check(self.urls(folder / "piped") == [url], "a config on standard input")
        self.run(folder, "check-config", "-", stdin=text, patterns=["ok, 1 seed"])
        self.run(folder, "check-config", folder / "piped", patterns=["ok, 1 seed"])
        self.run(folder, "frontier", "stats", config, patterns=["admitted"])

    def values_as_people_write_them(self):
        folder = self.folder("values")
        config = folder / "v.toml"
        config.write_text('[crawl]\nseeds = "https://example.com/"\nstate_dir = "s"\n'
                          '[politeness]\ndelay = "1 s"\n[fetch]\nmax_body = "10M"\n'
                          '[scope]\nexclude = "*.pdf"\n')
        self.run(folder, "check-config", config, "--set", "fetch.max_download=10 MB", "--set",
                 "politeness.host_backoff=1 min", "--set", "scope.include=*/a/*", patterns=["ok"])
        config.write_text('[crawl]\nseeds = "https://example.com/"\nstate_dir = "s"\n'
                          '[politeness]\ndelay = 1s\n')
        self.run(folder, "check-config", config, code=t.EXIT_BAD_CONFIG,
                 patterns=["v.toml:5", "in quotes", '"1s"'])

    def init_prints_a_config(self):
        folder = self.folder("init")
        text = self.run(folder, "init", "example.com", "--depth", "3", "--warc", "--delay", "2s",
                        patterns=["https://example.com/", "max_depth = 3", 'delay = "2s"',
                                  "\nwarc = true", "# "])
        self.test.check(len(text.splitlines()) < 60, "the config is not short")
        (folder / "c.toml").write_text(text)
        self.run(folder, "check-config", "c.toml", patterns=["ok, 1 seed"])
        self.test.check(not (folder / "example.com").exists(), "init made a directory")

    # --- errors

    def errors_leave_nothing(self):
        folder = self.folder("errors")
        before = {"file"}
        (folder / "file").write_text("x\n")
        for arguments, code, patterns in (
                (["crawl", "ftp://example.com/"], t.EXIT_USAGE, ["http(s)"]),
                (["crawl", "htp://example.com/"], t.EXIT_USAGE, ["did you mean http://example.com/?"]),
                (["crawl", "nothing"], t.EXIT_FAILURE, ["no such", "https://nothing/"]),
                (["crawl", "example.com", "--scope", "hots"], t.EXIT_USAGE, ["--scope", '"host"']),
                (["crawl", "example.com", "--depth", "-1"], t.EXIT_USAGE, ["--depth"]),
                (["crawl", "example.com", "--delay", "soon"], t.EXIT_USAGE, ["--delay"]),
                (["crawl", "example.com", "--set", "scope.typ=host"], t.EXIT_BAD_CONFIG,
                 ["scope.type"]),
                (["crawl", "example.com", "-o", "file/state"], t.EXIT_FAILURE, ["file"]),
                (["crawl", "example.com", "--set", "output.directory=file"], t.EXIT_FAILURE, ["file"]),
                (["crawl", "example.com", "--set", "log.file=file/x/log"], t.EXIT_FAILURE,
                 ["log.file"]),
                (["crawl", "example.com", "--set", "scope.blocklist=none"], t.EXIT_FAILURE, ["none"]),
                (["resume", "example.com"], t.EXIT_FAILURE, ["no crawl"]),
                (["frontier", "stats", "http://example.com/"], t.EXIT_FAILURE, ["example.com"])):
            self.run(folder, *arguments, code=code, patterns=patterns)
            left = {each.name for each in folder.iterdir()}
            self.test.check(left == before, f"{' '.join(arguments)} left {left - before}")
        self.run(folder, "crawl", "-", stdin="https://example.com/\nnot a url\n", code=t.EXIT_USAGE,
                 patterns=["standard input:2"])
        for blank in ("", " \n\n"):
            self.run(folder, "crawl", "-", stdin=blank, code=t.EXIT_USAGE,
                     patterns=["standard input is empty: give URLs"])

    def misspelt_words(self):
        for arguments, patterns in (
                (["crwal", "x"], ["did you mean trawl crawl?"]),
                (["https://example.com/"], ["did you mean trawl crawl https://example.com/?"]),
                (["frontier", "dmup"], ["did you mean trawl frontier dump?"]),
                (["crawl", "example.com", "--dpeth", "3"], ["did you mean --depth?", "help crawl"]),
                (["crawl", "example.com", "--max-depth=3"], ["--set scope.max_depth=VALUE"]),
                (["help", "crwal"], ["did you mean trawl crawl?"]),
                (["crawl"], ["INPUT is required", "trawl help crawl"])):
            self.run(self.directory, *arguments, code=t.EXIT_USAGE, patterns=patterns)

    def help_of_every_command(self):
        alone = self.run(self.directory, patterns=["Usage: trawl", "crawl", "Examples:"])
        self.test.check(alone == self.run(self.directory, "help"), "trawl and trawl help differ")

        def check(command, path):
            said = self.run(self.directory, *path, "--help")
            self.test.check(said == self.run(self.directory, "help", *path),
                            f"help {' '.join(path)} is not --help")
            wanted = {"Examples", "Exit status"} | ({"Output"} if path != ["explain"] else set())
            missing = wanted - {section["title"] for section in command["sections"]}
            self.test.check(not missing, f"the help of {' '.join(path)} has no {sorted(missing)}")
            for each in command["commands"]:
                check(each, [*path, each["name"]])

        reference = json.loads(self.run(self.directory, "help-reference"))
        for command in reference["commands"]:
            check(command, [command["name"]])

    # --- redirects

    def seeds_that_redirect(self):
        folder = self.folder("redirects")
        seed, there = self.server.url("/moved"), f"http://{THERE}:{self.server.port}"
        self.run(folder, "crawl", seed, *QUICK, "--allow-private", "--max-pages", "2")
        state = folder / HERE
        self.test.check(self.urls(state) == [seed, there + "/home"], "the redirect was not followed",
                        self.urls(state))
        self.run(folder, "resume", HERE, "--max-pages", "100")
        self.test.check(self.urls(state) == [seed, there + "/a", there + "/b", there + "/home"],
                        "a resumed crawl does not know the new host", self.urls(state))
        said = self.run(folder, "explain", state / "crawl.toml", there + "/z")
        self.test.check("out of scope" not in said, "explain does not agree", said)
        said = self.run(folder, "explain", state / "crawl.toml", "http://127.0.0.3/z", code=1)
        self.test.check("out of scope" in said, "everything is in scope", said)


def main(test, directory, options):
    with site() as server:
        t.run_cases(test, Cases(test, directory, options, server), {"folder", "run", "urls"},
                    options.only)


if __name__ == "__main__":
    parser = t.parser(__doc__)
    parser.add_argument("--only", nargs="*", help="the cases to run")
    t.main(main, parser.parse_args())
