"""What settings mean: which have no effect and say so, and what each is good for beyond its run."""

import os
import pwd
import subprocess

import trawl_testing as t
from resume_test import TreeServer, check_all
from scripted_server import NOT_FOUND, ScriptedServer, answer, links


def write(directory, name, seeds, **tables):
    return t.write_config(directory / f"{name}.toml",
                          t.fast_crawl(seeds, directory / f"{name}-state", **tables))


def check_says(test, finished, text, what):
    test.check(text in " ".join(finished.text.split()), f"{what}: does not say {text!r}",
               finished.tail())


def demo(test, directory, options, server):
    temporary = directory / "temporary"
    temporary.mkdir()
    kept = directory / "kept"
    environment = {**os.environ, "TMPDIR": str(temporary)}
    for arguments in ([], ["--directory", kept]):
        finished = subprocess.run([options.trawl, "demo", "--pages", "30", *arguments],
                                  env=environment, capture_output=True, timeout=60, check=False)
        test.check(finished.returncode == 0, f"demo {arguments}", finished.stderr.decode())
        test.check(not list(temporary.iterdir()), f"demo {arguments} left files",
                   list(temporary.rglob("*")))
    test.check((kept / "output" / "pages.jsonl").exists(), "demo --directory keeps nothing")
    again = subprocess.run([options.trawl, "demo", "--directory", kept], env=environment,
                           capture_output=True, timeout=60, check=False)
    test.check(again.returncode == 1 and (kept / "MANIFEST").exists(), "demo where a crawl is",
               again.stderr.decode())


def home(test, directory, options, server):
    """~ in paths, for which no shell stands in."""
    at_home = directory / "home"
    at_home.mkdir()
    (at_home / "seeds.txt").write_text(server.url() + "\n")
    (at_home / "blocked.txt").write_text(server.url("/1") + "\n")
    config = t.write_config(directory / "home.toml", t.fast_crawl(
        [], "~/state", scope={"blocklist": ["~/blocked.txt"]}, output={"directory": "~//deep/out"},
        log={"file": "~/crawl.log"}))
    config.write_text(config.read_text().replace("seeds = []", 'seed_file = "~/seeds.txt"'))
    environment = {**os.environ, "HOME": str(at_home)}

    def trawl(*arguments):
        return subprocess.run([options.trawl, *map(str, arguments)], cwd=directory, env=environment,
                              capture_output=True, timeout=60, check=False)

    finished = trawl("crawl", config)
    test.check(finished.returncode == 0, "a crawl at home", finished.stderr.decode())
    for name in ("state/MANIFEST", "deep/out/pages.jsonl", "crawl.log"):
        test.check((at_home / name).exists(), f"no {name}", finished.stdout.decode())
    test.check(not (directory / "~").exists(), "a directory named ~")
    test.check(f'"{at_home}/state"' in (at_home / "state" / "crawl.toml").read_text(), "crawl.toml")
    finished = trawl("crawl", config, "--set", "crawl.state_dir=~/other", "--set",
                     "output.directory=~/other-out")
    test.check(finished.returncode == 0 and (at_home / "other" / "MANIFEST").exists(),
               "--set with ~", finished.stderr.decode())
    finished = trawl("check-config", config, "--set", "crawl.state_dir=~nobody-of-this-name/x")
    test.check(finished.returncode == t.EXIT_BAD_CONFIG and b"nobody-of-this-name" in finished.stderr,
               "the home of nobody", finished.stderr.decode())
    user = pwd.getpwuid(os.getuid()).pw_name
    finished = trawl("check-config", config, "--set", f"log.file=~{user}/x")
    test.check(finished.returncode == 0, f"~{user}", finished.stderr.decode())


def retry_after(test, directory, options, server):
    """A server may ask for a day, and gets what the config allows."""
    asked = []

    def respond(request):
        if request.path == "/":
            return answer(links(["/busy"]))
        if request.path != "/busy":
            return None if request.path != "/robots.txt" else NOT_FOUND
        asked.append(request.path)
        if len(asked) == 1:
            return answer("", "503 Service Unavailable", "Retry-After: 86400")
        return answer("<p>now")

    with ScriptedServer(respond) as busy:
        config = write(directory, "retry-after", [busy.url()], fetch={"retries": 2, "retry_delay": "10ms"},
                       politeness={"max_retry_after": "300ms"})
        finished = t.run(options, directory, "crawl", config, timeout=60)
    t.expect_exit(test, finished, t.EXIT_DONE, "max_retry_after")
    test.check(len(asked) == 2, "the page was not requested again", asked)


def in_vain(test, directory, options, server):
    """Settings that others take the effect from."""
    sitemaps = "links.sitemaps = true has no effect with politeness.respect_robots = false"
    config = write(directory, "in-vain", [server.url()], links={"sitemaps": True})
    config.write_text(config.read_text().replace("[politeness]\n",
                                                 "[politeness]\nrespect_robots = false\n"))
    for command in ("check-config", "crawl", "resume"):
        finished = t.run(options, directory, command, config)
        t.expect_exit(test, finished, t.EXIT_DONE, f"{command}, a setting without effect")
        check_says(test, finished, sitemaps, command)
        fine = t.run(options, directory, command, config, "--set", "links.sitemaps=false")
        test.check("no effect" not in fine.text, f"{command}: a warning although every setting has an effect", fine.tail())


def without_effect(test, directory, options, server):
    """What a crawl keeps as it was begun."""
    first = directory / "first-output"
    config = write(directory, "kept", [server.url()], output={"directory": str(first)})
    state = directory / "kept-state"
    t.expect_exit(test, t.run(options, directory, "crawl", config, "--set", "scope.max_pages=4",
                              "--set", "filter.expected_urls=5000"), t.EXIT_DONE, "a crawl")
    other = directory / "other-output"
    for number, (setting, says) in enumerate((
            ("filter.expected_urls=70000", "filter.expected_urls = 70000 has no effect"),
            ("filter.false_positive_rate=1e-3", "filter.false_positive_rate = 0.001 has no effect"),
            ("frontier.ledger=true", "frontier.ledger = true has no effect"),
            (f'output.directory="{other}"', f"output.directory = {other} has no effect"))):
        for target in (config, state):
            finished = t.run(options, directory, "resume", target, "--set", setting,
                             "--set", f"scope.max_pages={5 + number}")
            t.expect_exit(test, finished, t.EXIT_DONE, f"resumed with {setting}")
            check_says(test, finished, says, f"resumed with {setting}")
    plain = t.run(options, directory, "resume", state)
    t.expect_exit(test, plain, t.EXIT_DONE, "resumed with nothing else")
    test.check("no effect" not in plain.text, "a warning of nothing", plain.tail())
    test.check(not other.exists() and not (state / "output").exists(), "output is split")
    (state / "output").symlink_to(first)
    check_all(test, server, state, "resumed with settings without effect")
    (state / "output").unlink()
    # Output that was moved is found where the config says it is.
    first.rename(other)
    moved = t.run(options, directory, "resume", config, "--set", f'output.directory="{other}"')
    t.expect_exit(test, moved, t.EXIT_DONE, "resumed with output that was moved")
    test.check("output.directory" not in moved.text and not first.exists(), "output that was moved",
               moved.tail())
    again = t.run(options, directory, "resume", state)
    test.check("no effect" not in again.text and not first.exists(), "moved, and again",
               again.tail())
    ledger = write(directory, "ledger", [server.url()], frontier={"ledger": True})
    t.run(options, directory, "crawl", ledger)
    finished = t.run(options, directory, "resume", ledger, "--set", "frontier.ledger=false")
    check_says(test, finished, "frontier.ledger = false has no effect", "a ledger that is there")


def for_a_run(test, directory, options, server):
    """--set holds for its run only."""
    config = write(directory, "run", [server.url()])
    state = directory / "run-state"
    limited = t.run(options, directory, "crawl", config, "--set", "scope.max_pages=3",
                    "--set", "fetch.headers=['X-Run: one']", "--set", "url.rules=['sort_query']",
                    "--set", "output.warc=true", "--set", "output.warc_prefix='first'")
    t.expect_exit(test, limited, t.EXIT_DONE, "a crawl with --set")
    saved = (state / "crawl.toml").read_text()
    for setting in ("max_pages = 3", "X-Run", "warc = true", '"first"'):
        test.check(setting not in saved, f"{setting} is kept", saved)
    test.check("sort_query" in saved, "the rules for keys are not kept", saved)
    test.check("--set scope.max_pages=6" in limited.text and "X-Run" in limited.text,
               "the resume command does not repeat --set", limited.tail())
    more = t.run(options, directory, "resume", state, "--set", "scope.max_pages=5")
    t.expect_exit(test, more, t.EXIT_DONE, "resumed with --set")
    test.check(len(t.read_pages(test, state)) == 5, "max_pages of the second run", more.tail())
    t.expect_exit(test, t.run(options, directory, "resume", state), t.EXIT_DONE, "without --set")
    check_all(test, server, state, "without --set")
    # WARC files of a killed run are closed by the next, with any settings.
    slow = write(directory, "slow", [server.url()], politeness={
        "delay": "50ms", "per_host_connections": 1})
    killed = t.Run(options, directory, "crawl", slow, "--set", "output.warc=true",
                   "--set", "output.warc_prefix=mine")
    output = directory / "slow-state" / "output"
    # With a whole record in it: without one there is nothing to keep.
    t.wait_until(lambda: (output / "pages.jsonl").exists()
                 and (output / "pages.jsonl").read_text().count("\n") > 1, "a WARC record")
    killed.kill()
    t.expect_exit(test, t.run(options, directory, "resume", slow), t.EXIT_DONE, "after a kill")
    test.check(not list(output.glob("*.open")) and list(output.glob("mine-*.warc.gz")),
               "WARC files are left open", list(output.iterdir()))
    # What the file does not have and must be there.
    bare = directory / "bare.toml"
    bare.write_text("[fetch]\nallow_private_addresses = true\n[politeness]\ndelay = '0ms'\n")
    given = ["--set", f'crawl.seeds=["{server.url()}"]', "--set", "crawl.state_dir=bare-state"]
    t.expect_exit(test, t.run(options, directory, "crawl", bare, *given, "--set",
                              "scope.max_pages=4"), t.EXIT_DONE, "all by --set")
    t.expect_exit(test, t.run(options, directory, "resume", "bare-state"), t.EXIT_DONE,
                  "all by --set, resumed")
    check_all(test, server, directory / "bare-state", "all by --set")


def memory(test, directory, options, server):
    """check-config prints what cookies and host limits take of fetch.max_memory."""
    config = write(directory, "memory", [server.url()])

    def checked(*settings):
        given = [word for each in settings for word in ("--set", each)]
        finished = t.run(options, directory, "check-config", config, *given)
        t.expect_exit(test, finished, t.EXIT_DONE, f"check-config {settings}")
        return finished.text

    test.check("memory:" not in checked(), "memory of tables that are not there")
    for settings, most in ((["fetch.cookies=true"], "24MiB"),
                           (["fetch.cookies=true", "fetch.threads=1"], "16MiB"),
                           (["scope.max_pages_per_host=9"], "20MiB"),
                           (["scope.max_urls_per_host=9"], "72MiB")):
        text = checked(*settings)
        test.check(f"take at most {most} of fetch.max_memory = 256MiB" in text
                   and "warning: fetch.max_memory" not in text, f"memory of {settings}", text)
    text = checked("fetch.cookies=true", "fetch.threads=100")
    test.check("warning: fetch.max_memory: cookies and host limits may take 808MiB" in text,
               "more than there is, without a warning", text)


def settings(test, directory, options):
    server = TreeServer()
    try:
        for part in (demo, home, retry_after, in_vain, without_effect, for_a_run, memory):
            print(part.__name__, flush=True)
            part(test, directory, options, server)
    finally:
        server.stop()


if __name__ == "__main__":
    t.main(settings, t.parser(__doc__).parse_args())
