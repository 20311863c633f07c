"""output.known: bodies that earlier crawls have become revisit records that name the earlier records."""

import shutil

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links
from warc_reader import read_warcs

REFERS = ("warc-refers-to-target-uri", "warc-refers-to-date", "warc-payload-digest")


def records_of(test, directory):
    return {record.url: record for record in read_warcs(test, directory)
            if record.type in ("response", "revisit") and not record.url.endswith("/robots.txt")}


def crawl(test, directory, options, name, server, command="crawl", **output):
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name, output={"warc": True, **output}))
    ended = t.run(options, directory, command, config)
    t.expect_exit(test, ended, t.EXIT_DONE, name)
    return ended


def script(test, directory, options):
    pages = {"/": links(["/same", "/changes", "/new"]), "/same": "the same", "/changes": "first"}
    with ScriptedServer(lambda request: answer(pages[request.path]) if request.path in pages
                        else answer("none", "404 Not Found")) as server:
        crawl(test, directory, options, "old", server)
        old = records_of(test, directory / "old" / "output")
        test.check(all(record.type == "response" for record in old.values()), "the first crawl", old)
        indexes = directory / "indexes"
        indexes.mkdir()
        for file in (directory / "old" / "output").glob("*.cdxj"):
            shutil.copy(file, indexes)
        pages.update({"/changes": "second", "/new": "the same"})
        known = str(indexes / "*.cdxj")
        crawl(test, directory, options, "new", server, known=[known])
        new = records_of(test, directory / "new" / "output")
        kinds = {url[len(server.url("")):]: record.type for url, record in new.items()}
        test.check(kinds == {"/": "revisit", "/same": "revisit", "/changes": "response",
                             "/new": "revisit"}, "kinds of records", kinds)
        for path in ("/", "/same", "/new"):
            first = old[server.url("/same" if path == "/new" else path)]
            names = new[server.url(path)].headers
            test.check(names["warc-refers-to-target-uri"] == first.url and
                       names["warc-refers-to-date"][:19] == first.headers["warc-date"][:19],
                       f"{path} names the earlier record", names)
        # By the digests of that index, whatever those of pages.jsonl are.
        crawl(test, directory, options, "other-digest", server, known=[known], digest="xxh128")
        lines = t.by_path(t.read_pages(test, directory / "other-digest"))
        test.check(all(each[0]["digest"].startswith("xxh128:") for each in lines.values()), "digests", lines)
        other = records_of(test, directory / "other-digest" / "output")
        for url, record in new.items():
            test.check([other[url].type, *(other[url].headers.get(name) for name in REFERS)] ==
                       [record.type, *(record.headers.get(name) for name in REFERS)],
                       f"{url} with another digest", other[url].headers)
        again = crawl(test, directory, options, "again", server, known=[known], text=False)
        test.check("bodies of earlier crawls" in again.text, "the log", again.text)
        fresh = t.run(options, directory, "crawl", directory / "again.toml", "--fresh")
        t.expect_exit(test, fresh, t.EXIT_DONE, "--fresh deletes what is known, too")
        test.check("known" in fresh.text, "named as deleted", fresh.text)
        # What is no longer named when it goes on is no longer known.
        tables = t.fast_crawl([server.url()], directory / "other", scope={"max_pages": 1},
                              output={"warc": True, "known": [known]})
        tables["fetch"]["connections"] = 1
        config = t.write_config(directory / "other.toml", tables)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "with an index")
        (indexes / "other.cdxj").write_text(
            'com,example)/ 20200102030405 {"url": "http://example.com/", "digest": "sha1:AAAA"}\n')
        tables["output"]["known"] = [str(indexes / "other.cdxj")]
        del tables["scope"]["max_pages"]
        t.write_config(config, tables)
        resumed = t.run(options, directory, "resume", config)
        t.expect_exit(test, resumed, t.EXIT_DONE, "with another index")
        test.check("output.known: 1 bodies" in resumed.text, "only those that are named", resumed.text)
        found = records_of(test, directory / "other" / "output")
        copies = [found[server.url(path)] for path in ("/same", "/new")]
        test.check(sorted(record.type for record in copies) == ["response", "revisit"],
                   "a body of an index that is not named any more", [r.headers for r in copies])
        test.check(found[server.url()].type == "revisit", "one of an index that was named")
        tables["output"].pop("known")
        t.write_config(config, tables)
        t.run(options, directory, "resume", config)
        test.check(not (directory / "other" / "known").exists(), "an index of nothing is left")
        (indexes / "other.cdxj").unlink()
        (indexes / "bad.cdxj").write_text("no index\nat all\n")
        for wrong, text in ((str(indexes / "none-*.cdxj"), "no file is called"),
                            (str(indexes / "bad.cdxj"), "is not a CDXJ index")):
            config = t.write_config(directory / "wrong.toml", t.fast_crawl(
                [server.url()], directory / "wrong", output={"warc": True, "known": [wrong]}))
            ended = t.run(options, directory, "crawl", config)
            test.check(ended.exit_code != 0 and text in ended.text, wrong, ended.text)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
