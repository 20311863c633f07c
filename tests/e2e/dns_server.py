"""A name server on loopback with scripted answers and failures."""

import ipaddress
import socket
import struct
import threading

A, AAAA = 1, 28
NO_ERROR, NO_SUCH_NAME = 0, 3
# How it may fail, for which `trouble` is set: with a code, or otherwise.
SERVFAIL, REFUSED = 2, 5
SILENT, MALFORMED = "silent", "malformed"


class DnsServer:
    """`names` maps names to a list of addresses, or to a list of such lists, of which each lookup
    gets the next and later ones the last. Other names do not exist. While `trouble` is set it is
    all that anyone gets, and `troubled` counts how often."""

    def __init__(self, names, ttl=300, address=("127.0.0.1", 0), trouble=None):
        self.names = {name: answers if answers and isinstance(answers[0], list) else [answers]
                      for name, answers in names.items()}
        self.ttl = ttl
        self.queries = []  # (name, type)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.trouble = trouble
        self.troubled = 0
        self.socket.bind(address)
        self.address = "%s:%d" % self.socket.getsockname()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", self.socket.getsockname())  # the end
        self.thread.join()
        self.socket.close()

    def lookups(self, name):
        """How often the IPv4 addresses of a name were queried."""
        return self.queries.count((name, A))

    def asked(self):
        return {name for name, _ in self.queries}

    def _serve(self):
        while True:
            query, sender = self.socket.recvfrom(4096)
            if not query:
                return
            answer = self._answer(query)
            if answer is not None:
                self.socket.sendto(answer, sender)

    def _trouble(self, query, question_end):
        self.troubled += 1
        if self.trouble == SILENT:
            return None
        if self.trouble == MALFORMED:  # claims an answer that is not there
            return query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + query[12:question_end]
        return (query[:2] + struct.pack("!HHHHH", 0x8180 | self.trouble, 1, 0, 0, 0)
                + query[12:question_end])

    def _answer(self, query):
        labels, position = [], 12
        while query[position]:
            end = position + 1 + query[position]
            labels.append(query[position + 1:end].decode("latin-1"))
            position = end
        name = ".".join(labels).lower()
        kind, = struct.unpack("!H", query[position + 1:position + 3])
        self.queries.append((name, kind))
        if self.trouble is not None:
            return self._trouble(query, position + 5)
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
