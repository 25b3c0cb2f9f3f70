"""MCP clients over HTTP for the drivers.

    Exchange     one POST, GET or DELETE and its response; every JSON-RPC message in it is checked against the official schema
    Modern       a client of 2026-07-28: mirrored headers, `_meta`
    Session      a client of the older revisions: initialize, session id, POST and GET streams, DELETE
"""

import base64
import json
import re

import keel_process as kp
from http_connection import Broken, EventStream
from keel_process import CAPABILITIES_KEY, MODERN, VERSION_KEY, call, initialize, notification, request
from message_check import MessageCheck

BOTH_TYPES = "application/json, text/event-stream"
SESSION_HEADER = "mcp-session-id"


class HttpMessageCheck(MessageCheck):
    """Maps the error code for headers that disagree with the body, which the schema does not define."""

    def check_error(self, m, name):
        if name == MODERN and m.get("error", {}).get("code") == -32020:
            m = {**m, "error": {**m["error"], "code": -32600}}
        super().check_error(m, name)


class Exchange:
    """One HTTP request and its response. The head of the response is read on first use."""

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
                raise Broken(f"expected a stream, got {self.status} {self.response.fields}: {self.response.body()[:500]!r}")
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
        """The next event, without comments; None at the end."""
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
        """Reads until the answer of a request. Earlier messages are in `seen`."""
        while (m := self.message(f"the answer to {ident!r}")) is not None:
            for each in m if isinstance(m, list) else [m]:
                if kp.is_answer(each) and kp.same_id(each, ident):
                    return each
        raise Broken(f"{self.status}: it ended before {ident!r} was answered; received {self.seen[-5:]}")

    def done(self):
        """Reads to the end and returns the status."""
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
    """The bytes of a request's head. `headers`: pairs or a mapping; a value of None omits the header."""
    pairs = headers.items() if isinstance(headers, dict) else headers
    rows = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in pairs if v is not None), "", ""]
    return "\r\n".join(rows).encode("latin-1")


def text_bytes(message):
    """A message as bytes; bytes are returned unchanged."""
    if isinstance(message, (bytes, bytearray)):
        return bytes(message)
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def header_value(value):
    """The value of a mirrored header: plain, or in Base64 if a header cannot contain it."""
    text = "true" if value is True else "false" if value is False else str(value)
    plain = re.fullmatch(r"[\x20-\x7e\t]*", text) and text == text.strip(" \t")
    if plain and not re.fullmatch(r"=\?base64\?.*\?=", text) and text:
        return text
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


class Client:
    """Sends messages to a server, by default each on a new connection."""

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
        """The whole request as bytes. `headers` replace headers or, with None, remove them."""
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
        """Posts a request and returns its answer."""
        with self.post(message, headers, on) as e:
            return e.answer(message["id"])

    def text(self, message, headers=None, on=None):
        """Posts a call and returns the text of its result."""
        answer = self.ask(message, headers, on)
        if "result" not in answer:
            raise AssertionError(f"no result: {answer}")
        return kp.text_of(answer)


class Modern(Client):
    """A client of 2026-07-28. Adds `_meta` to its messages, and the mirrored headers to its requests."""

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
    """A client of the older revisions. Opens its session in the constructor by default."""

    def __init__(self, server, version="2025-11-25", capabilities=None, opened=True, credential=None):
        super().__init__(server, credential)
        self.version = version
        self.capabilities = capabilities or {}
        self.id = None
        self.agreed = None  # the negotiated revision
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
        """Posts a notification; returns the status. A 202 must have no body."""
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
        """Answers a request of the server; returns the status."""
        return self.accepted({"jsonrpc": "2.0", "id": ident, "result": result}, on=on)

    def get(self, last_event_id=None, headers=None, on=None, **connection):
        """Opens the GET stream, or resumes a stream."""
        fields = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        return self.bare("GET", {**fields, **(headers or {})}, on, **connection)

    def delete(self, headers=None, on=None):
        return self.bare("DELETE", headers, on).done()
