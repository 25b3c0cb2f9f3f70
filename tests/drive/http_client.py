"""What the drivers of the HTTP server share: sockets that do as the test says, and a server to do it to.

    Connection   one TCP or TLS connection, byte by byte: half a head, one byte at a time, no reading, reset, half-close
    Response     one HTTP/1.1 response, read by hand, so that a test sees what really came
    EventStream  the events of a text/event-stream as they arrive
    Exchange     one POST, GET or DELETE and its response; every JSON-RPC message in it is held against the official schema
    Modern       a client of 2026-07-28: mirrored headers, `_meta`
    Session      a client of the older revisions: initialize, session id, posts, streams, delete
    HttpServer   a server program at a port of the system's choice; Control is the way to the tools of `test-subject`

Nothing here sleeps. Every wait is for an event and has a deadline that only says when to call it a hang.
"""

import base64
import contextlib
import functools
import json
import os
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import keel_process as kp
from keel_process import CAPABILITIES_KEY, MODERN, VERSION_KEY, Deadline, Hang, call, initialize, notification, request
from message_check import MessageCheck

BOTH_TYPES = "application/json, text/event-stream"
SESSION_HEADER = "mcp-session-id"
CRLF = b"\r\n"


class Broken(AssertionError):
    """The connection ended where something was still to come, or what came is not HTTP."""


# ---- bytes ----


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

    def send(self, data, what="the server to read on"):
        view = memoryview(bytes(data))
        deadline = Deadline(what)
        while view:
            self.socket.settimeout(deadline.left())
            try:
                view = view[self.socket.send(view):]
            except TimeoutError:
                raise Hang(f"waited {kp.SECONDS_TO_HANG} s for {what}") from None

    def dribble(self, data, size=1):
        """In pieces, each a segment of its own."""
        for at in range(0, len(data), size):
            self.send(data[at:at + size])

    def send_what_fits(self, data):
        """Writes until the server takes no more just now, or for good; says how many bytes went out."""
        self.socket.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError, ssl.SSLWantWriteError, ConnectionResetError, BrokenPipeError):
            while sent < len(data):
                sent += self.socket.send(memoryview(data)[sent:])
        return sent

    # endings

    def half_close(self):
        """No more from us; we still read."""
        socket.socket.shutdown(self.socket, socket.SHUT_WR)  # an SSLSocket's own would end its reading too

    def reset(self):
        """TCP RST, as a crash of the machine or a killed process gives."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    # receiving

    def more(self, what="bytes of the server"):
        """Reads once. False at the end of the stream; a reset is an end too."""
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
        """Up to CRLF, without it. A bare LF is no end of a line in what a server writes."""
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
        """Waits for the head of the next response. A 1xx is one too."""
        return Response(self, to)

    def silent(self):
        """Whether nothing has come that was not yet read. Says nothing about later: have a round trip elsewhere first."""
        if self.rest or isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return False
        poller = select.poll()
        poller.register(self.socket, select.POLLIN | select.POLLHUP)
        return not poller.poll(0)

    def ends(self, what="the server to close the connection"):
        """Waits for the end; gives what came before it."""
        while self.more(what):
            pass
        left = bytes(self.rest)
        self.rest.clear()
        return left


class Response:
    """The head is read at once; the body when asked for, as a whole or piece by piece."""

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
        self.left = None  # bytes to come of the body or of the chunk; None: unknown
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
        """Some bytes of the body; b"" at its proper end. Broken when the connection ends before it."""
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
                raise Broken("a chunk that does not end where it says")
        return data

    def body(self, what="the body of a response"):
        return b"".join(iter(lambda: self.piece(what), b""))


# ---- events ----


@dataclass
class Event:
    """What stands between two empty lines. A field that did not come is None."""
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
    """Reads a response of text/event-stream. `next` gives blocks in order, also those of comments alone."""

    def __init__(self, response):
        self.response = response
        self.rest = b""
        self.seen = []  # every block, in order
        self.broken = False  # it ended without the end of the HTTP body
        self.ended = False

    def next(self, what="an event"):
        """The next block; None at the end of the stream, however it ended."""
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
        # A CR at the very end may be half a CRLF: that waits.
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
                raise Broken(f"no field of an event: {row!r}")
        if data:
            block.data = "\n".join(data)
        return block


# ---- an exchange ----


class HttpMessageCheck(MessageCheck):
    """Over HTTP headers can disagree with the body, and there is a code for it. It has no definition of its own."""

    def check_error(self, m, name):
        if name == MODERN and m.get("error", {}).get("code") == -32020:
            m = {**m, "error": {**m["error"], "code": -32600}}
        super().check_error(m, name)


class Exchange:
    """One request of HTTP and its response. The head of the response is read when something of it is asked for."""

    def __init__(self, connection, check, method="POST", owned=True):
        self.connection = connection
        self.check = check
        self.method = method
        self.owned = owned
        self._response = None
        self._stream = None
        self._json = None
        self.seen = []  # every JSON-RPC message, in order

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.owned:
            self.close()
        return False

    @property
    def response(self):
        if self._response is None:
            self._response = self.connection.response(self.method)
        return self._response

    @property
    def status(self):
        return self.response.status

    @property
    def headers(self):
        return self.response.headers

    @property
    def is_stream(self):
        return self.response.content_type == "text/event-stream"

    @property
    def stream(self):
        if self._stream is None:
            if not self.is_stream:
                raise Broken(f"no stream but {self.status} {self.response.fields}: {self.response.body()[:500]!r}")
            self._stream = EventStream(self.response)
        return self._stream

    def json(self):
        """The body as one JSON text (a message, or the batch of 2025-03-26), or None without a body."""
        if self._json is None:
            text = self.response.body()
            if not text:
                return None
            if self.response.content_type != "application/json":
                raise Broken(f"a body that is not JSON: {self.response.fields} {text[:500]!r}")
            self._json = json.loads(text)
            self._note(self._json)
        return self._json

    def _note(self, message):
        self.seen += message if isinstance(message, list) else [message]
        self.check.received(message)

    def event(self, what="an event"):
        """The next event, comments left out; None at the end."""
        while (event := self.stream.next(what)) is not None:
            if event.only_comments:
                continue
            if event.data:
                self._note(event.message)
            return event
        return None

    def message(self, what="a message"):
        """The next JSON-RPC message of a stream or the one of a body; None at the end."""
        if not self.is_stream:
            return self.json() if self._json is None else None
        while (event := self.event(what)) is not None:
            if event.data:
                return event.message
        return None

    def messages(self, what="the end of the stream"):
        return list(iter(lambda: self.message(what), None))

    def answer(self, ident):
        """Reads on to the answer of a request. What came before it is in `seen`."""
        while (m := self.message(f"the answer to {ident!r}")) is not None:
            for each in m if isinstance(m, list) else [m]:
                if kp.is_answer(each) and kp.same_id(each, ident):
                    return each
        raise Broken(f"{self.status}: it ended before {ident!r} was answered; it said {self.seen[-5:]}")

    def done(self):
        """Reads to the end and gives the status; for what has no interesting body."""
        if self.is_stream:
            self.messages()
        elif self.response.content_type == "application/json":
            self.json()
        else:
            self.response.body()
        status = self.status
        self.close_if_owned()
        return status

    def close_if_owned(self):
        if self.owned:
            self.close()

    def close(self):
        self.connection.close()

    def reset(self):
        self.connection.reset()


def head(method, path, headers):
    """The bytes of a request's head. `headers`: pairs or a mapping; a value of None leaves the header out."""
    pairs = headers.items() if isinstance(headers, dict) else headers
    rows = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in pairs if v is not None), "", ""]
    return "\r\n".join(rows).encode("latin-1")


def text_bytes(message):
    """A message as bytes; bytes are left as they are."""
    if isinstance(message, (bytes, bytearray)):
        return bytes(message)
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def header_value(value):
    """Mirrored into a header: as it is, or in Base64 where a header could not carry it."""
    text = "true" if value is True else "false" if value is False else str(value)
    plain = re.fullmatch(r"[\x20-\x7e\t]*", text) and text == text.strip(" \t")
    if plain and not re.fullmatch(r"=\?base64\?.*\?=", text) and text:
        return text
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


# ---- clients ----


class Client:
    """Sends messages to a server, each on a connection of its own unless told otherwise."""

    def __init__(self, server, credential=None):
        self.server = server
        self.credential = credential or server.credential
        self.check = HttpMessageCheck()

    def base_headers(self):
        known = {"Authorization": f"Bearer {self.credential}"} if self.credential else {}
        return {"Host": self.server.host_header, "Content-Type": "application/json", "Accept": BOTH_TYPES, **known}

    def headers_for(self, message):
        return self.base_headers()

    def request_bytes(self, message, headers=None, method="POST", path=None):
        """The whole request, to be sent in whatever pieces. `headers` replace or, with None, remove."""
        body = b"" if message is None else text_bytes(message)
        fields = {**self.headers_for(message)}
        if message is not None:
            fields["Content-Length"] = len(body)
        for name, value in (headers or {}).items():
            for known in [k for k in fields if k.lower() == name.lower()]:
                del fields[known]
            fields[name] = value
        return head(method, path or self.server.path, fields) + body

    def note_sent(self, message):
        if message is not None:
            self.check.sent_line(text_bytes(message))

    def post(self, message, headers=None, on=None, path=None, **connection):
        self.note_sent(message)
        c = on or self.server.connect(**connection)
        try:
            c.send(self.request_bytes(message, headers, path=path))
        except BaseException:
            if on is None:
                c.close()
            raise
        return Exchange(c, self.check, owned=on is None)

    def bare(self, method, headers=None, on=None, path=None, **connection):
        """A request without a body."""
        c = on or self.server.connect(**connection)
        c.send(self.request_bytes(None, headers, method=method, path=path))
        return Exchange(c, self.check, method, owned=on is None)

    def ask(self, message, headers=None, on=None):
        """Posts a request and gives its answer."""
        with self.post(message, headers, on) as e:
            return e.answer(message["id"])

    def text(self, message, headers=None, on=None):
        """Posts a call and gives the text of its result."""
        answer = self.ask(message, headers, on)
        if "result" not in answer:
            raise AssertionError(f"no result: {answer}")
        return kp.text_of(answer)


class Modern(Client):
    """A client of 2026-07-28. Its messages get `_meta`, its requests the headers that mirror them."""

    def __init__(self, server, capabilities=None, version=MODERN, credential=None):
        super().__init__(server, credential)
        self.version = version
        self.meta = {VERSION_KEY: version, CAPABILITIES_KEY: capabilities or {}}

    def with_meta(self, message, **meta):
        params = message.get("params") or {}
        return {**message, "params": {**params, "_meta": {**self.meta, **meta, **params.get("_meta", {})}}}

    def request(self, ident, method, params=None, **meta):
        return self.with_meta(request(ident, method, params), **meta)

    def call(self, ident, tool, arguments=None, **meta):
        return self.with_meta(call(ident, tool, arguments), **meta)

    def listen(self, ident, **notifications):
        return self.request(ident, "subscriptions/listen", {"notifications": notifications})

    def headers_for(self, message):
        fields = self.base_headers()
        if not isinstance(message, dict):
            return fields
        fields["MCP-Protocol-Version"] = self.version
        if isinstance(message.get("method"), str):
            fields["Mcp-Method"] = message["method"]
        params = message.get("params") if isinstance(message.get("params"), dict) else {}
        name = params.get({"resources/read": "uri", "tools/call": "name", "prompts/get": "name"}.get(message.get("method")))
        if isinstance(name, str):
            fields["Mcp-Name"] = header_value(name)
        return fields


class Session(Client):
    """A client of the older revisions. Opened at once, unless told otherwise."""

    def __init__(self, server, version="2025-11-25", capabilities=None, opened=True, credential=None):
        super().__init__(server, credential)
        self.version = version
        self.capabilities = capabilities or {}
        self.id = None
        self.agreed = None  # the revision, once it is known
        if opened:
            self.open()

    def headers_for(self, message):
        fields = self.base_headers()
        if message is None:
            del fields["Content-Type"]
            fields["Accept"] = "text/event-stream"
        if self.id is not None:
            fields["Mcp-Session-Id"] = self.id
        if self.agreed is not None and self.agreed >= "2025-06-18":
            fields["MCP-Protocol-Version"] = self.agreed
        return fields

    def open(self, on=None):
        answer = self.initialize(on=on)
        status = self.notify("notifications/initialized", on=on)
        if status != 202:
            raise AssertionError(f"notifications/initialized was answered {status}")
        return answer

    def initialize(self, ident="open", headers=None, on=None):
        with self.post(initialize(ident, self.version, self.capabilities), headers, on) as e:
            answer = e.answer(ident)
            if "result" not in answer:
                raise AssertionError(f"initialize failed: {answer}")
            self.id = e.headers.get(SESSION_HEADER)
            self.agreed = answer["result"]["protocolVersion"]
        return answer

    def notify(self, method, params=None, headers=None, on=None):
        """Posts a notification; gives the status. What is accepted has no body."""
        return self.accepted(notification(method, params), headers, on)

    def accepted(self, message, headers=None, on=None):
        with self.post(message, headers, on) as e:
            body = e.response.body()
            if e.status == 202 and body:
                raise AssertionError(f"202 with a body: {body[:200]!r}")
            return e.status

    def cancel(self, ident, reason=None, on=None):
        return self.accepted(kp.cancel(ident, reason), on=on)

    def reply(self, ident, result, on=None):
        """Answers a request of the server's; gives the status."""
        return self.accepted({"jsonrpc": "2.0", "id": ident, "result": result}, on=on)

    def get(self, last_event_id=None, headers=None, on=None, **connection):
        """The stand-alone stream, or a stream that is taken up again."""
        fields = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        return self.bare("GET", {**fields, **(headers or {})}, on, **connection)

    def delete(self, headers=None, on=None):
        return self.bare("DELETE", headers, on).done()


# ---- servers ----


def program(name):
    place = Path(os.environ.get("KEEL_BIN", kp.ROOT / "build" / "release" / "bin"))
    return str((place if place.is_dir() else place.parent) / name)


class HttpServer(kp.Watched):
    """A server program at a port that the system chooses. At the end of its with statement it is ended.

    `settings` are for test-subject alone: bounds that no command line offers (tests/subject/settings.cpp).
    """

    def __init__(self, *options, command=("test-subject",), host="127.0.0.1", port=0, tls=None, settings=None, **popen):
        self.tls = tls  # an ssl.SSLContext for our side
        self.credential = None  # what clients present, unless they have their own
        where = ("--http-with" if settings else "--http", f"{host}:{port}")
        said = [f"{name}={value}" for name, value in (settings or {}).items()]
        self.process = subprocess.Popen(
            [program(command[0]), *command[1:], *where, *options, *said],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **popen)
        kp.Watched.__init__(self, self.process.pid)
        self.log = []
        self.heard = threading.Condition()
        self.log_ended = False
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        try:
            self._read_address()
        except BaseException:
            self._end()
            raise

    def _listen(self):
        for row in self.process.stderr:
            with self.heard:
                self.log.append(row.decode(errors="replace"))
                self.heard.notify_all()
        with self.heard:
            self.log_ended = True
            self.heard.notify_all()

    def _read_address(self):
        row = self.wait_for_line(r"serving (https?)://(\[[0-9a-f:]+\]|[^/:]+):(\d+)(/\S*)")
        self.scheme, self.path = row[1], row[4]
        self.host, self.port = row[2].strip("[]"), int(row[3])
        self.host_header = f"{row[2]}:{row[3]}"
        self.origin = f"{self.scheme}://{self.host_header}"
        self.url = self.origin + self.path

    def wait_for_line(self, pattern):
        """Until standard error has a line like this; gives the match."""
        deadline = Deadline(f"a line like {pattern!r} on standard error")
        at = 0
        with self.heard:
            while True:
                for row in self.log[at:]:
                    if found := re.search(pattern, row):
                        return found
                at = len(self.log)
                if self.log_ended:
                    raise AssertionError(f"the server ended without a line like {pattern!r}:\n{''.join(self.log)}")
                self.heard.wait(deadline.left())

    def said(self):
        with self.heard:
            return "".join(self.log)

    def connect(self, **options):
        return Connection((self.host, self.port), tls=self.tls, **options)

    def signal(self, number):
        self.process.send_signal(number)

    def exit_status(self):
        """Waits for its end. As a shell tells it: 128 + n when signal n killed it."""
        self.wait_for_end("the server to exit")
        status = self.process.wait()
        self.listener.join()
        return status if status >= 0 else 128 - status

    def sockets(self):
        """How many of its descriptors are sockets."""
        count = 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                count += os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:")
        return count

    def metrics(self):
        """The numbers at /metrics that have no labels, by name."""
        with Client(self).bare("GET", {"Accept": "*/*"}, path="/metrics") as e:
            rows = e.response.body().decode().splitlines()
        return {name: float(value) for name, value in (row.split() for row in rows if row[:1] != "#" and "{" not in row)}

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        died = self.process.poll()
        self._end()
        if kind is not None and issubclass(kind, Exception):
            sys.stderr.write(f"\nstandard error of the server:\n{self.said()}\n")
        if died is not None and died < 0 and kind is None:
            raise AssertionError(f"the server died of signal {-died}:\n{self.said()}")
        return False

    def _end(self):
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        self.listener.join()
        self.process.stderr.close()
        self.close()


class Control:
    """The tools of `test-subject` that watch and steer other calls, over a connection of its own (2026-07-28)."""

    def __init__(self, server):
        self.client = Modern(server)
        self.connection = None
        self.count = 0

    def __enter__(self):
        self.use("echo", text="")  # so that its connection is among what is there from the start
        return self

    def __exit__(self, *error):
        self.close()
        return False

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def use(self, tool, **arguments):
        """Calls a tool; gives its structured content, or its text where there is none."""
        self.count += 1
        if self.connection and not self.connection.silent():  # a server closes what is idle for long
            self.close()
        if self.connection is None:
            self.connection = self.client.server.connect()
        ident = f"control-{self.count}"
        e = self.client.post(self.client.call(ident, tool, arguments), on=self.connection)
        answer = e.answer(ident)
        e.done()
        if not e.response.keeps_open:
            self.close()
        if "result" not in answer or answer["result"].get("isError"):
            raise AssertionError(f"{tool}({arguments}): {answer}")
        return answer["result"].get("structuredContent", kp.text_of(answer))

    def wait(self, key, what):
        """Until that has happened to the call: begun, cancelled, cleaned_up, finished, asked."""
        return self.use("wait_status", key=key, what=what)

    def status(self, key):
        return self.use("status", key=key)

    def release(self, key, value=""):
        return self.use("release", key=key, value=value)

    def emit(self, key, n=1, kind="progress"):
        return self.use("emit", key=key, n=n, kind=kind)

    def census(self):
        """What the server holds, this call and its connection among it."""
        counted = self.use("census")
        for name, value in self.client.server.metrics().items():
            if name in ("keel_http_sessions", "keel_http_streams"):
                counted[name.removeprefix("keel_http_")] = int(value)
        return counted


WITH_STREAMS = ("2025-03-26", "2025-06-18", "2025-11-25")  # the older revisions that know Streamable HTTP


def in_each(*versions):
    """Runs a test in each of these revisions. It gets the revision as its argument."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for version in versions or WITH_STREAMS:
                with self.subTest(version=version):
                    test(self, version)
        return run
    return decorate


class HttpTest(kp.DriveTest):
    """A server for each test of a class: `options` or `settings` are given to it, `command` is the program."""

    options = ()
    settings = None
    command = ("test-subject",)
    credential = None  # what clients present, unless they have their own

    def setUp(self):
        self.server = self.enterContext(self.start())
        self.server.credential = self.credential
        self.addCleanup(self.server_ends_well)  # when every connection of the test has gone
        if self.command[0] == "test-subject":
            self.control = self.enterContext(Control(self.server))
        self.keys = 0

    def start(self, *more, **how):
        return HttpServer(*self.options, *more, command=self.command, **{"settings": self.settings, **how})

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        super().run(result)
        if result and len(result.failures) + len(result.errors) > before and getattr(self, "server", None):
            sys.stderr.write(f"\nstandard error of the server:\n{self.server.said()}\n")

    def key(self, what="call"):
        """A name for a call that nobody else uses."""
        self.keys += 1
        return f"{what}-{self.keys}"

    def session(self, version="2025-11-25", capabilities=None, **how):
        return Session(self.server, version, capabilities, **how)

    def modern(self, capabilities=None):
        return Modern(self.server, capabilities)

    def server_ends_well(self):
        """Whatever a test has done to it: the server stops when it is told to, and no sanitizer has found anything."""
        if self.server.process.poll() is None:
            return self.stops()
        return self.is_clean(self.server)

    def is_clean(self, server):
        for bad in ("Sanitizer", "terminate called", "runtime error"):
            self.assertNotIn(bad, server.said())

    def stops(self, server=None):
        """SIGTERM, then an orderly end."""
        server = server or self.server
        server.signal(signal.SIGTERM)
        self.ends_well(server)

    # ---- conversations with test-subject ----

    def parked(self, session, ident, key, **arguments):
        """Posts a call that waits until it is released, and waits until its handler runs."""
        exchange = self.enterContext(session.post(call(ident, "park", {"key": key, **arguments}, {"progressToken": key})))
        self.control.wait(key, "begun")
        return exchange

    def streaming(self, session, ident, key, n=1, **arguments):
        """The same, and the call has said something: its answer is a stream. Read up to there."""
        exchange = self.parked(session, ident, key, **arguments)
        self.control.emit(key, n)
        for number in range(1, n + 1):
            self.is_progress(exchange.message(), number)
        return exchange

    def listening(self, session, last_event_id=None, **how):
        """A GET stream that is open: something has come, which is not a message."""
        exchange = self.enterContext(session.get(last_event_id, **how))
        self.assertEqual(exchange.status, 200, exchange.response.fields)
        start = exchange.stream.next("the start of a stream")
        if session.agreed == "2025-11-25" and start.id is None:
            start = exchange.stream.next("the first event of a stream")
        self.assertFalse(start.data, "a message before the start of the stream is complete")
        return exchange

    # ---- checks ----

    def is_progress(self, message, number):
        self.assertIsNotNone(message, f"the stream ended before progress {number}")
        self.assertEqual(message.get("method"), "notifications/progress", message)
        self.assertEqual(message["params"]["progress"], number)

    def is_cancelled_answer(self, message, ident):
        self.assertTrue(kp.same_id(message, ident), message)
        self.assertEqual(message["error"]["code"], -32800)

    def nothing_runs(self, but=1):
        """No call is left in the server, apart from the one that looks."""
        kp.until(lambda: self.control.census()["in_flight"] == but, "the last call to be forgotten")

    def is_error(self, exchange, status, code=None, ident=None):
        """The status, and a JSON-RPC error in the body: with this id, or without any. The body is returned."""
        self.assertEqual(exchange.status, status, exchange.response.fields)
        body = exchange.json()
        self.assertIsInstance(body, dict)
        self.assertIn("error", body)
        if ident is None:
            self.assertTrue(body.get("id") is None, body)
        else:
            self.assertTrue(kp.same_id(body, ident), body)
        if code is not None:
            self.assertEqual(body["error"]["code"], code, body)
        exchange.close_if_owned()
        return body

    def refused(self, exchange, status):
        """This status; whatever the body says, it is no result."""
        self.assertEqual(exchange.status, status, exchange.response.fields)
        body = exchange.response.body()
        if exchange.response.content_type == "application/json":
            self.assertNotIn("result", json.loads(body))
        exchange.close_if_owned()
        return body

    def still_serves(self):
        """Both eras are served as ever."""
        self.assertEqual(self.modern().text(self.modern().call(1, "echo", {"text": "modern"})), "modern")
        s = self.session()
        self.assertEqual(s.text(call(1, "echo", {"text": "legacy"})), "legacy")
        self.assertEqual(s.delete(), 200)
