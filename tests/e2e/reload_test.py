"""SIGHUP: the config file is read again while a crawl runs; a broken one changes nothing."""

import signal
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links


def site():
    """A first page with links to /a/N and /b/N; no robots.txt."""

    def respond(request):
        if request.path == "/":
            return answer(links([f"/{kind}/{i}" for i in range(200) for kind in "ab"]))
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        return answer("<p>a page")

    return ScriptedServer(respond, addresses=("127.0.0.1",))


def changes(test, directory, options):
    with site() as server:
        seed = server.url("/")
        state = directory / "state"
        tables = t.fast_crawl([seed], state, **{
            "politeness": {"delay": "50ms", "per_host_connections": 1}})
        config = t.write_config(directory / "crawl.toml", tables)
        log = directory / "trawl.log"
        run = t.Run(options, directory, "crawl", config)

        def asked(part):
            return [request.path for request in server.pages if request.path.startswith(part)]

        t.wait_until(lambda: asked("/b/"), "a request of /b/")
        # A broken file.
        config.write_text(config.read_text() + "\n[nonsense]\nx = 1\n")
        run.signal(signal.SIGHUP)
        t.wait_until(lambda: "nothing is changed" in run.text, "the refusal of a broken config")
        test.check("nonsense" in run.text, "the refusal names the key", run.text)
        # Narrower, elsewhere logged, and one key that needs a restart.
        tables["scope"] = {**tables.get("scope", {}), "exclude": ["*/b/*"]}
        tables["fetch"] = {**tables.get("fetch", {}), "max_redirects": 3}
        t.write_config(config, tables)
        run.signal(signal.SIGHUP)
        t.wait_until(lambda: "changed: scope.exclude" in run.text, "the new scope")
        t.wait_until(lambda: "needs a restart: fetch.max_redirects: 10 -> 3" in run.text,
                     "what needs a restart")
        before = len(asked("/b/"))
        count = len(asked("/a/"))
        t.wait_until(lambda: len(asked("/a/")) > count + 5, "pages that are in scope")
        test.check(len(asked("/b/")) <= before + 1, "pages out of scope are not fetched",
                   asked("/b/"))
        # What an earlier reload held is not its result.
        again = subprocess.run([options.trawl, "reload", state], capture_output=True, text=True,
                               timeout=60)
        test.check(again.stdout == "nothing has changed\n", "a reload without changes",
                   again.stdout + again.stderr)
        # Wider again, and the log goes to a file from now on.
        tables["scope"].pop("exclude")
        tables["log"] = {**tables.get("log", {}), "file": str(log)}
        t.write_config(config, tables)
        run.signal(signal.SIGHUP)
        t.wait_until(lambda: len(asked("/b/")) > before + 2, "held pages are fetched again")
        t.wait_until(lambda: log.exists() and "changed: log.file" in log.read_text(),
                     "the log in its file")
        # A log that was renamed is left.
        log.rename(directory / "old.log")
        run.signal(signal.SIGHUP)
        t.wait_until(lambda: log.exists() and "as before" in log.read_text(), "another log")
        run.signal(signal.SIGINT)
        run.wait()


def redirected_seed(test, directory, options):
    """A depth that a [[seed]] gets by a reload holds where the seed redirects to."""

    def respond(request):
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        if request.host.startswith("127.0.0.1:"):
            return answer("", "302 Found", f"Location: {server.url('/0', '127.0.0.2')}")
        return answer(links([f"/{int(request.path[1:]) + 1}"]))

    with ScriptedServer(respond, addresses=("127.0.0.1", "127.0.0.2")) as server:
        tables = t.fast_crawl([], directory / "redirected", politeness={"delay": "50ms"})
        tables["crawl"].pop("seeds")
        config = t.write_config(directory / "redirected.toml", tables)
        text = config.read_text() + f'\n[[seed]]\nurl = "{server.url()}"\n'
        config.write_text(text)
        run = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: len(server.pages) > 8, "pages without an end")
        config.write_text(text + "depth = 3\n")
        run.signal(signal.SIGHUP)
        t.wait_until(run.ended, "the end of the crawl: all others are too deep")
        test.check("too deep" in run.text, "too deep", run.text)


if __name__ == "__main__":
    t.main(lambda *given: (changes(*given), redirected_seed(*given)), t.parser(__doc__).parse_args())
