#!/usr/bin/env python3
"""Invalid JSON-RPC messages over HTTP (rules E): each is refused, and the next valid request is served."""

# ctest-timeout: 900

import json

import http_client as hc
import keel_process as kp
from http_client import Session
from http_input import InputTest
from http_test import WITH_STREAMS
from keel_process import MIB, MODERN, MODERN_META, call, notification, request

DEEP = 600
NOT_JSON = (
    b"", b" ", b"{", b"}", b"nonsense", b"{'a':1}", b'{"jsonrpc":"2.0","id":1,"method":"ping"', b'{"a":1}{"b":2}', b'{"a":1,}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}x', b'\x00{"jsonrpc":"2.0","id":1,"method":"ping"}', b'"unterminated', b"[1,2",
    b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xed\xa0\x80"}}', b'{"a":"\x01"}', b"NaN", b"01", b"+1",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * DEEP + b"]" * DEEP + b"}",
    b"[" * 100_000, b'{"a":' * 100_000,
)
NOT_OBJECTS = (b"7", b"-1.5", b'"text"', b"null", b"true", b"false", b"  7  ")
NOT_MESSAGES = (  # (message, the id in its error)
    ({"id": 1, "method": "ping"}, 1), ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1),
    ({"jsonrpc": 2.0, "id": "a", "method": "ping"}, "a"),
    ({"jsonrpc": None, "id": 0, "method": "ping"}, 0), ({"jsonrpc": "2.0", "id": 2}, 2), ({"jsonrpc": "2.0", "id": 3, "method": ""}, 3),
    ({"jsonrpc": "2.0", "id": 4, "method": 7}, 4), ({"jsonrpc": "2.0", "id": 5, "method": None}, 5),
    ({"jsonrpc": "2.0", "id": 6, "method": "ping", "result": {}}, 6), ({}, None), ({"jsonrpc": "2.0"}, None), ({"method": "ping"}, None),
)
BAD_IDS = (None, True, False, 1.5, [], [1], {}, {"a": 1}, -(2**63) - 1, 2**64, 10**30)


class Messages(InputTest):
    def each_way(self):
        """As a client of each era posts it."""
        s = self.session()
        yield "legacy", s
        first = Session(self.server, opened=False)
        yield "legacy, without a session", first
        modern = self.modern()
        modern.headers_for = lambda message: {**modern.base_headers(), "MCP-Protocol-Version": MODERN, "Mcp-Method": "ping"}
        yield "modern", modern

    def refused_each(self, bodies, code, ident_of=lambda body: None):
        for name, client in self.each_way():
            before = self.counted()
            for body in bodies:
                with self.subTest(way=name, body=str(body)[:80]):
                    with client.post(body) as e:
                        self.is_error(e, 400, code, ident_of(body))
                        self.assertNotIn(hc.SESSION_HEADER, e.headers)
                    self.serves()
            self.census_is(before)
        self.still_serves()

    def test_e1_not_json(self):
        """E1 E0: invalid, truncated, non-UTF-8 or too deeply nested JSON: 400 and -32700 without an id."""
        self.refused_each(NOT_JSON, -32700)

    def test_e4_not_an_object(self):
        """E4 E0: JSON that is not an object: 400 and -32600 without an id."""
        self.refused_each(NOT_OBJECTS, -32600)

    def test_e6_not_a_message(self):
        """E6 E0: no version, no method, a method and a result: 400 and -32600 with the id, if it can be read."""
        ids = {json.dumps(message): ident for message, ident in NOT_MESSAGES}
        bodies = [json.dumps(message).encode() for message, _ in NOT_MESSAGES]
        self.refused_each(bodies, -32600, lambda body: ids[body.decode()])

    def test_e7_a6_ids(self):
        """E7 A6: an invalid id: 400 and -32600 without an id; nothing is executed."""
        key = self.key()
        bodies = [hc.text_bytes({**self.m.call(0, "park", {"key": key}), "id": ident}) for ident in BAD_IDS]
        self.refused_each(bodies, -32600)
        fields = self.m.headers_for(self.m.call(0, "park"))
        for body in bodies:
            with self.subTest(body=body[:60]), self.m.post(body, fields) as e:
                self.is_error(e, 400, -32600)
        self.never_ran(key)

    def test_e5_batches(self):
        """E5: an array outside of 2025-03-26: 400 and one -32600 without an id; no member is executed."""
        key = self.key()
        member = self.m.call(1, "park", {"key": key})
        bodies = [b"[]", b"[1]", b"[[]]", hc.text_bytes([member]), hc.text_bytes([request(1, "ping"), member]),
                  hc.text_bytes([notification("x")] * 1000)]
        self.refused_each(bodies, -32600)
        s = self.session("2025-06-18")
        self.is_error(s.post([call(1, "park", {"key": key})]), 400, -32600)
        self.never_ran(key)

    def test_e5_modern_in_a_batch(self):
        """E5: in 2025-03-26, too, an array with a request of 2026-07-28 in it is refused as a whole."""
        key = self.key()
        s = self.session("2025-03-26")
        for batch in ([self.m.call(1, "park", {"key": key})],
                      [call(1, "park", {"key": key}), self.m.call(2, "park", {"key": key})],
                      [self.m.call(2, "park", {"key": key}), call(1, "park", {"key": key})]):
            with self.subTest(batch=len(batch)):
                self.is_error(s.post(batch), 400, -32600)
        self.never_ran(key)
        with s.post([call(1, "echo", {"text": "a"}), notification("x"), call(2, "echo", {"text": "b"})]) as e:
            self.assertEqual(e.status, 200)
            self.assertEqual(sorted(kp.text_of(each) for each in e.json()), ["a", "b"])

    def test_e8_unknown_methods(self):
        """E8 HTTP-13: an unknown method: 404 with -32601 in 2026-07-28, 200 with -32601 before."""
        for method in ("no/such", "x", "tools/Call", "tools/call/", " ping"):
            with self.subTest(method=method):
                headers = {"Mcp-Method": hc.header_value(method)} if method.strip() == method else {"Mcp-Method": method}
                with self.m.post(self.m.request(1, method), headers) as e:
                    if method.strip() == method:
                        self.is_error(e, 404, -32601, 1)
                    else:  # a header value cannot begin or end with spaces: that is another error
                        self.refused(e, 400)
                for version in WITH_STREAMS:
                    s = self.session(version)
                    self.is_error(s.post(request(1, method)), 200, -32601, 1)
        self.still_serves()

    def test_e9_notifications(self):
        """E9 HTTP-07: unknown notifications are accepted, 202 without a body, in both eras."""
        for client in (self.m, *(self.session(v) for v in WITH_STREAMS)):
            for method in ("notifications/unheard_of", "x", "notifications/roots/list_changed", "notifications/progress"):
                message = notification(method)
                with self.subTest(method=method, era=type(client).__name__):
                    with client.post(client.with_meta(message) if client is self.m else message) as e:
                        self.assertEqual((e.status, e.response.body()), (202, b""))
        self.still_serves()

    def test_e10_parameters(self):
        """E10: parameters of another type: 200 with -32602; in 2026-07-28 400, where _meta is missing with them."""
        s = self.session()
        for params in ([], [1], 7, "x", None, True):
            with self.subTest(params=params):
                self.is_error(s.post({**request(1, "tools/call"), "params": params}), 200, -32602, 1)
                message = {**request(1, "tools/call"), "params": params}
                self.is_error(self.m.post(message, {"Mcp-Name": "echo"}), 400, -32602, 1)
        for arguments in ([], 7, "x"):
            with self.subTest(arguments=arguments):
                params = {"name": "echo", "arguments": arguments}
                self.is_error(s.post(request(2, "tools/call", params)), 200, -32602, 2)
                self.is_error(self.m.post(self.m.request(2, "tools/call", params)), 200, -32602, 2)
        for params in ({}, {"name": 7}, {"name": None}, {"name": {}}):
            with self.subTest(params=params):
                self.is_error(s.post(request(3, "tools/call", params)), 200, -32602, 3)
                with self.m.post(self.m.request(3, "tools/call", params)) as e:  # there is no name to compare with a header
                    answer = e.answer(3)
                    self.assertIn(answer["error"]["code"], (-32602, -32020))
        self.still_serves()

    def test_e13_posted_answers(self):
        """E13: an answer posted in 2026-07-28: 400 and -32600 without an id."""
        for message in ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "a", "error": {"code": 1, "message": "x"}},
                        {"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}},
                        {"jsonrpc": "2.0", "id": 1, "result": {"_meta": MODERN_META}}):
            with self.subTest(message=message):
                self.is_error(self.m.post(message), 400, -32600)
        self.serves()

    def test_e0_many_invalid_messages(self):
        """E0 J3: thousands of invalid messages, on one connection and on many: no memory growth, the next valid one is served."""
        bodies = [b"nonsense", b"7", b"[]", b'{"jsonrpc":"2.0","id":null,"method":"x"}', b'{"jsonrpc":"2.0","id":1,"result":{}}', b""]
        def flood(rounds):
            with self.server.connect() as c:
                for _ in range(rounds):
                    for body in bodies:
                        c.send(self.m.request_bytes(body))
                        r = c.response()
                        self.assertEqual(r.status, 400)
                        r.body()
                        self.assertTrue(r.keeps_open, "a bad message ended the connection")
                self.serves(c)
        flood(300)
        before = self.counted()
        flood(1500)
        self.census_is(before)
        if not kp.is_sanitized():
            self.assertLess(self.control.census()["resident_bytes"], before["resident_bytes"] + 2 * MIB)

    def test_e14_disconnect_within_a_request(self):
        """E14: the client disconnects after any byte of a 2026-07-28 request, by FIN or reset: nothing runs, nothing is kept or logged."""
        self.serves()
        before = self.counted()
        said = self.server.stderr_text()
        key = self.key()
        data = self.parks(key)
        for cut in range(len(data)):
            c = self.server.connect()
            c.send(data[:cut])
            if cut % 3 == 0:
                c.reset()
            elif cut % 3 == 1:
                c.close()
            else:
                with c:
                    c.half_close()
                    self.assertNotIn(b"200 OK", c.ends())
        self.census_is(before)
        self.never_ran(key)
        new = [row for row in self.server.stderr_text()[len(said):].splitlines() if not row.startswith(("debug", "info: connection closed"))]
        self.assertEqual(new, [])
        self.serves()


if __name__ == "__main__":
    kp.main()
