"""Reads WARC files strictly, without the crawler's own code: each record a gzip member of its own,
whole, with the digests that it claims."""

import base64
import hashlib
import json
import pathlib
import zlib


class Record:
    def __init__(self, file, offset, length, data):
        # Its name once it is complete, which is what others call it by.
        self.file = file[:-len(".open")] if file.endswith(".open") else file
        self.offset, self.length = offset, length
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode("utf-8").split("\r\n")
        self.version = lines[0]
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.type = self.headers.get("warc-type", "")
        self.url = self.headers.get("warc-target-uri", "").strip("<>")
        size = int(self.headers.get("content-length", -1))
        self.body, self.end = rest[:size], rest[size:]
        self.whole = size >= 0 and len(self.body) == size and self.end == b"\r\n\r\n"

    def payload(self):
        """The body of the HTTP message."""
        return self.body.partition(b"\r\n\r\n")[2]


def digest(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def warc_files(directory):
    return sorted(path for path in pathlib.Path(directory).rglob("*.warc.gz*")
                  if path.is_file() and ".cdxj" not in path.name)


def read_members(path):
    """(offset, length, data) of each gzip member; what follows the last whole one has no data."""
    data = path.read_bytes()
    offset = 0
    while offset < len(data):
        unpacker = zlib.decompressobj(31)
        try:
            text = unpacker.decompress(data[offset:])
        except zlib.error:
            yield offset, len(data) - offset, None
            return
        if not unpacker.eof:
            yield offset, len(data) - offset, None
            return
        length = len(data) - offset - len(unpacker.unused_data)
        yield offset, length, text
        offset += length


def read_warcs(test, directory, closed=True, torn=False):
    """All records of the files below, each checked; `closed`: none may be left open; `torn`: the
    last one of an open file may be."""
    records = []
    files = warc_files(directory)
    test.check(files, f"no WARC file in {directory}")
    for path in files:
        if closed:
            test.check(path.name.endswith(".warc.gz"), f"{path.name} was left open")
        first = True
        for offset, length, text in read_members(path):
            place = f"{path.name}:{offset}"
            if text is None:
                test.check(torn and path.name.endswith(".open"), f"{place}: a torn record")
                break
            record = Record(path.name, offset, length, text)
            test.check(record.whole, f"{place}: not as long as it says, or without its end",
                       record.headers)
            test.check(record.version == "WARC/1.1", f"{place}: {record.version}")
            missing = {"warc-type", "warc-record-id", "warc-date", "content-length"} \
                - record.headers.keys()
            test.check(not missing, f"{place}: headers are missing: {missing}")
            test.check(not first or record.type == "warcinfo", f"{place}: no warcinfo before it")
            first = False
            check_digests(test, record, place)
            records.append(record)
    ids = [record.headers.get("warc-record-id") for record in records]
    test.check(len(set(ids)) == len(ids), "record ids are not unique")
    return records


def check_digests(test, record, place):
    claimed = record.headers.get("warc-block-digest")
    test.check(claimed in (None, digest(record.body)), f"{place}: wrong block digest")
    claimed = record.headers.get("warc-payload-digest")
    if record.type == "response" and claimed is not None:
        test.check(claimed == digest(record.payload()), f"{place}: wrong payload digest")


def check_places(test, pages, records, crashed=False):
    """Each page's line leads to its record, and each response or revisit has a line, unless a
    crash came between the two."""
    by_place = {(record.file, record.offset): record for record in records}
    told = set()
    for page in pages:
        place = page["warc"]
        if place is None:
            test.check(page["status"] == 0 or page["reason"], f"{page['url']}: no record", page)
            continue
        record = by_place.get((place["file"], place["offset"]))
        if test.check(record is not None, f"{page['url']}: no record where its line says", place):
            test.check(record.url == page["url"] and record.length == place["length"]
                       and record.type in ("response", "revisit"),
                       f"{page['url']}: another record where its line says", record.headers)
            told.add((record.file, record.offset))
    for place, record in [] if crashed else by_place.items():
        if record.type in ("response", "revisit") and place not in told:
            test.check(record.url.endswith("/robots.txt"), f"{place}: a record without a line",
                       record.headers)


def check_index(test, directory, records):
    """Each response, revisit and resource is found by the CDXJ file of its WARC file, in order."""
    found = set()
    for path in sorted(pathlib.Path(directory).rglob("*.cdxj")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line.startswith("!"):
                continue
            _, _, text = line.split(" ", 2)
            entry = json.loads(text)
            found.add((entry["filename"], int(entry["offset"]), int(entry["length"])))
    expected = {(record.file, record.offset, record.length) for record in records
                if record.type in ("response", "revisit", "resource")}
    test.check_equal_sets(found, expected, "the index")
