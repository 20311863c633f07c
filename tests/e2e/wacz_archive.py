"""Reads a WACZ file as replay does: by its index alone, with Python's zipfile, gzip and nothing of
the crawler; and shows it to a browser, as a proxy for all hosts that has nothing else."""

import contextlib
import gzip
import json
import re
import socketserver
import threading
import urllib.parse
import zipfile

from trawl_testing import canonical_key
from warc_reader import Record

VISIBLE = "".join(chr(c) for c in range(0x21, 0x7f) if chr(c) not in "#%")
SESSION_ID = re.compile(r"(?:^|(?<=&))(?:sid|phpsessid|jsessionid)=[0-9a-z]{32}(?:&|$)",
                        re.IGNORECASE)
# Hosts that Chromium asks on its own account.
CHROMIUMS = re.compile(r"(?:.*\.)?(?:google|googleapis|gvt1|duckduckgo)\.com")


def escaped_once(text):
    """Decoded until nothing is left to decode, and encoded once."""
    text = text.encode()
    while (decoded := urllib.parse.unquote_to_bytes(text)) != text:
        text = decoded
    return urllib.parse.quote(text, safe=VISIBLE)


def surt(url):
    """The key of a URL in indexes, for what the tests' URLs have."""
    parts = urllib.parse.urlsplit(url)
    host = ",".join(reversed(parts.hostname.split(".")))
    port = f":{parts.port}" if parts.port and parts.port != 80 else ""
    path = re.sub("//+", "/", escaped_once(parts.path)).lower().rstrip("/") or "/"
    query = SESSION_ID.sub("", escaped_once(parts.query)).lower().rstrip("&")
    query = "&".join(sorted(query.split("&")))
    return f"{host}{port}){path}" + (f"?{query}" if query else "")


def find(index, idx, key):
    """The lines of a key: in the members that may have it, by the .idx."""
    lines = [line.split(" {", 1) for line in idx.decode().splitlines()]
    members = lines[1:]  # after "!meta"
    found = []
    for number, (first, place) in enumerate(members):
        following = members[number + 1][0] if number + 1 < len(members) else None
        if first.split(" ")[0] > key or (following and following.split(" ")[0] < key):
            continue
        place = json.loads("{" + place)
        member = index[place["offset"]:place["offset"] + place["length"]]
        found += [line for line in gzip.decompress(member).decode().splitlines()
                  if line.split(" ")[0] == key]
    return found


class WaczArchive:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.index = self.zip.read("indexes/index.cdx.gz")
        self.idx = self.zip.read("indexes/index.idx")
        self.lock = threading.Lock()

    def pages(self):
        """The URLs of the list of pages."""
        return [json.loads(line)["url"] for line in
                self.zip.read("pages/pages.jsonl").decode().splitlines()[1:]]

    def records(self):
        """All that the index has, in its order."""
        for line in gzip.decompress(self.index).decode().splitlines():
            yield self.record(json.loads(line.split(" ", 2)[2]))

    def captures(self, url):
        """The index's fields for a URL, the oldest first. Several URLs have one key; those that
        differ in needless escapes are one."""
        fields = [json.loads(line.split(" ", 2)[2]) for line in find(self.index, self.idx, surt(url))]
        return [each for each in fields if canonical_key(each["url"]) == canonical_key(url)]

    def record(self, fields):
        offset, length = int(fields["offset"]), int(fields["length"])
        with self.lock, self.zip.open("archive/" + fields["filename"]) as file:
            file.seek(offset)
            return Record(fields["filename"], offset, length, gzip.decompress(file.read(length)))

    def answer(self, url):
        """The head and the body of the newest answer; (None, None) if there is none. The head of a
        revisit is its own, its body that of the capture it names."""
        captures = self.captures(url)
        if not captures:
            return None, None
        record = self.record(captures[-1])
        head = record.body.partition(b"\r\n\r\n")[0]
        if record.type != "revisit":
            return head, record.payload()
        date = record.headers["warc-refers-to-date"]
        for fields in self.captures(record.headers["warc-refers-to-target-uri"]):
            original = self.record(fields)
            if original.type == "response" and original.headers["warc-date"] == date:
                return head, original.payload()
        return None, None


class Asked:
    """A request of the browser; named as those that a ScriptedServer has."""

    def __init__(self, method, url):
        self.method, self.url = method, url
        self.host, _, path = url.split("://", 1)[1].partition("/")
        self.path = "/" + path


class ReplayProxy:
    """The browser's proxy for all hosts. `requests` are those of the pages; `missing` are
    the URLs that the archive does not have; https: and methods but GET are not supported."""

    def __init__(self, archive):
        self.archive = archive
        self.requests, self.missing = [], set()
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    proxy._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            request_queue_size = 100

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        # By default browsers connect to loopback themselves.
        self.arguments = [f"--proxy-server=127.0.0.1:{self.port}", "--proxy-bypass-list=<-loopback>"]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def pages(self):
        return self.requests

    def _serve(self, client):
        """One request a connection."""
        head = b""
        while b"\r\n\r\n" not in head:
            received = client.recv(65536)
            if not received:
                return
            head += received
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        asked = Asked(method, target if "://" in target else f"https://{target}")
        head, body = None, b""
        if not CHROMIUMS.fullmatch(urllib.parse.urlsplit(asked.url).hostname):
            self.requests.append(asked)
            if method == "GET" and target.startswith("http://"):
                head, body = self.archive.answer(target)
            if head is None and asked.path != "/favicon.ico":  # which browsers want of any site
                self.missing.add(asked.url)
        if head is None:
            head, body = b"HTTP/1.1 404 Not archived\r\nContent-Length: 0", b""
        lines = [line for line in head.split(b"\r\n")
                 if not line.lower().startswith((b"connection:", b"keep-alive:"))]
        client.sendall(b"\r\n".join([*lines, b"Connection: close", b"", b""]) + body)
