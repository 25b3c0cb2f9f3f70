#!/usr/bin/env python3
"""The headers of 2026-07-28 that mirror the body."""

import json

import http_client as hc
import keel_process as kp
from http_mirrored import ARGUMENTS, MIRRORED
from http_test import WITH_STREAMS, HttpTest
from keel_process import call

# (value, encoded value) of docs/rules/protocol.md, section 1.4, and a few similar ones.
ENCODED = (
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("\ttabs\t", "=?base64?CXRhYnMJ?="),
    ("~\x7f", "=?base64?fn8=?="),
    ("", "=?base64??="),
)

# Compared literally: the header contains the value itself.
LITERAL = (
    "north", "a b\tc", "!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "=?base64?", "?=", "=?BASE64?QUJD?=", "=?Base64?QUJD?=", "=?utf-8?QUJD?=",
    "x=?base64?QUJD?=", "100%41", '"quoted"', "a, b", "",
)

# Invalid encodings.
UNDECODABLE = (
    "=?base64?QUJ?=",  # missing padding
    "=?base64?QUI?=",
    "=?base64?QQ=?=",
    "=?base64?QQ===?=",
    "=?base64?QR==?=",  # unused bits are set: not canonical
    "=?base64?QUJ=?=",
    "=?base64?QU JD?=",
    "=?base64?!!!!?=",
    "=?base64?-_-_?=",  # the URL-safe alphabet
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

    def test_unneeded_name_header(self):
        """HDR-04: methods without a name need no Mcp-Name."""
        m = self.modern()
        for message in (m.request(1, "tools/list"), m.request(1, "server/discover"), m.request(1, "resources/list")):
            self.assertNotIn("Mcp-Name", m.headers_for(message))
            self.assertIn("result", m.ask(message))

    def test_older_clients_need_no_headers(self):
        """BASE-23: clients of older revisions have no such headers, and none is compared."""
        for version in WITH_STREAMS:
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
    """`x-mcp-header`: arguments that are mirrored in Mcp-Param-* headers."""

    def call_mirrored(self, arguments, headers):
        """Calls `mirrored`; returns the arguments that it got."""
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
        self.assertEqual(self.call_mirrored(ARGUMENTS, MIRRORED), ARGUMENTS)

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
        self.assertEqual(self.call_mirrored(ARGUMENTS, MIRRORED), ARGUMENTS)

    def test_absent_and_null(self):
        """HDR-09: for a value that is null or absent no header is expected."""
        self.assertEqual(self.call_mirrored({}, {}), {})
        self.assertEqual(self.call_mirrored({"inner": {}}, {}), {"inner": {}})
        for name, header in (("region", "Region"), ("count", "Count"), ("dry", "Dry-Run"), ("inner", "Depth")):
            with self.subTest(absent=name):
                some = {n: v for n, v in ARGUMENTS.items() if n != name}
                self.assertEqual(self.call_mirrored(some, {**MIRRORED, f"Mcp-Param-{header}": None}), some)
            with self.subTest(null=name):  # invalid according to the schema: the tool reports that, not the header check
                m = self.modern()
                nulled = {**ARGUMENTS, name: None}
                with m.post(m.call(1, "mirrored", nulled), {**MIRRORED, f"Mcp-Param-{header}": None}) as e:
                    self.assertEqual(e.status, 200)
                    self.assertIn("result", e.answer(1))

    def test_header_names(self):
        """HDR-06 HDR-10: names of parameter headers are case-insensitive, values are case-sensitive."""
        for spelled in (str.lower, str.upper, str.swapcase):
            with self.subTest(spelled=spelled.__name__):
                self.assertEqual(self.call_mirrored(ARGUMENTS, {spelled(n): v for n, v in MIRRORED.items()}), ARGUMENTS)

    def test_integers_are_numbers(self):
        """HDR-16: integers are compared as numbers, not as text."""
        for value, sent in ((42, "42"), (42, "42.0"), (0, "0"), (-7, "-7"), (9007199254740991, "9007199254740991"),
                            (-9007199254740991, "-9007199254740991")):
            with self.subTest(value=value, sent=sent):
                self.assertEqual(self.call_mirrored({"count": value}, {"Mcp-Param-Count": sent}), {"count": value})
        m = self.modern()
        for sent in ("42", "42.0"):  # the body contains 42.0
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
            self.assertEqual(self.call_mirrored({"dry": value}, {"Mcp-Param-Dry-Run": sent}), {"dry": value})
            self.mismatch({"dry": value}, {"Mcp-Param-Dry-Run": other})

    def test_encoded(self):
        """HDR-05 HDR-10: values in Base64 are decoded before they are compared."""
        for value, sent in ENCODED:
            with self.subTest(value=value):
                self.assertEqual(self.call_mirrored({"region": value}, {"Mcp-Param-Region": sent}), {"region": value})
                self.mismatch({"region": value}, {"Mcp-Param-Region": "=?base64?QUJD?="})
        self.assertEqual(self.call_mirrored({"count": 42}, {"Mcp-Param-Count": "=?base64?NDI=?="}), {"count": 42})

    def test_literal(self):
        """HDR-10: all other values are compared literally, whether they resemble the marker or not."""
        for value in LITERAL:
            with self.subTest(value=value):
                self.assertEqual(self.call_mirrored({"region": value}, {"Mcp-Param-Region": value}), {"region": value})

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
        self.assertEqual(self.call_mirrored({"plain": "x"}, {"Mcp-Param-Plain": "y", "Mcp-Param-Other": "=?base64?!?=", "Mcp-Param-": "z"}),
                         {"plain": "x"})
        m = self.modern()
        self.assertEqual(m.text(m.call(1, "echo", {"text": "x"}), {"Mcp-Param-Text": "y"}), "x")

    def test_the_handler_never_ran(self):
        """HDR-10 HDR-04 E0: a call whose headers disagree does not reach its handler."""
        m = self.modern()
        key = self.key()
        self.is_error(m.post(m.call(1, "park", {"key": key}), {"Mcp-Name": "other"}), 400, -32020, 1)
        self.assertFalse(self.control.status(key)["begun"])


if __name__ == "__main__":
    kp.main()
