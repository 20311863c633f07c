"""HTTP/2 servers on loopback that do everything wrong, one a host. Frames are made by hand."""

import struct

from hostile_server import Gone, Host

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 3, 4, 5, 6, 7, 8, 9)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE_BYTES = 24
STATUS_200 = b"\x88"
HTML = b"\x0f\x10\x09text/html"  # content-type, by its index, as a literal


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A header that is in no table; both shorter than 127 bytes."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


SETTINGS_FRAME = frame(SETTINGS, 0, 0)
HEAD = frame(HEADERS, END_HEADERS, 1, STATUS_200 + HTML)


def read_frames(c):
    """Frames as they come, (kind, flags, stream, payload); the preface before them is skipped."""
    pending, wanted = b"", PREFACE_BYTES
    skipped = False
    while True:
        while len(pending) < wanted:
            received = c.peer.recv(65536)
            if not received:
                raise Gone
            pending += received
        if not skipped:
            pending, wanted, skipped = pending[PREFACE_BYTES:], 9, True
            continue
        size = int.from_bytes(pending[:3], "big")
        wanted = 9 + size
        if len(pending) < wanted:
            continue
        kind, flags, stream = struct.unpack(">BBI", pending[3:9])
        payload, pending, wanted = pending[9:9 + size], pending[9 + size:], 9
        yield kind, flags, stream, payload


def after_request(act):
    """Greets as it should, and calls `act` once there is a request."""
    def talk(c):
        c.send(SETTINGS_FRAME)
        for kind, _, _, _ in read_frames(c):
            if kind == HEADERS:
                c.send(frame(SETTINGS, ACK, 0))
                act(c)
                c.stall()
    return talk


def sends(data, then="stall"):
    return after_request(lambda c: (c.send(data), getattr(c, then)()))


def repeats(chunk, first=b"", pause=0.0):
    return after_request(lambda c: (c.send(first), c.forever(chunk, pause)))


LOST = {"connection lost"}
BAD = {"bad response"}
LATE = {"first byte timeout", "timeout", "too slow"}
LARGE = {"body too large", "download too large"}
ANY = LOST | BAD | LATE | {"other failure"}

NAMES = b"".join(literal(b"x-%d" % i, b"v" * 100) for i in range(100))

CASES = {
    "goes away": (sends(frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0))), ANY),
    "resets the stream": (sends(frame(RST_STREAM, 0, 1, struct.pack(">I", 2))), ANY),
    "resets the stream in the body": (
        sends(HEAD + frame(DATA, 0, 1, b"<p>half") + frame(RST_STREAM, 0, 1, struct.pack(">I", 2))),
        ANY),
    "closes in the body": (
        after_request(lambda c: (c.send(HEAD + frame(DATA, 0, 1, b"<p>half")), c.reset())), ANY),
    "never answers": (after_request(lambda c: c.stall()), LATE),
    "no frames": (lambda c: (c.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), c.stall()),
                  ANY),
    "noise": (lambda c: (c.send(bytes(range(256)) * 100), c.stall()), ANY),
    "a frame too large": (sends(b"\xff\xff\xff" + struct.pack(">BBI", DATA, 0, 1) + b"x" * 70_000),
                          ANY),
    "headers without end": (
        repeats(frame(CONTINUATION, 0, 1, NAMES), frame(HEADERS, 0, 1, STATUS_200)),
        ANY | {"headers too large"}),
    "headers that unpack to much": (
        # One header of 4 kB in the table, and then its index, a byte each time.
        sends(frame(HEADERS, END_HEADERS, 1, STATUS_200 + b"\x40\x01x\x7f\x81\x1e" + b"v" * 4000
                    + b"\xbe" * 12_000)), ANY | {"headers too large"}),
    "broken header compression": (sends(frame(HEADERS, END_HEADERS, 1, b"\xff" * 50)), ANY),
    "no status": (sends(frame(HEADERS, END_HEADERS | END_STREAM, 1, HTML)), ANY),
    "a body without end": (
        repeats(frame(DATA, 0, 1, b"x" * 16_000), HEAD), LARGE | ANY),
    "empty frames without end": (repeats(frame(DATA, 0, 1) * 1000, HEAD, 0.001), ANY),
    # Always more to read, and never a part of a response.
    "empty frames without pause": (repeats(frame(DATA, 0, 1) * 7000, HEAD), BAD | LATE),
    "empty frames before a response": (repeats(frame(DATA, 0, 1) * 7000), ANY),
    "pings without end": (repeats(frame(PING, 0, 0, b"p" * 8) * 1000), ANY),
    "settings without end": (repeats(SETTINGS_FRAME * 1000), ANY),
    "frames of unknown kinds without end": (repeats(frame(77, 0, 0, b"?" * 100) * 100), ANY),
    "large frames of unknown kinds without end": (
        repeats(frame(77, 0, 0, b"?" * 16_000) * 4), BAD | LATE),
    "a push": (sends(frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + STATUS_200)), ANY),
    "another stream": (sends(frame(HEADERS, END_HEADERS | END_STREAM, 99, STATUS_200)), ANY),
    "a wrong length": (
        sends(frame(HEADERS, END_HEADERS, 1, STATUS_200 + literal(b"content-length", b"5"))
              + frame(DATA, END_STREAM, 1, b"more than five")), ANY),
}


def hosts(tls):
    """(URL, what its line may say, host) by name; `tls` is a context of a server."""
    tls.set_alpn_protocols(["h2"])
    found = {}
    for name, (talk, reasons) in CASES.items():
        host = Host(tls=tls, talk=talk)
        found["HTTP/2: " + name] = (host.url(), reasons, host)
    return found
