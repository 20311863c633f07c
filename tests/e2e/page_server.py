"""A web server on loopback with scripted responses."""

import contextlib
import http.server
import threading


class Server:
    """Answers with the pages given to serve(), and 404 for other paths."""

    def __init__(self):
        answers = self.answers = {}
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                requests.append((self.path, self.headers["User-Agent"]))
                status, headers, body = answers.get(self.path, (404, {}, b"nothing"))
                self.send_response(status)
                for name, values in headers.items():
                    for value in [values] if isinstance(values, str) else values:
                        self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)
                self.close_connection = "Content-Length" in headers

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def serve(self, path, body, content_type="text/html", status=200, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type:
            named["Content-Type"] = content_type
        self.answers[path] = (status, named, body)
        return self.root + path

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
