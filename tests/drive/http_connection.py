"""HTTP/1.1 over a socket that the test controls byte by byte.

    Connection   one TCP or TLS connection: a partial head, one byte at a time, no reading, reset, half-close
    Response     one HTTP/1.1 response, parsed here so that a test sees exactly what the server sent
    EventStream  the events of a text/event-stream as they arrive

Nothing here sleeps. Every wait is for an event and has a deadline after which the test fails as a hang.
"""

import contextlib
import json
import re
import select
import socket
import ssl
import struct
from dataclasses import dataclass, field

import keel_process as kp
from keel_process import Deadline, Hang

CRLF = b"\r\n"


class Broken(AssertionError):
    """The connection ended too early, or the input is not valid HTTP."""


class Connection:
    """A connection to the server. `at` is (host, port); `tls` an ssl.SSLContext."""

    def __init__(self, at, tls=None, receive_buffer=None):
        self.at = at
        s = socket.socket(socket.AF_INET6 if ":" in at[0] else socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer is not None:  # before connecting: it sets the window
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        s.settimeout(kp.SECONDS_TO_HANG)
        try:
            s.connect(at)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket = tls.wrap_socket(s, server_hostname=at[0]) if tls else s
        except BaseException:
            s.close()
            raise
        self.rest = bytearray()  # read from the socket, not yet used
        self.at_end = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        return False

    # sending

    def send(self, data, what="the server to read"):
        view = memoryview(bytes(data))
        deadline = Deadline(what)
        while view:
            self.socket.settimeout(deadline.left())
            try:
                view = view[self.socket.send(view):]
            except TimeoutError:
                raise Hang(f"waited {kp.SECONDS_TO_HANG} s for {what}") from None

    def send_in_pieces(self, data, size=1):
        """Sends the data in pieces, each in its own segment."""
        for at in range(0, len(data), size):
            self.send(data[at:at + size])

    def send_until_blocked(self, data):
        """Writes until the server accepts no more bytes for now, or the connection is closed; returns the number of bytes."""
        self.socket.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError, ssl.SSLWantWriteError, ConnectionResetError, BrokenPipeError):
            while sent < len(data):
                sent += self.socket.send(memoryview(data)[sent:])
        return sent

    # closing

    def half_close(self):
        """Closes our output; input is still read."""
        socket.socket.shutdown(self.socket, socket.SHUT_WR)  # SSLSocket.shutdown would end its input too

    def reset(self):
        """Sends a TCP RST, like a crashed machine or a killed process."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    # receiving

    def more(self, what="bytes of the server"):
        """Reads once. Returns False at the end of the stream or after a reset."""
        if self.at_end:
            return False
        self.socket.settimeout(Deadline(what).left())
        try:
            piece = self.socket.recv(1 << 16)
        except TimeoutError:
            raise Hang(f"waited {kp.SECONDS_TO_HANG} s for {what}; so far {bytes(self.rest[:200])!r}") from None
        except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
            piece = b""
        if not piece:
            self.at_end = True
            return False
        self.rest += piece
        return True

    def take(self, count, what):
        while len(self.rest) < count:
            if not self.more(what):
                raise Broken(f"the connection ended in {what}: {bytes(self.rest[:200])!r}")
        taken = bytes(self.rest[:count])
        del self.rest[:count]
        return taken

    def take_line(self, what):
        """A line up to CRLF, without it. A bare LF does not end a line of a server."""
        while (at := self.rest.find(CRLF)) < 0:
            if len(self.rest) > 1 << 20:
                raise Broken(f"no end of a line in {what}")
            if not self.more(what):
                raise Broken(f"the connection ended in {what}: {bytes(self.rest[:200])!r}")
        line = bytes(self.rest[:at])
        del self.rest[:at + 2]
        if b"\n" in line:
            raise Broken(f"a bare LF in {what}: {line!r}")
        return line

    def response(self, to="POST"):
        """Waits for the head of the next response, which may be a 1xx."""
        return Response(self, to)

    def silent(self):
        """Whether no unread input has arrived. This does not exclude later input: make a round trip on another connection
        first."""
        if self.rest or isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return False
        poller = select.poll()
        poller.register(self.socket, select.POLLIN | select.POLLHUP)
        return not poller.poll(0)

    def ends(self, what="the server to close the connection"):
        """Waits for the end; returns the input before it."""
        while self.more(what):
            pass
        left = bytes(self.rest)
        self.rest.clear()
        return left


class Response:
    """Reads the head in the constructor; the body on request, as a whole or in pieces."""

    def __init__(self, connection, to="POST"):
        self.connection = connection
        status = connection.take_line("the status line").decode("latin-1")
        found = re.fullmatch(r"(HTTP/1\.[01]) (\d{3}) ?(.*)", status)
        if not found:
            raise Broken(f"not a status line: {status!r}")
        self.version, self.status, self.reason = found[1], int(found[2]), found[3]
        self.fields = []  # (name, value) as sent
        while row := connection.take_line("the head of a response"):
            name, colon, value = row.decode("latin-1").partition(":")
            if not colon or not re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", name):
                raise Broken(f"not a header: {row!r}")
            self.fields.append((name, value.strip(" \t")))
        self.headers = {}
        for name, value in self.fields:
            name = name.lower()
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self.left = None  # remaining bytes of the body or of the chunk; None: unknown
        self.framing = self._framing(to)
        self.complete = self.framing == "none"

    def _framing(self, to):
        if to == "HEAD" or self.status // 100 == 1 or self.status in (204, 304):
            return "none"
        if "transfer-encoding" in self.headers:
            if self.headers["transfer-encoding"].lower() != "chunked" or "content-length" in self.headers:
                raise Broken(f"unclear framing: {self.fields}")
            return "chunked"
        if "content-length" in self.headers:
            if not re.fullmatch(r"\d+", self.headers["content-length"]):
                raise Broken(f"bad length: {self.fields}")
            self.left = int(self.headers["content-length"])
            return "sized" if self.left else "none"
        return "close"

    @property
    def content_type(self):
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    @property
    def keeps_open(self):
        """Whether the connection can be used again after this response."""
        options = self.headers.get("connection", "").lower()
        alive = "keep-alive" in options if self.version == "HTTP/1.0" else "close" not in options
        return alive and self.framing != "close"

    def piece(self, what="the body of a response"):
        """Some bytes of the body; b"" at its end. Raises Broken if the connection ends before that."""
        c = self.connection
        if self.complete:
            return b""
        if self.framing == "close":
            if not c.rest and not c.more(what):
                self.complete = True
                return b""
            return c.take(len(c.rest), what)
        if self.framing == "chunked" and not self.left:
            size = c.take_line(what)
            if not re.fullmatch(rb"[0-9a-fA-F]+", size):
                raise Broken(f"not the size of a chunk: {size!r}")
            self.left = int(size, 16)
            if self.left == 0:
                while c.take_line(what):  # trailers
                    pass
                self.complete = True
                return b""
        if not c.rest and not c.more(what):
            raise Broken(f"the connection ended in {what}, {self.left} bytes before the end of the {self.framing} part")
        data = c.take(min(self.left, len(c.rest)), what)
        self.left -= len(data)
        if self.left == 0:
            self.complete = self.framing == "sized"
            if self.framing == "chunked" and c.take(2, what) != CRLF:
                raise Broken("a chunk does not end at its size")
        return data

    def body(self, what="the body of a response"):
        return b"".join(iter(lambda: self.piece(what), b""))


@dataclass
class Event:
    """The lines between two empty lines. Missing fields are None."""
    id: str | None = None
    event: str | None = None
    data: str | None = None
    retry: int | None = None
    comments: list = field(default_factory=list)
    raw: bytes = b""

    @property
    def only_comments(self):
        return self.id is None and self.event is None and self.data is None and self.retry is None

    @property
    def message(self):
        """The JSON-RPC message, if there is one."""
        return json.loads(self.data) if self.data else None


class EventStream:
    """Reads a text/event-stream response. `next` returns blocks in order, including those with only comments."""

    def __init__(self, response):
        self.response = response
        self.rest = b""
        self.seen = []  # every block, in order
        self.broken = False  # it ended before the end of the HTTP body
        self.ended = False

    def next(self, what="an event"):
        """The next block; None at the end of the stream, also if it was cut off."""
        while (block := self._cut()) is None:
            if self.ended:
                return None
            try:
                piece = self.response.piece(what)
            except Broken:
                self.broken = True
                piece = b""
            if not piece:
                self.ended = True
                if self.rest and not self.broken:
                    raise Broken(f"the stream ended in the middle of an event: {self.rest[:200]!r}")
                return None
            self.rest += piece
        self.seen.append(block)
        return block

    def _cut(self):
        # A CR at the end may be half of a CRLF: wait for more.
        found = re.search(rb"(?:\r\n|\n|\r(?!\n|\Z))(?:\r\n|\n|\r(?!\n|\Z))", self.rest)
        if not found:
            return None
        raw, self.rest = self.rest[:found.end()], self.rest[found.end():]
        block = Event(raw=raw)
        data = []
        for row in re.split(r"\r\n|\n|\r", raw.decode("utf-8")):
            if not row:
                continue
            name, _, value = row.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if not name:
                block.comments.append(value)
            elif name == "data":
                data.append(value)
            elif name == "id":
                block.id = value
            elif name == "event":
                block.event = value
            elif name == "retry":
                block.retry = int(value)
            else:
                raise Broken(f"unknown field of an event: {row!r}")
        if data:
            block.data = "\n".join(data)
        return block
