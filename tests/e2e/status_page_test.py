#!/usr/bin/env python3
"""The status page in headless Chromium, on a real crawl: charts draw, buttons steer the crawl, what
cannot be undone asks first, light and dark, wide and narrow, and nothing on the console."""

import pathlib
import re

from browser import Browser
from trawl_testing import (EXIT_INTERRUPTED, Failure, Run, SampleSite, expect_exit, fast_crawl,
                           free_port, main, parser, wait_until, write_config)

# The least contrast of the visible texts, and the text that has it.
LEAST_CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const parse = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = parse(getComputedStyle(e).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255];
};
let least = [99, ""];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.checkVisibility() || element.closest("script, style, button:disabled")) continue;
  const style = getComputedStyle(element);
  const ink = light(parse(element instanceof SVGElement ? style.fill : style.color));
  const paper = light(behind(element));
  const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 200)];
}
return least;
"""
# Buttons, fields and drawings that have no name for a screen reader.
NAMELESS = """
return [...document.querySelectorAll("button, select, input, svg, [role=img]")].filter((e) =>
    e.checkVisibility() && !(e.textContent.trim() && e.tagName === "BUTTON") && !e.getAttribute("aria-label") &&
    !e.labels?.length).map((e) => e.outerHTML.slice(0, 200));
"""
OUTSIDE = """
return performance.getEntriesByType("resource").map((entry) => entry.name)
    .filter((name) => !name.startsWith(location.origin + "/") && !name.startsWith("data:"));
"""


class StatusPage:
    def __init__(self, test, browser, crawl, site, shots):
        self.test, self.browser, self.crawl, self.site = test, browser, crawl, site
        self.shots = shots

    def shot(self, name):
        if self.shots:
            self.browser.screenshot(pathlib.Path(self.shots) / f"{name}.png")

    def number(self, name, selector="#totals > div, .facts > dt"):
        """The number that the page shows under a name."""
        text = self.browser.run("""
            const found = [...document.querySelectorAll(arguments[1])].find((e) =>
                (e.querySelector("dt") ?? e).textContent === arguments[0]);
            return (found?.querySelector("dd") ?? found?.nextElementSibling)?.textContent;
            """, name, selector)
        found = re.match(r"[\d,]+", text or "")
        return int(found[0].replace(",", "")) if found else None

    def wait(self, condition, what):
        wait_until(lambda: self.crawl.ended() or condition(), f"{what}; {self.state()}", 15)
        if self.crawl.exit_code is not None:
            raise Failure(f"the crawl ended early\n{self.crawl.tail()}")

    def state(self):
        return f"{self.browser.text('#state')}, {self.browser.text('#connection')}"

    def row(self, host):
        """What the table of hosts shows of one, by column; None if it is not there."""
        return self.browser.run("""
            const row = [...document.querySelectorAll("#hosts tbody tr")].find((tr) =>
                tr.firstElementChild.textContent === arguments[0]);
            if (!row) return null;
            const cells = {state: row.querySelector(".badge").textContent};
            for (const td of row.querySelectorAll("td.n")) cells[td.dataset.name] = td.firstChild.textContent;
            return cells;""", host)

    def press(self, host, button):
        """Clicks a button in the row of a host."""
        self.browser.run("""
            for (const e of document.querySelectorAll("[data-test]")) e.removeAttribute("data-test");
            [...document.querySelectorAll("#hosts tbody tr")].find((tr) => tr.firstElementChild
                .textContent === arguments[0]).querySelector(`[data-action=${arguments[1]}]`)
                .setAttribute("data-test", "");""", host, button)
        self.browser.click("[data-test]")

    def asks(self):
        return self.browser.run("return document.getElementById('ask').open")

    def shows_live_numbers(self):
        self.wait(lambda: self.browser.text("#connection") == "live", "the page to be live")
        self.wait(lambda: (self.number("Pages") or 0) > 20, "pages on the page")
        before = self.number("Pages")
        self.wait(lambda: self.number("Pages") > before, "the number of pages to grow")
        self.test.check(self.browser.text("#state") == "running", "the state is not running")
        self.test.check((self.number("Items") or 0) > 0, "the filter panel has no items")
        for name in ("Queued", "Layers", "Memory now", "Disk free"):
            self.test.check(self.number(name) is not None, f"no number for {name}")
        self.wait(lambda: "200" in (self.browser.text("#statuses") or ""), "the status code 200")
        self.wait(lambda: self.browser.text("#failures .bar"), "a reason of failures")
        self.wait(lambda: self.browser.text("#errors li"), "an error in the list")

    def draws_charts(self):
        curves = """return [...document.querySelectorAll("#charts svg")].map((svg) => {
            const curve = svg.querySelector(".curve");
            return [svg.getAttribute("aria-label"), curve ? curve.getTotalLength() : 0];})"""
        self.wait(lambda: all(length > 20 for _, length in self.browser.run(curves)),
                  "six charts to draw")
        charts = self.browser.run(curves)
        self.test.check(len(charts) == 6, f"{len(charts)} charts", charts)
        rate = next(label for label, _ in charts if label.startswith("Pages a second"))
        self.test.check(re.search(r"highest [1-9]", rate), "no pages a second in the chart", rate)

    def looks_right(self):
        grounds = set()
        for scheme in ("light", "dark"):
            self.browser.colours(scheme)
            for width in (1280, 360):
                self.browser.width(width)
                what = f"{scheme}, {width} px"
                self.wait(lambda width=width: self.browser.run("return innerWidth") == width, what)
                wide = self.browser.run("return document.documentElement.scrollWidth")
                self.test.check(wide <= width, f"{what}: the page is {wide} px wide")
                contrast, text = self.browser.run(LEAST_CONTRAST)
                self.test.check(contrast >= 4.5, f"{what}: a contrast of {contrast:.2f}", text)
                self.shot(f"{scheme}-{width}")
            grounds.add(self.browser.run("return getComputedStyle(document.body).backgroundColor"))
        self.test.check(len(grounds) == 2, "light and dark look the same", grounds)
        self.browser.width(1280)
        for script, what in ((NAMELESS, "without a name"), (OUTSIDE, "loaded from elsewhere")):
            found = self.browser.run(script)
            self.test.check(not found, what, "\n".join(found))

    def pauses(self):
        self.browser.click("#pause")
        self.wait(lambda: self.browser.text("#state") == "paused", "the crawl to pause")
        self.wait(lambda: self.number("In flight") == 0, "requests in flight to end")
        asked = len(self.site.requests())
        since = self.browser.text("#since")
        self.wait(lambda: self.browser.text("#since") != since, "the next status")
        self.test.check(len(self.site.requests()) == asked, "a paused crawl requests pages")
        self.browser.click("#pause")
        self.wait(lambda: self.browser.text("#state") == "running", "the crawl to go on")
        self.wait(lambda: len(self.site.requests()) > asked, "requests after the pause")

    def writes_checkpoints(self):
        before = self.number("Checkpoints")
        self.browser.click("#checkpoint")
        self.wait(lambda: self.number("Checkpoints") > before, "a checkpoint")

    def steers_hosts(self):
        host = f"{self.site.hosts[1]}:{self.site.port}"
        if self.row(host) is None:
            host = self.site.hosts[1]
        self.wait(lambda: self.row(host), f"{host} in the table")
        stopped = ("blocked", "parked")
        self.press(host, "block")
        self.wait(lambda: self.row(host)["state"] in stopped, "a host to be blocked")
        self.press(host, "unblock")
        self.wait(lambda: self.row(host)["state"] not in stopped, "a host to be unblocked")
        self.press(host, "delay")
        self.browser.write("#ask-input", "soon")
        self.browser.click("#ask-yes")
        self.wait(lambda: ": delay: " in (self.browser.text("#message") or ""), "an error on the delay")
        self.wait(lambda: not self.asks(), "the question to close")
        self.press(host, "delay")
        self.browser.write("#ask-input", "3s\ue007")  # the key Enter
        self.wait(lambda: self.row(host)["Delay"] == "3 s", "the new delay")
        self.drops(host)

    def drops(self, host):
        self.browser.click("#pause")  # or other hosts' pages link to more of its URLs
        self.wait(lambda: self.browser.text("#state") == "paused", "the crawl to pause")
        self.wait(lambda: self.number("In flight") == 0, "requests in flight to end")
        queued = self.row(host)["Queued"]
        self.test.check(queued not in ("0", "–"), f"nothing queued on {host}", queued)
        self.press(host, "drop")
        self.test.check(self.asks() and host in self.browser.text("#ask"), "drop does not ask")
        self.shot("drop")
        self.browser.click("#ask-no")
        self.wait(lambda: not self.asks(), "the question to close")
        self.test.check(self.row(host)["Queued"] not in ("0", "–"), "dropped without a yes")
        self.press(host, "drop")
        self.browser.click("#ask-yes")
        self.wait(lambda: (self.row(host) or {"Queued": "0"})["Queued"] in ("0", "–"),
                  "the queue of the host to be empty")
        self.browser.click("#pause")
        self.wait(lambda: self.browser.text("#state") == "running", "the crawl to go on")

    def has_quiet_console(self):
        # The refused delay is one: the browser itself reports each answer with an error's status.
        wrong = [line for line in self.browser.console()
                 if not ("/api/v1/host " in line and "400" in line)]
        self.test.check(not wrong, "messages on the console", "\n".join(wrong))

    def stops(self):
        self.browser.click("#stop")
        self.test.check(self.asks(), "stop does not ask")
        self.browser.click("#ask-no")
        self.wait(lambda: not self.asks(), "the question to close")
        self.test.check(self.browser.text("#state") == "running", "stopped without a yes")
        self.browser.click("#stop")
        self.browser.click("#ask-yes")
        self.crawl.wait(30)
        expect_exit(self.test, self.crawl, EXIT_INTERRUPTED, "the crawl")
        wait_until(lambda: self.browser.run("return document.querySelector('.top')"
                                            ".hasAttribute('data-lost')"), "a lost connection", 15)
        self.test.check(self.browser.run("return document.getElementById('pause').disabled"),
                        "the buttons of a lost connection can be pressed")
        self.shot("lost")


def status_page(test, directory, options):
    with Browser(directory) as browser, SampleSite(options, directory, 4000) as site:
        dead = f"http://127.0.0.77:{free_port()}/"
        config = fast_crawl([*site.seeds, dead], directory / "state",
                            politeness={"delay": "60ms", "per_host_connections": 1},
                            checkpoint={"interval": "10m"}, status={"listen": "127.0.0.1:0"})
        crawl = Run(options, directory, "crawl", write_config(directory / "crawl.toml", config))
        try:
            address = re.compile(r"status page: (http://[\w.:]+/?)")
            wait_until(lambda: crawl.ended() or address.search(crawl.text), "the page's address", 20)
            found = address.search(crawl.text)
            if not found:
                raise Failure(f"no address of a status page\n{crawl.tail()}")
            browser.open(found[1])
            page = StatusPage(test, browser, crawl, site, options.screenshots)
            for step in (page.shows_live_numbers, page.draws_charts, page.looks_right, page.pauses,
                         page.writes_checkpoints, page.steers_hosts, page.has_quiet_console,
                         page.stops):
                print(step.__name__, flush=True)
                step()
        finally:
            crawl.kill()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--screenshots", help="a directory to write pictures of the page to")
    main(status_page, arguments.parse_args())
