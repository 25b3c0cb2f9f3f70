#!/usr/bin/env python3
"""The headers of 2026-07-28 that mirror the body, and which check comes first when several apply. Against a real process
over real sockets."""


import copy
import itertools
import json

import http_client as hc
import keel_process as kp
from http_client import HttpTest, Modern
from keel_process import CAPABILITIES_KEY, MODERN, VERSION_KEY, call

ARGUMENTS = {"region": "north", "count": 42, "dry": True, "inner": {"depth": "deep"}, "plain": "not mirrored"}
MIRRORED = {"Mcp-Param-Region": "north", "Mcp-Param-Count": "42", "Mcp-Param-Dry-Run": "true", "Mcp-Param-Depth": "deep"}

# (value, as it must be sent) of docs/rules/protocol.md, section 1.4, and a few of the same kind.
ENCODED = (
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("\ttabs\t", "=?base64?CXRhYnMJ?="),
    ("~\x7f", "=?base64?fn8=?="),
    ("", "=?base64??="),
)
# Is taken literally: what stands in the header is the value.
LITERAL = (
    "north", "a b\tc", "!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "=?base64?", "?=", "=?BASE64?QUJD?=", "=?Base64?QUJD?=", "=?utf-8?QUJD?=",
    "x=?base64?QUJD?=", "100%41", '"quoted"', "a, b", "",
)
# Nothing can be meant by these.
UNDECODABLE = (
    "=?base64?QUJ?=",  # padding is missing
    "=?base64?QUI?=",
    "=?base64?QQ=?=",
    "=?base64?QQ===?=",
    "=?base64?QR==?=",  # bits are left over: not the canonical spelling
    "=?base64?QUJ=?=",
    "=?base64?QU JD?=",
    "=?base64?!!!!?=",
    "=?base64?-_-_?=",  # the other alphabet
    "=?base64?/w==?=",  # not UTF-8
    "=?base64?QQ==QQ==?=",
    "=?base64?literal?=",
)


class Routing(HttpTest):
    """MCP-Protocol-Version, Mcp-Method, Mcp-Name."""

    def each_named(self, m):
        yield m.call(1, "echo", {"text": "x"})
        yield m.request(2, "prompts/get", {"name": "greeting", "arguments": {"name": "x"}})
        yield m.request(3, "resources/read", {"uri": "subject://one"})

    def each_kind(self, m):
        yield from self.each_named(m)
        yield m.request(4, "tools/list")
        yield m.request(5, "server/discover")
        yield m.listen(6, toolsListChanged=True)

    def required_for(self, message):
        named = message["method"] in ("tools/call", "prompts/get", "resources/read")
        return ("MCP-Protocol-Version", "Mcp-Method", *(("Mcp-Name",) if named else ()))

    def is_mismatch(self, exchange, ident):
        return self.is_error(exchange, 400, -32020, ident)

    def test_with_all_headers(self):
        """HDR-04 HDR-06: requests with the required headers are served, whatever the case of header names."""
        m = self.modern()
        for message in self.each_kind(m):
            for spelled in (str.lower, str.upper, str.title, str.swapcase):
                with self.subTest(method=message["method"], spelled=spelled.__name__):
                    fields = m.headers_for(message)
                    other = {name: None for name in fields} | {spelled(name): value for name, value in fields.items()}
                    with m.post(message, {**other, "Content-Length": len(hc.text_bytes(message))}) as e:
                        self.assertEqual(e.status, 200, e.response.fields)
                        first = e.message()
                        self.assertTrue("result" in first or "method" in first, first)

    def test_each_missing(self):
        """HDR-04 E12: a required header that is missing or empty is answered 400 with -32020 and the id of the request."""
        m = self.modern()
        for message in self.each_kind(m):
            for name in self.required_for(message):
                for value in (None, "", " \t "):
                    with self.subTest(method=message["method"], header=name, value=value):
                        self.is_mismatch(m.post(message, {name: value}), message["id"])
        self.still_serves()

    def test_each_different(self):
        """HDR-04 HDR-06 E12: a value that differs, if only in case, is answered 400 with -32020."""
        m = self.modern()
        wrong = {
            "MCP-Protocol-Version": ["2025-11-25", "2026-07-29", "2026-07-28x", "2026-07-2", "2026", "x"],
            "Mcp-Method": ["tools/cal", "tools/callx", "TOOLS/CALL", "Tools/Call", "ping", "tools/call,tools/call", "/"],
            "Mcp-Name": ["ech", "echox", "Echo", "ECHO", "echo,echo", "SUBJECT://one", "subject://", "subject://two", '"echo"'],
        }
        for message in self.each_kind(m):
            for name in self.required_for(message):
                for value in wrong[name]:
                    with self.subTest(method=message["method"], header=name, value=value):
                        self.is_mismatch(m.post(message, {name: value}), message["id"])
        self.still_serves()

    def test_ids_come_back_typed(self):
        """HDR-04 A3: the error of a mismatch has the id of the request, of its type."""
        m = self.modern()
        for ident in (0, -7, 9223372036854775807, "", "0", "1", "ü"):
            with self.subTest(ident=ident):
                self.is_mismatch(m.post(m.call(ident, "echo", {"text": "x"}), {"Mcp-Name": "other"}), ident)

    def test_repeated(self):
        """HDR-04: a duplicate header is answered 400 with -32020, even if both values are equal."""
        m = self.modern()
        for message in self.each_named(m):
            for name in self.required_for(message):
                right = m.headers_for(message)[name]
                for pair in ((right, right), (right, "other"), ("other", right)):
                    with self.subTest(method=message["method"], header=name, pair=pair):
                        self.twice(m, message, name, pair)

    def twice(self, m, message, name, pair):
        body = hc.text_bytes(message)
        fields = [(n, v) for n, v in m.headers_for(message).items() if n != name]
        fields += [(name, pair[0]), ("Content-Length", len(body)), (name.lower(), pair[1])]
        m.note_sent(message)
        with self.server.connect() as c:
            c.send(hc.head("POST", self.server.path, fields) + body)
            self.is_mismatch(hc.Exchange(c, m.check, owned=False), message["id"])

    def test_whitespace_around_values(self):
        """HDR-04: spaces and tabs around a value are ignored."""
        m = self.modern()
        for message in self.each_named(m):
            fields = m.headers_for(message)
            for before, after in ((" ", " "), ("\t", ""), ("  \t ", "\t\t")):
                with self.subTest(method=message["method"], before=before, after=after):
                    padded = {name: f"{before}{fields[name]}{after}" for name in self.required_for(message)}
                    with m.post(message, padded) as e:
                        self.assertIn("result", e.answer(message["id"]))

    def test_encoded_names(self):
        """HDR-05: a name in Base64 is decoded before it is compared, also where that was not needed."""
        m = self.modern()
        for message in self.each_named(m):
            name = message["params"].get("name", message["params"].get("uri"))
            coded = "=?base64?" + hc.base64.b64encode(name.encode()).decode() + "?="
            with self.subTest(method=message["method"]), m.post(message, {"Mcp-Name": coded}) as e:
                self.assertIn("result", e.answer(message["id"]))
            other = "=?base64?" + hc.base64.b64encode(name.upper().encode()).decode() + "?="
            with self.subTest(method=message["method"], other=True):
                self.is_mismatch(m.post(message, {"Mcp-Name": other}), message["id"])

    def test_vectors_as_names(self):
        """HDR-05 HDR-04: names that a header cannot contain are sent encoded; the answer is that the tool is unknown."""
        m = self.modern()
        for value, sent in ENCODED:
            for message in (m.call(1, value), m.request(1, "prompts/get", {"name": value}),
                            m.request(1, "resources/read", {"uri": value})):
                with self.subTest(method=message["method"], value=value):
                    with m.post(message, {"Mcp-Name": sent}) as e:
                        self.assertEqual(e.answer(1)["error"]["code"], -32602)
                    self.is_mismatch(m.post(message, {"Mcp-Name": "=?base64?QUJD?="}), 1)

    def test_undecodable_names(self):
        """HDR-04 HDR-05: an undecodable value is answered 400 with -32020, although the body has the same text."""
        m = self.modern()
        for value in UNDECODABLE:
            for name in ("echo", value):
                with self.subTest(value=value, name=name):
                    self.is_mismatch(m.post(m.call(1, name, {"text": "x"}), {"Mcp-Name": value}), 1)
        self.still_serves()

    def test_bytes_beyond_ascii(self):
        """HDR-04: a name in raw UTF-8 is not a valid header, although the body has the same text."""
        m = self.modern()
        raw = "世界".encode().decode("latin-1")
        self.is_mismatch(m.post(m.call(1, "世界"), {"Mcp-Name": raw}), 1)
        self.still_serves()

    def test_name_where_none_belongs(self):
        """HDR-04: methods without a name need no Mcp-Name."""
        m = self.modern()
        for message in (m.request(1, "tools/list"), m.request(1, "server/discover"), m.request(1, "resources/list")):
            self.assertNotIn("Mcp-Name", m.headers_for(message))
            self.assertIn("result", m.ask(message))

    def test_older_clients_need_none(self):
        """BASE-23: clients of older revisions have no such headers, and none is compared."""
        for version in hc.WITH_STREAMS:
            with self.subTest(version=version):
                s = self.session(version)
                self.assertEqual(s.text(call(1, "echo", {"text": "x"}), {"Mcp-Method": "other", "Mcp-Name": "other"}), "x")
                self.assertEqual(json.loads(s.text(call(2, "mirrored", ARGUMENTS), {"Mcp-Param-Region": "other"})), ARGUMENTS)

    def test_notifications(self):
        """HDR-04 HTTP-07 E9: notifications with their headers are accepted, known or not: 202 without a body."""
        m = self.modern()
        for method in ("notifications/cancelled", "notifications/initialized", "notifications/unheard_of", "x"):
            with self.subTest(method=method):
                with m.post(m.with_meta(kp.notification(method, {"requestId": 1}))) as e:
                    self.assertEqual(e.status, 202)
                    self.assertEqual(e.response.body(), b"")
        self.still_serves()

    def test_notification_headers(self):
        """HDR-04 HTTP-07: a notification of 2026-07-28 with a missing or different version header is refused."""
        m = self.modern()
        for version in (None, "2025-11-25"):
            with self.subTest(version=version):
                message = m.with_meta(kp.notification("notifications/cancelled", {"requestId": 1}))
                self.is_error(m.post(message, {"MCP-Protocol-Version": version}), 400, -32020)
        self.still_serves()


class Parameters(HttpTest):
    """`x-mcp-header`: arguments that are mirrored into Mcp-Param-* headers."""

    def said(self, arguments, headers):
        """Calls `mirrored`; gives what it was given."""
        m = self.modern()
        answer = m.ask(m.call(1, "mirrored", arguments), headers)
        self.assertIn("result", answer)
        self.assertFalse(answer["result"].get("isError"), answer)
        return json.loads(kp.text_of(answer))

    def mismatch(self, arguments, headers):
        m = self.modern()
        return self.is_error(m.post(m.call(1, "mirrored", arguments), headers), 400, -32020, 1)

    def test_all_of_them(self):
        """HDR-10: string, integer, boolean and nested arguments are mirrored in headers; others need none."""
        self.assertEqual(self.said(ARGUMENTS, MIRRORED), ARGUMENTS)

    def test_each_missing_or_different(self):
        """HDR-10 E12: with a value in the body and no header, or another, the call is answered 400 with -32020."""
        other = {"Mcp-Param-Region": ["south", "North", "north x", "", "=?base64?c291dGg=?="],
                 "Mcp-Param-Count": ["43", "-42", "42x", "x42", "0x2A", "4 2", "", "true", "42.5", "42e1", "NaN", "Infinity"],
                 "Mcp-Param-Dry-Run": ["false", "True", "TRUE", "1", "yes", ""],
                 "Mcp-Param-Depth": ["shallow", "Deep", ""]}
        for name, values in other.items():
            for value in (None, *values):
                with self.subTest(header=name, value=value):
                    self.mismatch(ARGUMENTS, {**MIRRORED, name: value})
        self.assertEqual(self.said(ARGUMENTS, MIRRORED), ARGUMENTS)

    def test_absent_and_null(self):
        """HDR-09: for a value that is null or absent no header is expected."""
        self.assertEqual(self.said({}, {}), {})
        self.assertEqual(self.said({"inner": {}}, {}), {"inner": {}})
        for name, header in (("region", "Region"), ("count", "Count"), ("dry", "Dry-Run"), ("inner", "Depth")):
            with self.subTest(absent=name):
                some = {n: v for n, v in ARGUMENTS.items() if n != name}
                self.assertEqual(self.said(some, {**MIRRORED, f"Mcp-Param-{header}": None}), some)
            with self.subTest(null=name):  # not what the schema allows: that is for the tool to say, not for the header
                m = self.modern()
                nulled = {**ARGUMENTS, name: None}
                with m.post(m.call(1, "mirrored", nulled), {**MIRRORED, f"Mcp-Param-{header}": None}) as e:
                    self.assertEqual(e.status, 200)
                    self.assertIn("result", e.answer(1))

    def test_header_names(self):
        """HDR-06 HDR-10: names of parameter headers are case-insensitive, values are case-sensitive."""
        for spelled in (str.lower, str.upper, str.swapcase):
            with self.subTest(spelled=spelled.__name__):
                self.assertEqual(self.said(ARGUMENTS, {spelled(n): v for n, v in MIRRORED.items()}), ARGUMENTS)

    def test_integers_are_numbers(self):
        """HDR-16: integers are compared as numbers, not as text."""
        for value, sent in ((42, "42"), (42, "42.0"), (0, "0"), (-7, "-7"), (9007199254740991, "9007199254740991"),
                            (-9007199254740991, "-9007199254740991")):
            with self.subTest(value=value, sent=sent):
                self.assertEqual(self.said({"count": value}, {"Mcp-Param-Count": sent}), {"count": value})
        m = self.modern()
        for sent in ("42", "42.0"):  # the body says 42.0
            with self.subTest(body="42.0", sent=sent):
                body = hc.text_bytes(m.call(1, "mirrored", {"count": 4242})).replace(b"4242", b"42.0")
                fields = m.headers_for(m.call(1, "mirrored"))
                with m.post(body, {**fields, "Mcp-Param-Count": sent}) as e:
                    self.assertIn("result", e.json())
        for value, sent in ((9007199254740991, "9007199254740990"), (9007199254740993, "9007199254740992"), (1, "1.0000001")):
            with self.subTest(value=value, sent=sent):
                self.mismatch({"count": value}, {"Mcp-Param-Count": sent})

    def test_booleans(self):
        """HDR-10: a boolean is true or false, in these letters."""
        for value, sent, other in ((True, "true", "false"), (False, "false", "true")):
            self.assertEqual(self.said({"dry": value}, {"Mcp-Param-Dry-Run": sent}), {"dry": value})
            self.mismatch({"dry": value}, {"Mcp-Param-Dry-Run": other})

    def test_encoded(self):
        """HDR-05 HDR-10: values in Base64 are decoded before they are compared."""
        for value, sent in ENCODED:
            with self.subTest(value=value):
                self.assertEqual(self.said({"region": value}, {"Mcp-Param-Region": sent}), {"region": value})
                self.mismatch({"region": value}, {"Mcp-Param-Region": "=?base64?QUJD?="})
        self.assertEqual(self.said({"count": 42}, {"Mcp-Param-Count": "=?base64?NDI=?="}), {"count": 42})

    def test_literal(self):
        """HDR-10: all other values are compared literally, whether they resemble the marker or not."""
        for value in LITERAL:
            with self.subTest(value=value):
                self.assertEqual(self.said({"region": value}, {"Mcp-Param-Region": value}), {"region": value})

    def test_undecodable(self):
        """HDR-10 HDR-05: undecodable or non-canonical values are answered -32020."""
        for value in UNDECODABLE:
            for region in ("ABC", "AB", "A", value):
                with self.subTest(value=value, region=region):
                    self.mismatch({"region": region}, {"Mcp-Param-Region": value})

    def test_invalid_characters(self):
        """HDR-10: a header with invalid characters is answered 400, although the body has the same text."""
        m = self.modern()
        raw = "世界".encode().decode("latin-1")
        self.mismatch({"region": "世界"}, {"Mcp-Param-Region": raw})
        for byte in (0, 1, 7, 0x0B, 0x1B, 0x7F):
            with self.subTest(byte=byte), m.post(m.call(1, "mirrored", {"region": f"a{chr(byte)}b"}),
                                                 {"Mcp-Param-Region": f"a{chr(byte)}b"}) as e:
                self.assertEqual(e.status, 400)
                self.assertNotIn("result", e.json() or {})
        self.still_serves()

    def test_repeated(self):
        """HDR-10: a duplicate parameter header is answered -32020."""
        m = self.modern()
        message = m.call(1, "mirrored", {"region": "north"})
        for pair in (("north", "north"), ("north", "south"), ("south", "north")):
            with self.subTest(pair=pair), self.server.connect() as c:
                body = hc.text_bytes(message)
                fields = [*m.headers_for(message).items(), ("Mcp-Param-Region", pair[0]), ("Content-Length", len(body)),
                          ("mcp-param-region", pair[1])]
                m.note_sent(message)
                c.send(hc.head("POST", self.server.path, fields) + body)
                self.is_error(hc.Exchange(c, m.check, owned=False), 400, -32020, 1)

    def test_unknown_parameters(self):
        """HDR-10: unknown parameter headers are ignored."""
        self.assertEqual(self.said({"plain": "x"}, {"Mcp-Param-Plain": "y", "Mcp-Param-Other": "=?base64?!?=", "Mcp-Param-": "z"}),
                         {"plain": "x"})
        m = self.modern()
        self.assertEqual(m.text(m.call(1, "echo", {"text": "x"}), {"Mcp-Param-Text": "y"}), "x")

    def test_the_handler_never_ran(self):
        """HDR-10 HDR-04 E0: a call whose headers disagree does not reach its handler."""
        m = self.modern()
        key = self.key()
        self.is_error(m.post(m.call(1, "park", {"key": key}), {"Mcp-Name": "other"}), 400, -32020, 1)
        self.assertFalse(self.control.status(key)["begun"])


# ---- which check comes first ----


class Request:
    """A good request, to be made bad."""

    def __init__(self, server):
        self.m = Modern(server, capabilities={}, credential="me")
        self.verb = "POST"
        self.message = self.m.call(1, "mirrored", copy.deepcopy(ARGUMENTS))
        self.fields = {**self.m.headers_for(self.message), **MIRRORED}
        self.body = None

    def bytes(self):
        body = hc.text_bytes(self.message) if self.body is None else self.body
        return hc.head(self.verb, self.m.server.path, {**self.fields, "Content-Length": len(body)}) + body


def header(name, value):
    def spoil(r):
        r.fields[name] = value
    return spoil


def verb(name):
    def spoil(r):
        r.verb = name
    return spoil


def body_not_json(r):
    r.body = b'{"jsonrpc":"2.0","id":1,'


def no_capabilities(r):
    del r.message["params"]["_meta"][CAPABILITIES_KEY]


def other_method_in_header(r):
    r.fields["Mcp-Method"] = "prompts/get"


def unsupported_version(r):
    r.message["params"]["_meta"][VERSION_KEY] = "2099-01-01"
    r.fields["MCP-Protocol-Version"] = "2099-01-01"


def unknown_method(r):
    r.message["method"] = "no/such"
    if r.fields["Mcp-Method"] == "tools/call":  # else they disagree on purpose
        r.fields["Mcp-Method"] = "no/such"


def other_region(r):
    r.fields["Mcp-Param-Region"] = "south"


# In the order of docs/rules/protocol.md, section 1.2; the same number: either may win.
CHECKS = (
    (1, "Origin", header("Origin", "https://evil.example"), (403,), None),
    (1, "Host", header("Host", "evil.example"), (421, 403), None),
    (2, "credential", header("Authorization", None), (401,), None),
    (3, "verb", verb("PUT"), (405,), None),
    (4, "Accept", header("Accept", "text/html"), (406,), None),
    (4, "Content-Type", header("Content-Type", "text/plain"), (415,), None),
    (5, "JSON", body_not_json, (400,), -32700),
    (7, "_meta", no_capabilities, (400,), -32602),
    (8, "header", other_method_in_header, (400,), -32020),
    (9, "version", unsupported_version, (400,), -32022),
    (10, "method", unknown_method, (404,), -32601),
    (12, "parameter", other_region, (400,), -32020),
)


class Order(HttpTest):
    settings = {"identify": 1, "threads": 1}

    def setUp(self):
        self.server = self.enterContext(self.start())
        self.server.credential = "me"
        self.control = self.enterContext(hc.Control(self.server))
        self.keys = 0

    def outcome(self, *spoilers):
        r = Request(self.server)
        for spoil in spoilers:
            spoil(r)
        r.m.note_sent(r.message if r.body is None else None)
        with self.server.connect() as c:
            c.send(r.bytes())
            e = hc.Exchange(c, r.m.check, owned=False)
            body = e.json() if e.response.content_type == "application/json" else None
            return e.status, (body or {}).get("error", {}).get("code"), body

    def test_without_a_fault(self):
        """HDR-04: the request that the others are made from is served."""
        status, code, body = self.outcome()
        self.assertEqual((status, code), (200, None), body)

    def test_each_alone(self):
        """HDR-04 HTTP-03 HTTP-13 VER-02 VER-08 E1 E8 E12: each check has its own status and code."""
        for _, name, spoil, statuses, code in CHECKS:
            with self.subTest(fault=name):
                got, what, body = self.outcome(spoil)
                self.assertIn(got, statuses, body)
                if code is not None:
                    self.assertEqual(what, code, body)
        self.still_serves()

    def test_each_pair(self):
        """HDR-04 HTTP-13 VER-02 VER-08: with two faults the earlier check answers, in the order of docs/rules/protocol.md, section 1.2."""
        for (i, name, spoil, statuses, code), (j, later, spoil_too, other, _) in itertools.combinations(CHECKS, 2):
            if i == j:
                statuses = (*statuses, *other)
            with self.subTest(first=name, then=later):
                got, what, body = self.outcome(spoil, spoil_too)
                self.assertIn(got, statuses, body)
                if code is not None:
                    self.assertEqual(what, code, body)
        self.still_serves()

    def test_all_at_once(self):
        """HDR-04: in a request with all faults, fixing them one by one makes the next check answer each time."""
        for at in range(len(CHECKS)):
            level, name, _, statuses, code = CHECKS[at]
            allowed = {s for i, _, _, each, _ in CHECKS[at:] if i == level for s in each}
            with self.subTest(first=name):
                got, what, body = self.outcome(*(spoil for _, _, spoil, _, _ in CHECKS[at:]))
                self.assertIn(got, allowed, body)
                if code is not None:
                    self.assertEqual(what, code, body)
        self.still_serves()

    def test_faults_reach_no_handler(self):
        """E0 HDR-04: whatever is invalid, the handler does not run and nothing is kept."""
        self.outcome()
        before = self.control.census()
        for _ in range(50):
            for _, _, spoil, _, _ in CHECKS:
                self.outcome(spoil)
        now = {}

        def is_back():
            now.update(self.control.census())
            return all(now[n] <= before[n] for n in ("connections", "in_flight", "descriptors"))

        kp.until(is_back, "the census to be what it was")


class Eras(HttpTest):
    """Which era a request is of, and what a modern one must carry."""

    def posted(self, message, headers):
        """A POST with just these headers beside the general ones."""
        m = self.modern()
        m.note_sent(message)
        c = self.enterContext(self.server.connect())
        body = hc.text_bytes(message)
        c.send(hc.head("POST", self.server.path, {**m.base_headers(), **headers, "Content-Length": len(body)}) + body)
        return hc.Exchange(c, m.check, owned=False)

    def test_header_without_meta(self):
        """VER-08 E10: the header names 2026-07-28 and the body has no _meta: 400 with -32602."""
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
        for params in (None, {}, {"_meta": {}}, {"_meta": {"progressToken": 1}}):
            with self.subTest(params=params):
                self.is_error(self.posted(kp.request(1, "tools/list", params), headers), 400, -32602, 1)
        self.still_serves()

    def test_meta_without_header(self):
        """HDR-04 E12: the body is of 2026-07-28 and there is no MCP-Protocol-Version: 400 with -32020."""
        m = self.modern()
        for message in (m.request(1, "tools/list"), m.request(1, "server/discover"), m.request(1, "ping")):
            with self.subTest(method=message["method"]):
                self.is_error(self.posted(message, {"Mcp-Method": message["method"]}), 400, -32020, 1)
                self.is_error(self.posted(message, {}), 400, -32020, 1)

    def test_incomplete_meta(self):
        """VER-08 E10: a required member of _meta is missing or of another type: 400 with -32602; clientInfo need not be there."""
        m = self.modern()
        good = m.request(1, "tools/list")
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
        with self.posted(good, headers) as e:
            self.assertIn("result", e.answer(1))
        for name, value in ((CAPABILITIES_KEY, None), (CAPABILITIES_KEY, 7), (CAPABILITIES_KEY, []), (CAPABILITIES_KEY, "x"),
                            (VERSION_KEY, 7), (VERSION_KEY, None), (VERSION_KEY, {})):
            with self.subTest(member=name, value=value):
                meta = {**m.meta, name: value}
                self.is_error(self.posted(kp.request(1, "tools/list", {"_meta": meta}), headers), 400, -32602, 1)
        without = {k: v for k, v in m.meta.items() if k != CAPABILITIES_KEY}
        self.is_error(self.posted(kp.request(1, "tools/list", {"_meta": without}), headers), 400, -32602, 1)
        self.still_serves()

    def test_unsupported_version(self):
        """VER-02 E12: a version that is not implemented is answered 400 with -32022, what is supported and what was asked for."""
        for version in ("2026-07-29", "2099-01-01", "1.0", "x", "DRAFT-2026"):
            with self.subTest(version=version):
                m = Modern(self.server, version=version)
                with m.post(m.request(1, "tools/list")) as e:
                    data = self.is_error(e, 400, -32022, 1)["error"]["data"]
                self.assertEqual(data["requested"], version)
                self.assertIn(MODERN, data["supported"])

    def test_older_version_in_meta(self):
        """VER-02: older revisions cannot be requested in `_meta`, although they are served."""
        for version in hc.WITH_STREAMS:
            with self.subTest(version=version):
                m = Modern(self.server, version=version)
                with m.post(m.request(1, "tools/list")) as e:
                    self.is_error(e, 400, -32022, 1)

    def test_mismatch_comes_before_version(self):
        """VER-02 HDR-04: if header and body name different versions, one of them unknown, the error is the mismatch."""
        m = Modern(self.server, version="2099-01-01")
        self.is_error(m.post(m.request(1, "tools/list"), {"MCP-Protocol-Version": MODERN}), 400, -32020, 1)
        m = self.modern()
        self.is_error(m.post(m.request(1, "tools/list"), {"MCP-Protocol-Version": "2099-01-01"}), 400, -32020, 1)

    def test_removed_methods(self):
        """HTTP-13 E8: methods that only older revisions have are unknown to this one: 404 with -32601."""
        m = self.modern()
        for method, params in (("initialize", {"protocolVersion": MODERN, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
                               ("ping", {}), ("logging/setLevel", {"level": "info"}), ("resources/subscribe", {"uri": "subject://one"}),
                               ("resources/unsubscribe", {"uri": "subject://one"}), ("no/such", {}), ("x", {}),
                               ("sampling/createMessage", {}), ("roots/list", {}), ("elicitation/create", {}),
                               ("notifications/cancelled", {"requestId": 1})):
            with self.subTest(method=method):
                with m.post(m.request(1, method, params)) as e:
                    self.is_error(e, 404, -32601, 1)
                    self.assertNotIn(hc.SESSION_HEADER, e.headers)
        self.still_serves()

    def test_missing_session_id_is_not_modern(self):
        """E11: with neither header nor _meta a request is one of an older revision."""
        with self.posted(kp.request(1, "tools/list"), {}) as e:
            self.is_error(e, 400, -32600, 1)

    @hc.in_each()
    def test_version_header_of_sessions(self, version):
        """HDR-15: in a session an invalid or unsupported version is answered 400; the session continues."""
        s = self.session(version)
        for value in ("1900-01-01", "2099-01-01", "x", "2025-06-18, 2025-11-25", f"{version}x", f"v{version}"):
            with self.subTest(value=value):
                self.refused(s.post(call(1, "echo", {"text": "x"}), {"MCP-Protocol-Version": value}), 400)
        self.assertEqual(json.loads(s.text(call(2, "who")))["protocol_version"], version)
        self.assertEqual(s.text(call(3, "echo", {"text": "x"}), {"MCP-Protocol-Version": version}), "x")

    def test_nothing_is_remembered(self):
        """VER-08 BASE-18: client info of a request does not apply to the next one on its connection."""
        m = Modern(self.server, capabilities={"elicitation": {}})
        plain = self.modern()
        with self.server.connect() as c:
            e = m.post(m.call(1, "ask", {"key": self.key()}), on=c)
            self.assertEqual(e.answer(1)["result"]["resultType"], "input_required")
            e = plain.post(plain.call(2, "ask", {"key": self.key()}), on=c)
            self.assertTrue(e.answer(2)["result"]["isError"])
            body = hc.text_bytes(kp.request(3, "tools/list", {"_meta": {VERSION_KEY: MODERN}}))
            fields = {**plain.headers_for(plain.request(3, "tools/list")), "Content-Length": len(body)}
            c.send(hc.head("POST", self.server.path, fields) + body)
            self.is_error(hc.Exchange(c, plain.check, owned=False), 400, -32602, 3)


class Capabilities(HttpTest):
    command = ("keel", "demo")

    def test_ver_10_missing_capability(self):
        """VER-10 E12: a call that needs an undeclared capability is answered 400 with -32021 and the capability."""
        m = self.modern()
        for tool, needed in (("book_trip", "elicitation"), ("summarize", "sampling")):
            arguments = {"text": "x"} if tool == "summarize" else {}
            with self.subTest(tool=tool):
                with m.post(m.call(1, tool, arguments)) as e:
                    body = self.is_error(e, 400, -32021, 1)
                self.assertIn(needed, body["error"]["data"]["requiredCapabilities"])
                able = self.modern({needed: {}})
                with able.post(able.call(2, tool, arguments)) as e:
                    self.assertEqual(e.answer(2)["result"]["resultType"], "input_required")


if __name__ == "__main__":
    kp.main()
