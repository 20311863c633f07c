"""An HTTP proxy and a SOCKS5 proxy on loopback, for which every name is loopback."""

import contextlib
import ipaddress
import socket
import socketserver
import struct
import threading
import urllib.parse


def pump(source, sink):
    with contextlib.suppress(OSError):
        while True:
            received = source.recv(65536)
            if not received:
                break
            sink.sendall(received)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def relay(client, server):
    """Passes on what both say until both are done."""
    other = threading.Thread(target=pump, args=(server, client), daemon=True)
    other.start()
    pump(client, server)
    other.join()


def read_head(client):
    head = b""
    while b"\r\n\r\n" not in head:
        received = client.recv(65536)
        if not received:
            return None
        head += received
    return head


def read_exactly(client, size):
    data = b""
    while len(data) < size:
        received = client.recv(size - len(data))
        if not received:
            raise OSError("the client is gone")
        data += received
    return data


class Proxy:
    """`seen` are the targets that were requested, "host:port"; `heads` the requests, where the
    proxy sees them."""

    def __init__(self):
        self.seen = []
        self.heads = []
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    proxy.serve(self.request)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def hosts(self):
        return {target.rsplit(":", 1)[0] for target in self.seen}


class HttpProxy(Proxy):
    """Takes requests for http: URLs, one a connection, and CONNECT."""

    def serve(self, client):
        head = read_head(client)
        if head is None:
            return
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ")
        self.heads.append(head.decode("latin-1"))
        if method == "CONNECT":
            self.seen.append(target)
            with socket.create_connection(("127.0.0.1", int(target.rsplit(":", 1)[1]))) as server:
                client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                relay(client, server)
            return
        parts = urllib.parse.urlsplit(target)
        self.seen.append(f"{parts.hostname}:{parts.port or 80}")
        path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        with socket.create_connection(("127.0.0.1", parts.port or 80)) as server:
            passed = [each for each in rest.split(b"\r\n")
                      if not each.lower().startswith((b"proxy-", b"connection:"))]
            server.sendall(f"{method} {path} {version}\r\nConnection: close\r\n".encode("latin-1")
                           + b"\r\n".join(passed))
            answer = read_answer(server)
            head, _, body = answer.partition(b"\r\n\r\n")
            client.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)


def read_answer(server):
    """A response with its body; it must have a Content-Length."""
    answer = b""
    while True:
        head, end, body = answer.partition(b"\r\n\r\n")
        if end:
            length = [int(line.split(b":")[1]) for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")]
            if len(body) >= (length[0] if length else 0):
                return answer
        received = server.recv(65536)
        if not received:
            return answer
        answer += received


class SocksProxy(Proxy):
    """SOCKS5 (RFC 1928) without authentication; CONNECT alone."""

    def serve(self, client):
        version, methods = read_exactly(client, 2)
        read_exactly(client, methods)
        if version != 5:
            return
        client.sendall(b"\x05\x00")
        _, command, _, kind = read_exactly(client, 4)
        if kind == 3:
            host = read_exactly(client, read_exactly(client, 1)[0]).decode("latin-1")
        else:
            host = str(ipaddress.ip_address(read_exactly(client, 4 if kind == 1 else 16)))
        port, = struct.unpack("!H", read_exactly(client, 2))
        self.seen.append(f"{host}:{port}")
        if command != 1:
            client.sendall(b"\x05\x07\x00\x01" + bytes(6))
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            client.sendall(b"\x05\x00\x00\x01" + bytes(6))
            relay(client, server)
