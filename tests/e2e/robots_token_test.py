"""By which name a crawl obeys rules for robots, and what check-config says of its user agent."""

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links

AGENT = "Mozilla/5.0 (compatible; mybot/1.0; +https://my.site/bot)"
ROBOTS = """User-agent: Mozilla
Disallow: /for-mozilla
User-agent: mybot
Disallow: /for-mybot
User-agent: otherbot
Disallow: /for-otherbot
User-agent: *
Disallow: /for-all
"""
NAMES = ("mozilla", "mybot", "otherbot")


def site():
    answers = {"/robots.txt": answer(ROBOTS, content_type="text/plain")}
    paths = ["/for-all"]
    for name in NAMES:
        paths += [f"/for-{name}", f"/meta-{name}", f"/header-{name}"]
        below = links([f"/below-meta-{name}"])
        answers[f"/for-{name}"] = answer("<p>" + name)
        answers[f"/meta-{name}"] = answer(f"<meta name={name} content=nofollow>{below}")
        answers[f"/header-{name}"] = answer(links([f"/below-header-{name}"]), "200 OK",
                                            f"X-Robots-Tag: {name}: nofollow")
        for kind in ("meta", "header"):
            answers[f"/below-{kind}-{name}"] = answer("<p>below")
    answers["/for-all"] = answer("<p>all")
    answers["/"] = answer(links(paths))
    return ScriptedServer(answers)


def forbidden_to(name):
    """What a crawler of that name does not ask for."""
    return {f"/for-{name}", f"/below-meta-{name}", f"/below-header-{name}"}


def crawls(test, directory, options):
    everything = set().union(*(forbidden_to(name) for name in NAMES)) | {"/", "/for-all"} | {
        f"/{kind}-{name}" for kind in ("meta", "header") for name in NAMES}
    for name, agent, token in (("mybot", AGENT, None), ("otherbot", AGENT, "otherbot"),
                               ("mozilla", "Mozilla/5.0 (X11; Linux)", None),
                               ("otherbot", "otherbot/2.0 (compatible; mybot/1.0)", None),
                               ("mozilla", "mybot/1.0", "Mozilla")):
        key = {} if token is None else {"robots_token": token}
        what = f"{agent}, token {token}"
        with site() as server:
            state = directory / f"crawl-{name}-{token}-{agent[:3]}"
            config = t.write_config(directory / f"{state.name}.toml", t.fast_crawl(
                [server.url()], state, crawl={"user_agent": agent, **key}))
            t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, what)
            test.check_equal_sets(set(server.paths()), everything - forbidden_to(name), what)
            test.check(all(request.headers["user-agent"] == agent for request in server.requests),
                       f"{what}: another user agent was sent")
            for path, allowed in ((f"/for-{name}", False), ("/for-all", True)):
                explained = t.run(options, directory, "explain", config, server.url(path),
                                  "--fetch-robots")
                test.check("robots.txt " + ("allowed" if allowed else "disallowed") in
                           " ".join(explained.text.split()), f"{what}: explain {path}",
                           explained.text)


def robots_command(test, directory, options):
    robots = directory / "robots.txt"
    robots.write_text(ROBOTS)
    for agent, path, code in ((AGENT, "/for-mybot", 1), (AGENT, "/for-mozilla", 0),
                              ("mybot/1.0", "/for-mybot", 1), ("Mozilla/5.0", "/for-mozilla", 1)):
        finished = t.run(options, directory, "robots", robots, agent, path)
        t.expect_exit(test, finished, code, f"trawl robots: {agent} {path}")


def check_config(test, directory, options):
    def check(agent, *more):
        tables = t.fast_crawl(["http://127.0.0.1/"], directory / "none")
        if agent is not None:
            tables["crawl"]["user_agent"] = agent
        config = t.write_config(directory / "checked.toml", tables)
        finished = t.run(options, directory, "check-config", config, *more)
        t.expect_exit(test, finished, t.EXIT_DONE, f"check-config: {agent}")
        return finished.text

    for agent, token in ((AGENT, "mybot"), ("mybot/1.0 (me@my.site)", "mybot"),
                         ("Mozilla/5.0 (X11) (me@my.site)", "Mozilla")):
        text = check(agent)
        test.check(f"robots.txt token: {token}\n" in text, f"{agent}: no token {token}", text)
        test.check("warning" not in text, f"{agent}: a warning", text)
    text = check(AGENT, "--set", "crawl.robots_token=otherbot")
    test.check("robots.txt token: otherbot\n" in text, "no token otherbot", text)
    for agent in (None, "mybot/1.0", "mybot/1.0 (+https://example.org/mybot; crawler@example.org)"):
        text = check(agent)
        test.check("warning: crawl.user_agent" in text, f"{agent}: no warning", text)


def robots_token(test, directory, options):
    crawls(test, directory, options)
    robots_command(test, directory, options)
    check_config(test, directory, options)


if __name__ == "__main__":
    t.main(robots_token, t.parser(__doc__).parse_args())
