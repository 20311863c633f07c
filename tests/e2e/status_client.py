"""The API of a running crawl through the control socket in its state directory."""

import http.client
import json
import os
import pathlib
import socket


class StatusClient:
    def __init__(self, state_dir):
        self.state_dir = pathlib.Path(state_dir)

    def ask(self, method, path, body=None):
        """Status and body of an answer."""
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(60)
        # The path may be longer than the address of a socket may be.
        directory = os.open(self.state_dir, os.O_RDONLY | os.O_DIRECTORY)
        try:
            connection.sock.connect(f"/proc/self/fd/{directory}/control.sock")
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            os.close(directory)
            connection.close()

    def text(self, path):
        status, body = self.ask("GET", path)
        if status != 200:
            raise ValueError(f"GET {path}: {status} {body[:200]}")
        return body

    def get(self, path):
        return json.loads(self.text(path))

    def post(self, path, body=None):
        return self.ask("POST", path, None if body is None else json.dumps(body))
