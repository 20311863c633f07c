"""The judge of crawls itself: what is wrong in a log is found, what is right is not."""

import trawl_testing as t
import crawl_judge as judge
from tree_site import Fetch, Tree

DELAY = 0.2


def right_log(tree):
    """Each page once, each host at its delay, by two crawlers in turns."""
    turn, log = {}, []
    for page in range(tree.pages):
        host = tree.host(page)
        at = turn[host] = turn.get(host, 100.0) + DELAY
        log.append(Fetch(at, host, f"/{page}", f"c{page % 2}"))
    return log


def lines_of(tree):
    return [{"url": tree.url(page), "status": 200} for page in range(tree.pages)]


def right(test, tree, log):
    kill = judge.Fault("kill", 101.0, 101.0, {"c1"})
    for name, problems in (("coverage", judge.judge_coverage(tree, log)), ("gaps", judge.judge_gaps(log, DELAY)),
                           ("repeats", judge.judge_repeats(log, [kill], 1.0, 5)[0]),
                           ("output", judge.judge_output(tree, lines_of(tree))),
                           ("lines", judge.judge_lines(lines_of(tree), log)),
                           ("admissions", judge.judge_admissions([b"a", b"b"], 2)),
                           ("end", judge.judge_end({0: {"open": 0}, 1: {"open": 0, "inbox": 0}}))):
        test.check(not problems, f"a right log: {name}", problems)


def wrong_coverage(test, tree, log):
    for index in (0, tree.pages // 2, tree.pages - 1):
        test.check(len(judge.judge_coverage(tree, log[:index] + log[index + 1:])) == 1, f"page {index} is lost")
    elsewhere = next(host for host in tree.hosts if host != log[7].host)
    test.check(len(judge.judge_coverage(tree, [*log[:7], log[7]._replace(host=elsewhere), *log[8:]])) == 2,
               "a page at another host")
    test.check(judge.judge_coverage(tree, [*log, log[0]._replace(path=f"/{tree.pages}")]), "an unknown page")


def wrong_gaps(test, tree, log):
    first = log[-1]
    close = first._replace(at=first.at + DELAY - 0.01, path="/0", agent="c7")
    test.check(len(judge.judge_gaps([*log, close], DELAY)) == 1, "a gap that is too small")
    test.check(len(judge.judge_gaps([*log, close._replace(path=judge.ROBOTS)], DELAY)) == 1,
               "robots.txt too early")
    test.check(not judge.judge_gaps([*log, close], DELAY, thaws=[("c7", close.at - 0.01)]), "a request that "
               "was sent when its crawler thawed")
    after = close._replace(at=close.at + 0.05, path="/after", agent="c8")
    test.check(not judge.judge_gaps([*log, close, after], DELAY, thaws=[("c7", close.at - 0.01)]),
               "and the next one after it")
    another = after._replace(agent="c7"), after._replace(at=after.at + 0.04)
    test.check(judge.judge_gaps([*log, close, *another], DELAY, thaws=[("c7", close.at - 0.01)]),
               "two that were sent when it thawed")
    test.check(judge.judge_gaps([*log, close], DELAY, thaws=[("c8", close.at - 0.01)]), "another one thawed")
    early = first._replace(at=first.at + 1, path="/1", agent="c7")
    test.check(judge.judge_gaps([*log, early, early._replace(at=early.at + 0.05, path="/2", agent="c8")], DELAY,
                                thaws=[("c7", early.at - 0.01)]), "too soon after one that came in time")
    test.check(judge.judge_gaps([*log, close], DELAY, thaws=[("c7", close.at - 1)]), "it thawed before")
    # A host of the same domain, at the same time.
    name = next(host for host in tree.hosts if host.startswith("h0."))
    sister = [Fetch(500.0, name, "/x", "c0"), Fetch(500.1, "h1" + name[2:], "/y", "c0")]
    test.check(not judge.judge_gaps(sister, DELAY), "two hosts of a domain")
    test.check(len(judge.judge_gaps(sister, DELAY, tree.domain, "domain")) == 1, "a domain that is asked too soon")
    test.check(abs(judge.smallest_gap([*log, close]) - (DELAY - 0.01)) < 1e-6, "the smallest gap")


def wrong_repeats(test, log):
    again = log[5]._replace(at=log[5].at + 60)  # page 5, by c1
    at = log[5].at
    kill = judge.Fault("kill", at + 0.5, at + 0.5, {"c1"})
    none = judge.judge_repeats([*log, again], [], 1.0, 5)[0]
    test.check(len(none) == 1, "a double fetch without a cause", none)
    problems, causes = judge.judge_repeats([*log, again], [kill], 1.0, 5)
    test.check(not problems and causes == {"kill": 1}, "a double fetch after a kill", problems)
    test.check(judge.judge_repeats([*log, again], [kill._replace(agents={"c0"})], 1.0, 5)[0], "another was killed")
    under_way = kill._replace(at=at - 0.01, until=at - 0.01)
    test.check(not judge.judge_repeats([*log, again], [under_way], 1.0, 5)[0], "a request on its way at the kill")
    after = kill._replace(at=at - 0.5, until=at - 0.5)
    test.check(judge.judge_repeats([*log, again], [after], 1.0, 5)[0], "a request long after the kill")
    test.check(judge.judge_repeats([*log, again], [kill._replace(at=at + 5, until=at + 5)], 1.0, 5)[0],
               "it was killed long after")
    test.check(judge.judge_repeats([*log, again], [kill._replace(at=at + 61, until=at + 61)], 100.0, 5)[0],
               "it was killed after the second fetch")
    many = [fetch._replace(at=fetch.at + 60) for fetch in log if fetch.agent == "c1"]
    test.check(judge.judge_repeats([*log, *many], [kill], 1000.0, 5)[0], "more repeats than could be unfinished")


def wrong_output(test, tree, log):
    lines = lines_of(tree)
    test.check(len(judge.judge_output(tree, lines[1:])) == 1, "a page without a line")
    test.check(len(judge.judge_output(tree, [*lines, {"url": "http://x/", "status": 200}])) == 1, "a line of no page")
    test.check(len(judge.judge_output(tree, [{**lines[0], "status": 404}, *lines[1:]])) == 1, "a line with 404")
    test.check(len(judge.judge_lines([*lines, lines[3]], log)) == 1, "two lines of one fetch")
    test.check(len(judge.judge_admissions([b"a", b"b", b"a"], 2)) == 1, "a URL that was admitted twice")
    test.check(len(judge.judge_admissions([b"a"], 2)) == 1, "a URL that was not admitted")
    test.check(len(judge.judge_end({3: {"open": 1, "inbox": 0}, 4: {"open": 0, "inbox": 2}})) == 2,
               "URLs and messages that are left")


def crawl_judge(test, directory, options):
    del directory, options
    tree = Tree(400, 30)
    tree.port = 80
    log = right_log(tree)
    right(test, tree, log)
    wrong_coverage(test, tree, log)
    wrong_gaps(test, tree, log)
    wrong_repeats(test, log)
    wrong_output(test, tree, log)
    # A tree: exactly one link to each page but the root, apart from links back.
    linked = [child for page in range(tree.pages) for child in tree.children(page)]
    test.check(sorted(linked) == list(range(1, tree.pages)), "the pages are not a tree")


if __name__ == "__main__":
    t.main(crawl_judge, t.parser(__doc__).parse_args())
