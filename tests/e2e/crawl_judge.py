"""Judges a crawl of a tree (tree_site.py) by what the site's log, the output of all crawlers and
Redis have. Each judgement returns a list of problems, and an empty one if there are none."""

import collections

# Kernel's times of arrival are exact; a crawler's turns are, to the microsecond.
TOLERANCE = 0.004
# A request that a crawler sent just before it was killed arrives this much later at most.
UNDER_WAY = 0.05
ROBOTS = "/robots.txt"

# What happened to some crawlers (their user agents; None: all) from `at` to `until`: pages that they
# requested shortly before may be fetched again.
Fault = collections.namedtuple("Fault", "kind at until agents")


def pages_of(fetches):
    return [fetch for fetch in fetches if fetch.path != ROBOTS]


def some(items, limit=8):
    items = sorted(items)
    return ", ".join(map(str, items[:limit])) + (", .." if len(items) > limit else "")


def judge_coverage(tree, fetches):
    """Every page was requested, at its host, and nothing else was."""
    expected = {(tree.host(page), f"/{page}") for page in range(tree.pages)}
    got = {(fetch.host, fetch.path) for fetch in pages_of(fetches)}
    problems = []
    if lost := expected - got:
        problems.append(f"{len(lost)} of {len(expected)} pages were never fetched: "
                        + some(f"{host}{path}" for host, path in lost))
    if strange := got - expected:
        problems.append(f"{len(strange)} requests for what no page links to: "
                        + some(f"{host}{path}" for host, path in strange))
    return problems


def gaps(fetches, group_of):
    """(seconds, first, second) of requests that follow each other in a group."""
    last, found = {}, []
    for fetch in sorted(fetches):
        group = group_of(fetch.host)
        if group in last:
            found.append((fetch.at - last[group].at, last[group], fetch))
        last[group] = fetch
    return found


def judge_gaps(fetches, delay, group_of=lambda host: host, what="host", thaws=()):
    """All requests of a group, robots.txt too, are `delay` apart. `thaws` are (agent, time): a
    request that a thread was sending when its process was frozen cannot be recalled; one for each."""
    problems, spared = [], {}  # by thaw: the request, which may come too soon; so may the next one after it
    for gap, first, second in gaps(fetches, group_of):
        if gap >= delay - TOLERANCE:
            continue
        if first in spared.values() or any(
                second.agent == agent and 0 <= second.at - at < 0.1 and
                spared.setdefault((agent, at), second) == second for agent, at in thaws):
            continue
        problems.append(f"{gap:.4f} s between two requests to the {what} {group_of(first.host)}, the delay "
                        f"is {delay} s: {first.path} by {first.agent} at {first.at:.3f}, {second.path} by "
                        f"{second.agent}")
    return problems


def smallest_gap(fetches, group_of=lambda host: host):
    return min((gap for gap, _, _ in gaps(fetches, group_of)), default=float("inf"))


def smallest_gap_over_crawlers(fetches, group_of=lambda host: host):
    return min((gap for gap, first, second in gaps(fetches, group_of) if first.agent != second.agent),
               default=float("inf"))


def repeats(fetches):
    """Pairs of requests for the same page that follow each other."""
    last, found = {}, []
    for fetch in pages_of(sorted(fetches)):
        page = (fetch.host, fetch.path)
        if page in last:
            found.append((last[page], fetch))
        last[page] = fetch
    return found


def judge_repeats(fetches, faults, window, most):
    """A page is fetched again only if its first fetch was by a crawler that a fault hit within
    `window` seconds, or by a request that was on its way then; `most` such pages for each crawler
    that was hit. Returns the problems, and how many repeats each kind of fault caused."""
    problems, causes = [], collections.Counter()
    by_fault = collections.Counter()
    for first, again in repeats(fetches):
        # The nearest fault: with several the count is that of one.
        causing = [fault for fault in faults
                   if (fault.agents is None or first.agent in fault.agents)
                   and fault.at - window <= first.at <= fault.until + UNDER_WAY and again.at >= fault.at]
        if not causing:
            problems.append(f"{first.host}{first.path} was fetched at {first.at:.3f} by {first.agent} and again "
                            f"{again.at - first.at:.3f} s later by {again.agent}, without a cause")
            continue
        cause = min(causing, key=lambda fault: abs(fault.at - first.at))
        causes[cause.kind] += 1
        by_fault[cause.kind, cause.at, first.agent] += 1
    for (kind, at, agent), count in by_fault.items():
        if count > most:
            problems.append(f"{count} pages that {agent} had fetched were fetched again after the fault {kind} at "
                            f"{at:.3f}; {most} at most could be unfinished")
    return problems, causes


def judge_output(tree, lines):
    """`lines` are those of pages.jsonl of all crawlers. Every page has one, with its status; no more
    than it was fetched is checked by the caller, who knows what was killed."""
    problems = []
    got = collections.Counter(line["url"] for line in lines)
    expected = tree.urls()
    if missing := expected - got.keys():
        problems.append(f"{len(missing)} pages have no line of output: {some(missing)}")
    if strange := got.keys() - expected:
        problems.append(f"{len(strange)} lines of output are for other pages: {some(strange)}")
    if failed := [line for line in lines if line["status"] != 200]:
        problems.append(f"{len(failed)} lines of output are not 200: {failed[0]}")
    return problems


def judge_lines(lines, fetches):
    """No page has more lines of output than requests."""
    asked = collections.Counter(f"{fetch.host}{fetch.path}" for fetch in pages_of(fetches))
    written = collections.Counter()
    for line in lines:
        place, path = line["url"].split("://", 1)[1].split("/", 1)
        written[f"{place.rsplit(':', 1)[0]}/{path}"] += 1
    return [f"{page} has {count} lines of output and {asked[page]} requests"
            for page, count in written.items() if count > asked[page]]


def judge_admissions(fingerprints, pages):
    """`fingerprints` are all that Redis has, of a crawl in which `pages` URLs were found."""
    counts = collections.Counter(fingerprints)
    problems = []
    if twice := [fingerprint for fingerprint, count in counts.items() if count > 1]:
        problems.append(f"{len(twice)} URLs were admitted more than once: "
                        + some(each.hex() for each in twice))
    if len(counts) != pages:
        problems.append(f"{len(counts)} URLs were admitted, of {pages} that there are")
    return problems


def judge_end(buckets):
    """`buckets` maps the number of each to what it still has: {"open": n, "inbox": n, ...}."""
    return [f"bucket {bucket:x} still has {name} = {count}"
            for bucket, left in sorted(buckets.items()) for name, count in left.items() if count]
