"""Pages saved as files: named as wget -r names them, whole whenever the crawl is killed, and never
outside the output directory, whatever a URL says or somebody planted there."""

import json
import pathlib
import random
import subprocess
import time
import urllib.parse

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links, redirect

AGENT = "saved-files-test/1.0 (+http://example.com/bot)"
PAGES = 600


def body_of(path):
    """Of some length, so that a kill may fall into the writing of it."""
    return f"<title>{path}</title>".encode() + b"<p>text of the page</p>" * (len(path) * 50)


def config_of(directory, name, server, **tables):
    return t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name, crawl={"user_agent": AGENT},
        output={"files": True}, **tables))


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file()}


def named_as_wget_does(test, directory, options):
    paths = ["/plain.html", "/folder/", "/folder/page", "/folder/deep/", "/query?a=1&b=2", "/folder/?q=x",
             "/sp%20ace", "/%C3%BCml%C3%A4ut", "/dots.in.name", "/semi;colon", "/plus+sign", "/comma,x",
             "/tilde~x", "/upper.HTML", "/img.png", "/query?x=%2Fslash"]
    answers = {path: answer(body_of(path)) for path in paths}
    answers["/robots.txt"] = answer(b"", content_type="text/plain")
    answers["/"] = answer(links(sorted(paths)).replace("&", "&amp;"))
    with ScriptedServer(answers) as server:
        by_wget = directory / "wget"
        subprocess.run(["wget", "-q", "-r", "-l", "inf", "-P", by_wget, server.url()], timeout=60,
                       check=False, cwd=directory)
        config = config_of(directory, "names", server)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        pages = t.read_pages(test, directory / "names")
        output = directory / "names" / "output"
        ours = {page["file"]: (output / page["file"]).read_bytes() for page in pages if page.get("file")}
        test.check(len(ours) == len(answers) - 1, f"{len(ours)} files for {len(answers) - 1} pages", ours.keys())
        host = f"127.0.0.1:{server.port}"
        theirs = {name: content for name, content in files_below(by_wget).items()
                  if not name.endswith("robots.txt")}
        names = {name[name.index(host):]: content for name, content in ours.items()}
        test.check_equal_sets(set(names), set(theirs), "the names that wget gives")
        for name in set(names) & set(theirs):
            test.check(names[name] == theirs[name], f"{name}: other bytes than wget's")


def hostile_urls(test, directory, options):
    """Not outside the folder, not through a link, each page in its own file."""
    paths = ["/a", "/a/b", "/a/b/c", "/Case", "/case", "/CASE", "/con", "/aux.txt", "/end.", "/end",
             "/..%2f..%2fup", "/%2e%2e%2fup", "/%5c..%5cup", "/" + "x" * 1200, "/" + "y" * 1200,
             "/" + "".join(f"{i}/" for i in range(200)), "/%00", "/%0d%0a", "/link/inside", "/-rf", "/%7e", "/index.html", "/%ff%fe"]
    answers = {path: answer(body_of(path)) for path in paths}
    answers["/"] = answer(links(paths))
    with ScriptedServer(answers) as server:
        target = directory / "outside"
        target.mkdir()
        config = config_of(directory, "hostile", server, scope={"max_url_length": 4000, "max_path_segments": 1000})
        state = directory / "hostile"
        first = t.run(options, directory, "crawl", config, "--set", "scope.max_pages=1")
        test.check(first.exit_code == 0, "the first page", first.tail())
        host = next(path for path in (state / "output").rglob("*") if path.name.startswith("127.0.0.1"))
        (host / "link").symlink_to(target)
        done = t.run(options, directory, "resume", config, "--set", "scope.max_pages=1000")
        t.expect_exit(test, done, t.EXIT_DONE, "the rest")
        test.check(not any(target.iterdir()), "a symbolic link was followed")
        test.check(not list(directory.glob("up*")) and not (directory.parent / "up").exists(), "up was written")
        pages = {urllib.parse.urlsplit(page["url"]).path: page
                 for page in t.read_pages(test, state) if page["status"] == 200}
        test.check_equal_sets(set(pages), set(answers), "pages")
        seen = {}
        for path, page in pages.items():
            place = page["file"]
            if not test.check(place, f"{path[:60]} was not saved"):
                continue
            test.check(".." not in pathlib.PurePosixPath(place).parts, f"{path[:60]} leads out", place)
            test.check(place.lower() not in seen, f"{path[:60]} and {seen.get(place.lower(), '')[:60]} in one file")
            seen[place.lower()] = path
            wanted = answers[path].split(b"\r\n\r\n", 1)[1]
            test.check((state / "output" / place).read_bytes() == wanted, f"{path[:60]}: other bytes")


def killed(test, directory, options):
    """Whatever pages.jsonl names is whole, after any kill; nothing unfinished stays."""
    paths = [f"/{i // 50}/{i}" for i in range(PAGES)]
    answers = {path: answer(body_of(path)) for path in paths}
    answers["/"] = answer(links(paths))
    with ScriptedServer(answers) as server:
        config = config_of(directory, "killed", server)
        state = directory / "killed"
        when = random.Random(7)
        kills = 0
        for _ in range(60):
            run = t.Run(options, directory, "crawl", config, "--or-resume")
            lines = line_count(state)
            more = when.randrange(5, 60)
            t.wait_until(lambda: run.ended() or line_count(state) > lines + more, "more pages")
            if run.ended():
                break
            run.kill()
            kills += 1
            check_whole(test, state, answers, f"after kill {kills}")
        test.check(kills >= 5, f"only {kills} kills")
        t.expect_exit(test, t.run(options, directory, "crawl", config, "--or-resume"), t.EXIT_DONE, "the end")
        pages = check_whole(test, state, answers, "at the end")
        test.check_equal_sets({urllib.parse.urlsplit(page["url"]).path for page in pages}, set(answers), "pages")
        named = {page["file"] for page in pages}
        output = state / "output"
        found = {str(path.relative_to(output)) for path in output.rglob("*")
                 if path.is_file() and "127.0.0.1" in str(path.relative_to(output))}
        extra = {name for name in found - named if not is_repeated(output, name, answers)}
        test.check(not extra, "files that no page names", sorted(extra)[:10])
        hidden = [path for path in output.rglob("*") if path.name.startswith(".") and path.is_file()]
        test.check(not hidden, "unfinished files", hidden)


def line_count(state):
    try:
        return (state / "output" / "pages.jsonl").read_bytes().count(b"\n")
    except OSError:
        return 0


def is_repeated(output, name, answers):
    """A page that was saved before the kill and is fetched again has its file already."""
    content = (output / name).read_bytes()
    return any(sent.endswith(content) for sent in answers.values())


def check_whole(test, state, answers, what):
    pages = []
    lines = (state / "output" / "pages.jsonl").read_bytes().split(b"\n")[:-1]
    for line in lines:
        page = json.loads(line)
        if page["status"] != 200:
            continue
        pages.append(page)
        path = urllib.parse.urlsplit(page["url"]).path
        place = state / "output" / page["file"]
        wanted = answers[path].split(b"\r\n\r\n", 1)[1]
        if test.check(place.exists(), f"{what}: no file of {path}"):
            test.check(place.read_bytes() == wanted, f"{what}: {path} is not whole")
    return pages


def fetched_again(test, directory, options):
    """A new version replaces the file of the old one; a redirect and a missing page have none."""
    version = [1]

    def respond(request):
        if request.path == "/":
            return answer(links(["/news", "/moved", "/gone"]))
        if request.path == "/news":
            return answer(f"version {version[0]}")
        if request.path == "/moved":
            return redirect("/news")
        return answer("nothing", "404 Not Found")

    with ScriptedServer(respond) as server:
        config = config_of(directory, "again", server, recrawl={"interval": "1s", "wait": False})
        state = directory / "again"
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        first = {urllib.parse.urlsplit(page["url"]).path: page for page in t.read_pages(test, state)}
        test.check(not first["/moved"].get("file") and not first["/gone"].get("file"),
                   "a file of a redirect, or of a missing page", first)
        place = state / "output" / first["/news"]["file"]
        test.check(place.read_bytes() == b"version 1", "the first version")
        version[0] = 2

        def renewed():
            t.run(options, directory, "crawl", config)
            return place.read_bytes() == b"version 2"

        t.wait_until(lambda: renewed() or time.sleep(0.2), "the second version")


def saved_files(test, directory, options):
    parts = []
    for part in (named_as_wget_does, hostile_urls, killed, fetched_again):
        place = directory / part.__name__
        place.mkdir()
        parts.append((part, test, place, options))
    t.run_parts(test, parts)


if __name__ == "__main__":
    t.main(saved_files, t.parser(__doc__).parse_args())
