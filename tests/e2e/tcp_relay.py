"""Between a client and a server on loopback: a network that can be held up."""

import selectors
import socket
import threading


class TcpRelay:
    """Listens on a port of its own and passes everything on to `target`. While it is held nothing
    passes, in neither direction, and nobody notices; what was sent meanwhile arrives afterwards."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.other = {}  # socket: the other end
        self.held = threading.Event()
        self.stopping = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.held.clear()
        self.thread.join()
        for each in [self.listener, *self.other]:
            each.close()
        self.selector.close()

    def hold(self):
        self.held.set()

    def release(self):
        self.held.clear()

    def _serve(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.05):
                while self.held.is_set() and not self.stopping:
                    threading.Event().wait(0.01)
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj in self.other:
                    self._pass_on(key.fileobj)

    def _accept(self):
        client = self.listener.accept()[0]
        try:
            server = socket.create_connection(self.target, timeout=5)
        except OSError:
            client.close()
            return
        for one, other in ((client, server), (server, client)):
            one.setblocking(True)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.other[one] = other
            self.selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, source):
        try:
            data = source.recv(1 << 18)
            if data:
                self.other[source].sendall(data)
                return
        except OSError:
            pass
        for each in (source, self.other[source]):
            self.selector.unregister(each)
            self.other.pop(each)
            each.close()
