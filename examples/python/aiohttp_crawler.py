"""Crawls a site with asyncio and aiohttp, and goes on where it was after any kill.

    aiohttp_crawler.py STATE_DIRECTORY URL
"""

import asyncio
import sys
import urllib.parse

import aiohttp

import trawl
import trawl.aio

AGENT = "example-bot"


async def fetch(session, lease):
    """Ends the lease, whatever happens: as completed with the page's links, or as failed."""
    try:
        async with session.get(lease.url) as response:
            body = await response.read()
    except asyncio.TimeoutError:
        lease.fail("timeout")
    except aiohttp.ClientError:
        lease.fail("connection")
    else:
        if response.status >= 500:
            lease.fail("server_error", status=response.status)
            return
        page = trawl.extract_links(body, lease.url, content_type=response.headers.get("Content-Type"))
        here = urllib.parse.urlsplit(lease.url).netloc
        lease.complete(response.status, links=[
            link.url for link in page.links if urllib.parse.urlsplit(link.url).netloc == here])
        print(response.status, lease.url, flush=True)


async def main(directory, url):
    options = {"delay": 0.001, "leases_per_host": 8, "expected_urls": 100_000, "retry_delay": 0.1}
    timeout = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(headers={"User-Agent": AGENT}, timeout=timeout) as session, \
            trawl.aio.Frontier(directory, **options) as frontier:
        frontier.offer([url])
        tasks = set()
        async for lease in frontier.leases(concurrency=32):
            task = asyncio.create_task(fetch(session, lease))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
