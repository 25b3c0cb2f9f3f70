"""The servers of hostile_lines.py on TCP and Unix sockets and over HTTP, in threads of the driver.

    HostileServer(wire, plan)   on its own port or path; `target` is the target for test-caller

Wires: tcp, unix; http_json and http_sse (both eras: an answer is plain JSON, or an event stream), old_sse (2024-11-05).

A server "dies" by closing its listener and all connections at once: for its clients that is the same.
"""

import itertools
import json
import select
import socket
import struct
import sys
import tempfile
import threading
from pathlib import Path

from hostile_lines import GARBAGE, PARTIAL_READ, Ended, LineServer, Plan, answer_to, is_request, text_of

PATHS = itertools.count()


class SocketFaults:
    """The faults of a connection. Needs `self.socket` and `self.server`."""

    def read(self, size):
        try:
            return self.socket.recv(size)
        except OSError:  # reset, or closed by this thread
            return b""

    def write(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            raise Ended from None

    def wait_for_input(self):
        self.read_without_taking(1)

    def read_without_taking(self, size):
        try:
            return self.socket.recv(size, socket.MSG_PEEK)
        except OSError:
            raise Ended from None

    def die(self):
        self.server.die()

    def close(self):
        self.server.wake(self.socket)

    def half(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            raise Ended from None
        while self.read(1 << 16):
            pass

    def reset(self):
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # the client has closed it already
        raise Ended  # closed without an answer

    def stall(self):
        self.server.over.wait()


class LineConnection(SocketFaults, LineServer):
    def __init__(self, server, s):
        LineServer.__init__(self, server.plan)
        self.server, self.socket = server, s


# ---- HTTP ----


def head(status, fields):
    rows = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(rows).encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text, kind="message"):
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), text)


JSON_TYPE = {"Content-Type": "application/json"}
EVENTS = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", "Cache-Control": "no-store"}
HTML = b"<!doctype html><title>Not what you asked for</title>"


def whole(status, body, **fields):
    fields = {name.replace("_", "-"): value for name, value in fields.items()}
    return head(status, {**fields, "Content-Length": len(body)}) + body


def json_body(text):
    return whole("200 OK", text, Content_Type="application/json")


# Faults that only HTTP has. Each returns all bytes of a response, given the text of the correct answer; after those with
# "+close" in the name the connection is closed.
HTTP_GARBAGE = {
    "broken_chunks+close": lambda t: head("200 OK", {**JSON_TYPE, "Transfer-Encoding": "chunked"}) + b"zz\r\n" + t + b"\r\n",
    "chunk_too_short+close": lambda t: head("200 OK", {**JSON_TYPE, "Transfer-Encoding": "chunked"}) + b"3\r\n" + t + b"\r\n",
    "two_lengths+close": lambda t: head("200 OK", JSON_TYPE)[:-2] + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + t,
    "not_http+close": lambda t: b"SSH-2.0-OpenSSH_9.2\r\n" + t,
    "endless_head+close": lambda t: b"HTTP/1.1 200 OK\r\n" + b"X-More: and more\r\n" * 100_000,
    "shorter_than_said+close": lambda t: head("200 OK", {**JSON_TYPE, "Content-Length": len(t) + 10}) + t,
    "wrong_type": lambda t: whole("200 OK", t, Content_Type="text/plain"),
    "no_type": lambda t: whole("200 OK", HTML),
    "html": lambda t: whole("200 OK", HTML, Content_Type="text/html"),
    "compressed": lambda t: whole("200 OK", b"\x1f\x8b\x08\0" + t, Content_Type="application/json", Content_Encoding="gzip"),
    "empty": lambda t: whole("200 OK", b"", Content_Type="application/json"),
    "accepted": lambda t: head("202 Accepted", {"Content-Length": 0}),
    "no_content": lambda t: head("204 No Content", {}),
    "status_500": lambda t: whole("500 Internal Server Error", HTML, Content_Type="text/html"),
    "status_502": lambda t: whole("502 Bad Gateway", HTML, Content_Type="text/html"),
    "status_503": lambda t: whole("503 Service Unavailable", b"", Retry_After="1"),
    "status_429": lambda t: whole("429 Too Many Requests", b""),
    "status_400": lambda t: whole("400 Bad Request", HTML, Content_Type="text/html"),
    "status_403": lambda t: whole("403 Forbidden", b""),
    "status_404": lambda t: whole("404 Not Found", HTML, Content_Type="text/html"),
    "status_405": lambda t: whole("405 Method Not Allowed", b""),
    "redirect_to_itself": lambda t: head("307 Temporary Redirect", {"Location": "/mcp", "Content-Length": 0}),
    "redirect_away": lambda t: head("307 Temporary Redirect", {"Location": "http://192.0.2.1/mcp", "Content-Length": 0}),
    "redirect_nowhere": lambda t: head("307 Temporary Redirect", {"Content-Length": 0}),
}
# Sent as events of a stream that then ends without an answer.
SSE_GARBAGE = {
    "only_comments": lambda t: b": hello\n\n: still here\n\n",
    "event_without_data": lambda t: b"event: message\n\n",
    "other_event": lambda t: event(t, "strange"),
    "half_utf8_event": lambda t: b'data: {"x":"\xc3"}\n\n',
    "answer_not_ended": lambda t: b"data: " + t + b"\n",
}


class HttpConnection(SocketFaults):
    def __init__(self, server, s):
        self.server, self.socket, self.plan = server, s, server.plan
        self.rest = b""

    def more(self):
        piece = self.read(1 << 16)
        if not piece:
            raise Ended
        self.rest += piece

    def request(self):
        """(method, path, headers, message or None)"""
        while b"\r\n\r\n" not in self.rest:
            self.more()
        top, self.rest = self.rest.split(b"\r\n\r\n", 1)
        first, *rows = top.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
        length = int(headers.get("content-length", 0))
        while len(self.rest) < length:
            self.more()
        body, self.rest = self.rest[:length], self.rest[length:]
        method, path, _ = first.split(" ")
        return method, path, headers, json.loads(body) if body else None

    def serve(self):
        plan, server = self.plan, self.server
        while True:
            # Wait for input first: the plan may change before it arrives.
            if self.post_comes() and plan.due("before_read", "mid_read") and server.claim():
                if plan.point == "mid_read":
                    self.read(PARTIAL_READ)
                self.do(plan.fault)
            method, path, headers, message = self.request()
            if method == "GET":
                self.get(headers)
            elif method == "DELETE":
                self.write(head("200 OK", {"Content-Length": 0}))
            elif server.wire == "old_sse":
                self.old_post(path, message)
            else:
                self.post(message)
            if plan.due("before_written") and server.claim():
                self.do(plan.fault)

    def post_comes(self):
        if self.rest:
            return self.rest.startswith(b"POST")
        return self.read_without_taking(4).startswith(b"P")

    def post(self, message):
        if not is_request(message):
            self.plan.opened(message)
            self.write(head("202 Accepted", {"Content-Length": 0}))
            return
        reply = answer_to(message, self.plan.era)
        if self.plan.due_for(message) and self.server.claim():
            self.misbehave(message, reply)
            return
        self.plan.opened(message)
        fields = {"Mcp-Session-Id": "s-1"} if message["method"] == "initialize" else {}
        if message["method"] == "subscriptions/listen":
            self.write(head("200 OK", EVENTS) + chunk(event(text_of(reply))))
            self.hold()
        elif self.server.wire == "http_sse":
            self.write(head("200 OK", {**EVENTS, **fields}) + chunk(event(text_of(reply))) + b"0\r\n\r\n")
        else:
            text = text_of(reply)
            self.write(head("200 OK", {**JSON_TYPE, **fields, "Content-Length": len(text)}) + text)

    def misbehave(self, message, reply):
        plan, text = self.plan, text_of(reply)
        stream = self.server.wire == "http_sse" or message["method"] == "subscriptions/listen"
        if plan.point == "answer":
            self.answer_garbage(plan.fault, message, reply, stream)
            return
        if plan.point != "before_answer":
            if stream:
                self.write(head("200 OK", EVENTS))
                self.write(chunk(b": here\n\n") if plan.point == "after_event" else b"")
                some = event(text)
                some = some[:len(some) // 2]
                self.write(b"%x\r\n%s\r\n" % (len(some), some) if plan.point == "mid_answer" else b"")
            else:
                self.write(head("200 OK", {**JSON_TYPE, "Content-Length": len(text)}))
                self.write(text[:len(text) // 2] if plan.point == "mid_answer" else b"")
        self.do(plan.fault)

    def finish(self):
        """Ends the stream correctly, but without the answer."""
        self.write(b"0\r\n\r\n")
        self.serve()

    def answer_garbage(self, fault, message, reply, stream):
        if fault in HTTP_GARBAGE:
            self.write(HTTP_GARBAGE[fault](text_of(reply)))
            if fault.endswith("+close"):
                self.close()
                raise Ended
        elif fault in SSE_GARBAGE:
            self.write(head("200 OK", EVENTS) + chunk(SSE_GARBAGE[fault](text_of(reply))) + b"0\r\n\r\n")
        elif stream:
            self.write(head("200 OK", EVENTS) + chunk(event(GARBAGE[fault](message, reply))) + b"0\r\n\r\n")
        else:
            self.write(json_body(GARBAGE[fault](message, reply)))

    def get(self, headers):
        if self.server.wire == "old_sse":
            path = f"/messages/{next(PATHS)}"  # one stream per client
            self.path = path
            self.write(head("200 OK", EVENTS) + chunk(event(path.encode(), "endpoint")))
            self.hold()
        elif self.plan.era == "legacy" and self.server.wire == "http_sse":
            self.write(head("200 OK", EVENTS) + chunk(b": here\n\n"))
            self.hold()
        else:
            self.write(head("405 Method Not Allowed", {"Allow": "POST", "Content-Length": 0}))

    def hold(self):
        """Waits until the client disconnects, or until the thread of another connection requests a fault here: a socket must
        be reset by the thread that reads from it."""
        self.orders, self.bell = socket.socketpair()
        with self.orders, self.bell:
            self.server.held(self)
            while True:
                ready, _, _ = select.select([self.socket, self.orders], [], [])
                if self.orders in ready:
                    self.do(self.orders.recv(16).decode())
                if not self.read(1 << 16):
                    raise Ended

    def order(self, fault):
        try:
            self.bell.send(fault.encode())
        except OSError:
            pass  # its client has closed it already

    def old_post(self, path, message):
        """2024-11-05: POST requests are accepted, and answers are sent on the stream."""
        stream = self.server.stream_at(path)
        if stream is None:
            self.write(head("405 Method Not Allowed", {"Allow": "GET", "Content-Length": 0}))
            return
        plan = self.plan
        reply = answer_to(message, plan.era) if is_request(message) else None
        if plan.due_for(message) and self.server.claim():
            if plan.point == "answer" and plan.fault in HTTP_GARBAGE:
                self.answer_garbage(plan.fault, message, reply, False)
                return
            if plan.point == "before_answer":
                self.do(plan.fault)
            self.write(head("202 Accepted", {"Content-Length": 0}))
            if plan.point == "answer":
                stream.write(chunk(event(GARBAGE[plan.fault](message, reply))))
                return
            some = event(text_of(reply))
            stream.write(chunk(some[:len(some) // 2]) if plan.point == "mid_answer" else b"")
            if plan.fault == "stall":
                self.serve()  # the stream stalls; everything else is correct
            stream.order(plan.fault)
            self.serve()
        plan.opened(message)
        self.write(head("202 Accepted", {"Content-Length": 0}))
        if reply is not None:
            stream.write(chunk(event(text_of(reply))))

    def do(self, fault):
        getattr(self, fault)()
        raise Ended


# ---- servers ----


class HostileServer:
    def __init__(self, wire, plan=None):
        self.wire = wire
        self.plan = plan or Plan()
        self.lock = threading.Lock()  # each connection has its own thread
        self.changed = threading.Condition(self.lock)
        self.over = threading.Event()
        self.sockets = set()
        self.threads = []
        self.streams = {}  # old_sse: the streams for answers
        if wire == "unix":
            self.folder = tempfile.TemporaryDirectory()
            path = str(Path(self.folder.name) / "socket")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.target = {"unix": path}
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            port = self.listener.getsockname()[1]
            self.target = {"tcp": f"127.0.0.1:{port}"} if wire == "tcp" else {"url": f"http://127.0.0.1:{port}/mcp"}
        self.listener.listen(64)
        self.kind = LineConnection if wire in ("tcp", "unix") else HttpConnection
        self._start(self._accept)

    def _start(self, what, *args):
        thread = threading.Thread(target=what, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                self.listener.close()
                return
            if self.wire != "unix":
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                if self.over.is_set():
                    s.close()
                    continue
                self.sockets.add(s)
            self._start(self._serve, s)

    def _serve(self, s):
        try:
            self.kind(self, s).serve()
        except Ended:
            pass
        finally:
            with self.lock:
                self.sockets.discard(s)
            s.close()

    def claim(self):
        """Returns true once, for the connection that gets the fault."""
        with self.lock:
            mine = not self.plan.met
            self.plan.met = True
            return mine

    def held(self, stream):
        with self.changed:
            self.streams[getattr(stream, "path", "")] = stream
            self.changed.notify_all()

    def stream_at(self, path):
        """The stream that announced this path. It may need a moment until it can take orders."""
        if not path.startswith("/messages/"):
            return None
        with self.changed:
            self.changed.wait_for(lambda: path in self.streams or self.over.is_set())
            return self.streams.get(path)

    def wake(self, s):
        """Shuts the socket down: the other side sees the end, and threads in recv or accept return. The thread that uses a
        socket must close it, because the descriptor number may be reused afterwards."""
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def die(self):
        with self.lock:
            all_sockets = list(self.sockets)
        for s in (self.listener, *all_sockets):
            self.wake(s)

    def close(self):
        self.over.set()
        with self.changed:
            self.changed.notify_all()
        self.die()
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join()
        if self.wire == "unix":
            self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        return False


def child(plan):
    """The same as a child process: a target for test-caller."""
    here = str(Path(__file__).with_name("hostile_lines.py"))
    return {"child": {"command": sys.executable, "arguments": ["-S", "-E", here, json.dumps(plan)]}}
