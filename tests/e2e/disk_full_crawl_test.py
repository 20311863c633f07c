"""A disk that fills up while WARC files are written stops the crawl; with more space it continues:
nothing is lost, no record torn, no page reported twice."""

import random
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links
from warc_reader import check_index, check_places, read_warcs

PAGES = 700
CONNECTIONS = 8


def site(size):
    """A tree of pages of noise, which does not compress, `size` bytes each."""
    def respond(request):
        if request.path == "/robots.txt":
            return answer("none", "404 Not Found")
        number = int(request.path[1:] or 0)
        below = [f"/{child}" for child in range(number * 10 + 1, number * 10 + 11)
                 if child < PAGES]
        noise = random.Random(number).getrandbits(size * 8).to_bytes(size, "little")
        return answer(links(below).encode() + noise.replace(b"<", b" "))
    return respond


def grow(disk, size):
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def check_output(test, output, pages, closed):
    records = read_warcs(test, output, closed)
    # A record may be there and its line not: that page is fetched again.
    check_places(test, pages, records, crashed=True)
    if closed:
        check_index(test, output, records)
    return records


def full_disk(test, directory, options, name, size, space, state_dir, output, disk):
    with ScriptedServer(site(size)) as server:
        config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
            [server.url()], state_dir, output={"directory": output, "warc": True,
                                               "warc_size": "2MiB"},
            fetch={"connections": CONNECTIONS}))
        begun = t.run(options, directory, "crawl", config)
        t.expect_exit(test, begun, t.EXIT_NO_SPACE, f"{name}: the disk is full")
        test.check("space" in begun.text and "trawl resume" in begun.text,
                   f"{name}: cause or resume command missing", begun.tail())
        if begun.exit_code != t.EXIT_NO_SPACE:
            return
        before = t.read_pages(test, output.parent)
        test.check(0 < len(before) < PAGES, f"{name}: {len(before)} pages when the disk was full")
        check_output(test, output, before, closed=False)
        again = t.run(options, directory, "resume", config)
        t.expect_exit(test, again, t.EXIT_NO_SPACE, f"{name}: resumed on the full disk")
        check_output(test, output, t.read_pages(test, output.parent), closed=False)

        grow(disk, space * 8)
        resumed = t.run(options, directory, "resume", config)
        t.expect_exit(test, resumed, t.EXIT_DONE, f"{name}: resumed with more space")
        expected = {server.url(f"/{number or ''}") for number in range(PAGES)}
        pages = t.read_pages(test, output.parent)
        test.check_equal_sets({page["url"] for page in pages}, expected, name)
        test.check(len(pages) == PAGES, f"{name}: {len(pages)} lines of output",
                   t.repeats(page["url"] for page in pages))
        records = check_output(test, output, pages, closed=True)
        responses = [record for record in records if record.type == "response"
                     and not record.url.endswith("/robots.txt")]
        test.check_equal_sets({record.url for record in responses}, expected, f"{name}, records")
        for record in responses:
            test.check(len(record.payload()) >= size, f"{name}: {record.url} is cut short")
        # What was fetched and could not be written is fetched again: what was in flight, and what
        # waited for the writer.
        extra = len(server.pages) - PAGES
        print(f"{name}: {len(before)} of {PAGES} pages when the disk was full, {extra} fetched "
              "again", flush=True)


def disk_full_crawl(test, directory, options):
    # The output alone on it, and the crawl's state, too.
    for name, size, space, shares_disk in (("output", 20_000, 6 << 20, False),
                                           ("all", 200_000, 80 << 20, True)):
        mount = directory / f"disk-{name}"
        mount.mkdir()
        with t.tmpfs(mount, str(space)) as works:
            if not works:
                raise t.Skip("cannot mount a small file system here")
            state = (mount if shares_disk else directory) / f"state-{name}"
            full_disk(test, directory, options, name, size, space, state, mount / "output",
                      mount)


if __name__ == "__main__":
    t.main(disk_full_crawl, t.parser(__doc__).parse_args())
