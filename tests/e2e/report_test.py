"""`trawl report`: its numbers are those of pages.jsonl, of stopped and of running crawls."""

import collections
import datetime
import json
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links


def report(options, target, *arguments):
    done = subprocess.run([options.trawl, "report", str(target), *map(str, arguments)],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def respond(request):
    if request.path == "/":
        return answer(links(["/a", "/b", "/same1", "/same2", "/missing", "/moved", "/x.pdf"]))
    if request.path.startswith("/same"):
        return answer("the same text on two pages")
    if request.path == "/missing":
        return answer("no", "404 Not Found")
    if request.path == "/moved":
        return answer("", "302 Found", "Location: /a")
    return answer(request.path * 10)


def check_totals(test, status, pages, what):
    classes = collections.Counter(f"{page['status'] // 100}xx" if page["status"] else "none"
                                  for page in pages)
    test.check(status["pages"] == len(pages), f"{what}: pages", f"{status['pages']}, {len(pages)}")
    test.check({name: n for name, n in status["by_class"].items() if n} == dict(classes),
               f"{what}: pages by class", f"{status['by_class']}, {classes}")
    statuses = collections.Counter(str(page["status"]) for page in pages if page["status"])
    test.check(status["by_status"] == dict(statuses), f"{what}: pages by status", status["by_status"])
    failed = sum(1 for page in pages if page["error"] or page["status"] >= 400)
    test.check(status["failed"] == failed and
               sum(failure["count"] for failure in status["failures"]) == failed,
               f"{what}: errors", status["failures"])


def stopped(test, directory, options):
    with ScriptedServer(respond) as server:
        where = directory / "stopped"
        config = t.write_config(directory / "stopped.toml", t.fast_crawl(
            [server.url()], where, scope={"exclude": ["*.pdf"]},
            politeness={"delay": "20ms", "respect_robots": False}, checkpoint={"admissions": 1}))
        crawled = t.run(options, directory, "crawl", config)
        t.expect_exit(test, crawled, t.EXIT_DONE, "the crawl")
    pages = t.read_pages(test, where)
    for target in (config, where):
        code, text, problem = report(options, target, "--json")
        test.check(code == 0, "report", problem)
        it = json.loads(text)
        check_totals(test, it["status"], pages, str(target))
        test.check(it["status"]["state"] == "stopped" and
                   it["status"]["duplicates"] == 1 and it["status"]["redirects"] == 1,
                   "duplicates and redirects", it["status"])
        test.check(it["status"]["skipped"].get("excluded by rule") == 1, "skips", it["status"])
        hosts = it["hosts"]["hosts"]
        test.check(sum(host["fetched"] for host in hosts) == len(pages), "pages of hosts", hosts)
        gap = hosts[0]["smallest_gap_ms"]
        test.check(gap is not None and gap >= 19 and hosts[0]["delay_ms"] == 20,
                   "the smallest gap and the delay", hosts)
        test.check(it["status"]["filter"]["items"] >= len(pages), "the filter", it["status"])
        lost = it["status"]["filter"]["expected_lost"]
        test.check(lost is not None and 0 <= lost < 0.1, "URLs lost as expected", lost)
        newest = max(file.stat().st_mtime for file in where.glob("filter-*.ckpt"))
        last = datetime.datetime.fromisoformat(it["status"]["checkpoint"]["last"].replace("Z", "+00:00"))
        test.check(abs(last.timestamp() - newest) < 1, "the time of the checkpoint", it["status"]["checkpoint"])
        disk = it["status"]["disk"]
        test.check(disk["free"] > 0 and disk["state"] > 0, "the disk", disk)
    code, text, _ = report(options, where)
    test.check(code == 0 and text.startswith(f"The crawl in {where} (stopped)"), "the text", text)
    for part in (f"  pages           {len(pages)}, ", "HTTP 404, such as http://", "/missing",
                 "excluded by rule", "Largest hosts", "Slowest hosts", "Politeness: ",
                 "Filter of seen URLs", " of state, ", "  checkpoint      20", " expected so far"):
        test.check(part in text, f"the text does not say {part!r}", text)
    page = directory / "report.html"
    code, text, problem = report(options, where, "--html", page)
    html = page.read_text() if page.exists() else ""
    test.check(code == 0 and html.lower().startswith("<!doctype html>") and "/missing" in html,
               "the page", text + problem)
    for outside in ('src="http', 'href="http', "@import", 'src="//'):
        test.check(outside not in html, f"the page loads {outside}")


def running(test, directory, options):
    def endless(request):
        return answer(links([f"/{len(request.path)}{request.path.strip('/')}"]))

    with ScriptedServer(endless) as server:
        where = directory / "running"
        config = t.write_config(directory / "running.toml", t.fast_crawl(
            [server.url()], where, politeness={"delay": "50ms", "respect_robots": False}))
        crawl = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: (where / "control.sock").exists() and len(server.requests) > 2 or
                     crawl.ended(), "some pages")
        code, text, problem = report(options, where, "--json")
        it = json.loads(text) if text else {}
        test.check(code == 0 and it.get("status", {}).get("state") == "running" and
                   it["history"] is not None and "hosts" in it["hosts"], "a running crawl",
                   text + problem)
        code, text, _ = report(options, where)
        test.check(code == 0 and "(running)" in text, "the text of a running crawl", text)
        crawl.kill()
    # kill -9 loses no line.
    code, text, problem = report(options, where, "--json")
    test.check(code == 0, "report after a kill", problem)
    check_totals(test, json.loads(text)["status"], t.read_pages(test, where), "after a kill")


def wrong_usage(test, directory, options):
    empty = directory / "empty"
    empty.mkdir()
    for arguments, codes in ((["report"], {t.EXIT_USAGE}),
                             (["report", empty], {t.EXIT_FAILURE, t.EXIT_BAD_CONFIG}),
                             (["report", directory / "missing"], {t.EXIT_FAILURE, t.EXIT_BAD_CONFIG}),
                             (["report", empty, "--hosts", "0"], {t.EXIT_USAGE})):
        done = t.run(options, directory, *arguments)
        test.check(done.exit_code in codes, f"{arguments}: {done.exit_code}", done.text)
    test.check(not any(empty.iterdir()), "a report left files")


def script(test, directory, options):
    for part in (stopped, running, wrong_usage):
        part(test, directory, options)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
