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
    test.check(len(asked) == 2, "the page was not asked for again", asked)


def in_vain(test, directory, options, server):
    """Settings that others take the effect from."""
    sitemaps = "links.sitemaps = true has no effect with politeness.respect_robots = false"
    config = write(directory, "in-vain", [server.url()], links={"sitemaps": True})
    config.write_text(config.read_text().replace("[politeness]\n",
                                                 "[politeness]\nrespect_robots = false\n"))
    for command in ("check-config", "crawl", "resume"):
        finished = t.run(options, directory, command, config)
        t.expect_exit(test, finished, t.EXIT_DONE, f"{command}, a setting in vain")
        check_says(test, finished, sitemaps, command)
        fine = t.run(options, directory, command, config, "--set", "links.sitemaps=false")
        test.check("no effect" not in fine.text, f"{command}: nothing is in vain", fine.tail())


def settings(test, directory, options):
    server = TreeServer()
    try:
        for part in (demo, home, retry_after, in_vain):
            print(part.__name__, flush=True)
            part(test, directory, options, server)
    finally:
        server.stop()


if __name__ == "__main__":
    t.main(settings, t.parser(__doc__).parse_args())
