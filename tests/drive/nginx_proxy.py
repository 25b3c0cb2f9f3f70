"""A real nginx in front of a server, as a child process of the driver, with its default of buffering responses."""

import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import keel_process as kp

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream keel {{
        server {upstream};
        keepalive 16;
    }}
    server {{
        listen 127.0.0.1:{port};
        proxy_set_header Host $http_host;
        location / {{
            proxy_pass http://keel;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection "";
        }}
        # As nginx does it unless told otherwise: HTTP/1.0, a connection for each request.
        location /plain/ {{
            proxy_pass http://keel/;
        }}
        # The same, but deaf to what answers say about buffering.
        location /held/ {{
            proxy_pass http://keel/;
            proxy_ignore_headers X-Accel-Buffering;
        }}
    }}
}}
"""


class Nginx:
    """Serves inside a with statement at `origin`, the address `at`."""

    def __init__(self, server):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)  # its workers may run as another user
        # nginx inherits a socket that already listens, as from an older nginx: the port is reserved from the start, and clients
        # that connect before nginx is ready wait in the backlog.
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.at = listener.getsockname()
        self.origin = f"http://127.0.0.1:{self.at[1]}"
        configuration = Path(self.folder.name) / "nginx.conf"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder.name, port=self.at[1], upstream=f"{server.host}:{server.port}"))
        self.process = subprocess.Popen(
            ["nginx", "-p", self.folder.name, "-e", "stderr", "-c", configuration], pass_fds=(listener.fileno(),),
            env={**os.environ, "NGINX": f"{listener.fileno()};", "PATH": f"{os.environ['PATH']}:/usr/sbin"},
            stdin=subprocess.DEVNULL)
        listener.close()
        self.watched = kp.Watched(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        died = self.process.poll()
        if died is None:
            self.process.send_signal(signal.SIGTERM)
        self.watched.wait_for_end("nginx to end")
        self.process.wait()
        self.watched.close()
        self.folder.cleanup()
        if died is not None and kind is None:
            raise AssertionError(f"nginx ended with status {died}")
        return False
