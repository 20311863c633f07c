"""Crawls a site with threads and urllib. A Frontier takes the place of a queue and of a set of URLs
that were seen, which would fill memory and be lost with the process.

    threads_crawler.py STATE_DIRECTORY URL
"""

import http.client
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import trawl

THREADS = 4
AGENT = "example-bot"


def fetch(url):
    """The status, the body and the type of what the URL has."""
    request = urllib.request.Request(url, headers={"User-Agent": AGENT})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read(), response.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        return error.code, b"", None


def work(frontier, site):
    for lease in frontier:  # waits until one is due; ends when nothing is left
        try:
            status, body, content_type = fetch(lease.url)
        except (OSError, http.client.HTTPException):
            lease.fail("connection")
            continue
        if status >= 500:
            lease.fail("server_error", status=status)
            continue
        page = trawl.extract_links(body, lease.url, content_type=content_type)
        lease.complete(status, links=[
            link.url for link in page.links if urllib.parse.urlsplit(link.url).netloc == site])
        print(f"{status} {lease.url}\n", end="", flush=True)


def main(directory, url):
    site = urllib.parse.urlsplit(url).netloc
    with trawl.Frontier(directory, delay=0.001, leases_per_host=THREADS, retry_delay=0.1) as frontier:
        frontier.offer([url])
        threads = [threading.Thread(target=work, args=(frontier, site)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
