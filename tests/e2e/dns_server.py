"""A name server on loopback that knows what a test tells it."""

import ipaddress
import socket
import struct
import threading

A, AAAA = 1, 28
NO_ERROR, NO_SUCH_NAME = 0, 3


class DnsServer:
    """`names` maps names to a list of addresses, or to a list of such lists, of which each lookup
    gets the next and later ones the last. Other names do not exist."""

    def __init__(self, names, ttl=300):
        self.names = {name: answers if answers and isinstance(answers[0], list) else [answers]
                      for name, answers in names.items()}
        self.ttl = ttl
        self.queries = []  # (name, type)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", self.socket.getsockname())  # the end
        self.thread.join()
        self.socket.close()

    def lookups(self, name):
        """How often the IPv4 addresses of a name were asked for."""
        return self.queries.count((name, A))

    def asked(self):
        return {name for name, _ in self.queries}

    def _serve(self):
        while True:
            query, sender = self.socket.recvfrom(4096)
            if not query:
                return
            self.socket.sendto(self._answer(query), sender)

    def _answer(self, query):
        labels, position = [], 12
        while query[position]:
            end = position + 1 + query[position]
            labels.append(query[position + 1:end].decode("latin-1"))
            position = end
        name = ".".join(labels).lower()
        kind, = struct.unpack("!H", query[position + 1:position + 3])
        self.queries.append((name, kind))
        answers = self.names.get(name)
        records = b""
        count = 0
        if answers:
            asked = self.queries.count((name, kind))
            for text in answers[min(asked, len(answers)) - 1]:
                address = ipaddress.ip_address(text)
                if kind == (A if address.version == 4 else AAAA):
                    count += 1
                    records += struct.pack("!HHHIH", 0xC00C, kind, 1, self.ttl,
                                           len(address.packed)) + address.packed
        code = NO_SUCH_NAME if answers is None else NO_ERROR
        head = query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, count, 0, 0)
        return head + query[12:position + 5] + records
