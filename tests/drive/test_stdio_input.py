#!/usr/bin/env python3
"""Invalid input, and input in unusual pieces."""

# ctest-labels: serial
# ctest-timeout: 600

import fcntl
import os

import keel_process as kp
from keel_process import MIB, Server, call, line, lines, request

F_SETPIPE_SZ = 1031


class BadInput(kp.DriveTest):
    def is_refused(self, data, code, ident=None):
        """Expects one error for an invalid line, with the id if it can be read; the next request is served."""
        with Server() as s:
            s.open()
            before = len(s.seen)
            s.send_raw(data)
            self.is_text(s.ask(call("next", "echo", {"text": "served"})), "served")
            said = s.seen[before:-1]
            self.assertEqual(len(said), 1, said)
            if ident is None:
                self.is_anonymous_error(said[0], code)
            else:
                self.assertTrue(kp.same_id(said[0], ident), said[0])
                self.assertEqual(said[0]["error"]["code"], code)
            self.ends_input(s)
        return said[0]

    def is_ignored(self, data):
        with Server() as s:
            s.open()
            before = len(s.seen)
            s.send_raw(data)
            self.is_text(s.ask(call("next", "echo", {"text": "served"})), "served")
            self.assertEqual(s.seen[before:-1], [])
            self.ends_input(s)

    def test_e1_invalid_utf8(self):
        """E1: a line with invalid UTF-8 is refused as a whole, never repaired into a different string."""
        for bad in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"):
            with self.subTest(bad=bad):
                self.is_refused(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                                b'{"name":"echo","arguments":{"text":"a' + bad + b'b"}}}\n', -32700)

    def test_e1_malformed_json(self):
        """E1: input that is not JSON, and truncated JSON."""
        for bad in (b"{oops\n", b'{"jsonrpc":"2.0","id":1,"method":"ping"\n', b"GET / HTTP/1.1\r\n", b"\0\0\0\n",
                    b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}\n', b"{'id':1}\n", b'{"id":01}\n', b'"\x01"\n',
                    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}\n'):
            with self.subTest(bad=bad):
                self.is_refused(bad, -32700)

    def test_e1_nesting_of_100000_brackets(self):
        """E1: 100,000 nested brackets, closed or not, alone or in a request, are an error and never a crash."""
        deep = 100_000
        for bad in (b"[" * deep, b"[" * deep + b"]" * deep, b'{"a":' * deep, b'{"a":' * deep + b"1" + b"}" * deep,
                    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":'
                    + b"[" * deep + b"]" * deep + b"}}}"):
            with self.subTest(beginning=bad[:40]):
                self.is_refused(bad + b"\n", -32700)

    def test_e2_empty_lines(self):
        """E2: empty lines, blanks and a carriage return before the newline are ignored or stripped."""
        self.is_ignored(b"\n\n   \n\t\n\r\n \r\n")
        with Server() as s:
            s.send_raw(b"\xef\xbb\xbf" + line(kp.initialize()).rstrip(b"\n") + b"\r\n")
            self.assertIn("result", s.answer(0))
            s.send_raw(b"  " + line(request(1, "ping")).rstrip(b"\n") + b" \t\r\n")
            self.assertEqual(s.answer(1)["result"], {})
            self.ends_input(s)

    def test_e3_a_line_of_100_mb(self):
        """E3: a line of 100 MB is skipped in constant memory and refused with the id at its beginning."""
        size = 100 * 10**6
        with Server() as s:
            s.open()
            before = len(s.seen)
            s.send_raw(b'{"jsonrpc":"2.0","id":"big","method":"tools/call",'
                       b'"params":{"name":"echo","arguments":{"text":"')
            piece = b"x" * (1 << 16)
            for _ in range(0, size, len(piece)):
                s.send_raw(piece)
            s.send_raw(b'"}}}\n')
            self.is_text(s.ask(call("next", "echo", {"text": "served"})), "served")
            said = s.seen[before:-1]
            self.assertEqual(len(said), 1, said)
            self.assertEqual((said[0]["id"], said[0]["error"]["code"]), ("big", -32600))
            self.assertIn("too large", said[0]["error"]["message"])
            # Only the beginning, up to the limit, is kept while it grows.
            self.stays_below(s, 48 * MIB, f"a line of {size} bytes")
            self.ends_input(s)

    def test_e3_a_long_line_without_id(self):
        """E3: without an id at its beginning the error has no id."""
        with Server() as s:
            s.open()
            before = len(s.seen)
            s.send_raw(b'{"jsonrpc":"2.0","method":"x","params":"' + b"y" * (17 * MIB) + b'","id":5}\n')
            s.ping()
            said = s.seen[before:-1]
            self.assertEqual(len(said), 1, said)
            self.is_anonymous_error(said[0], -32600)
            self.ends_input(s)

    def test_e3_end_of_input_in_a_skipped_line(self):
        """E3, C10: the input ends while a long line is being skipped."""
        with Server() as s:
            s.open()
            before = len(s.seen)
            s.send_raw(b"[" + b"1," * (9 * MIB))
            s.end_input()
            rest = s.rest()
            self.assertLessEqual(len(rest), 1)
            for message in rest:
                self.is_anonymous_error(message, -32600)
            self.assertEqual(len(s.seen) - before, len(rest))
            self.ends_well(s)

    def test_e3_a_message_just_within_the_limit(self):
        """E3: a message of almost 16 MiB is served."""
        with Server() as s:
            s.open()
            text = "x" * (16 * MIB - 1000)
            self.assertEqual(text_length(s.ask(call(1, "echo", {"text": text}))), len(text))
            self.ends_input(s)

    def test_e4_not_an_object(self):
        """E4: a number, a string, null and true are refused."""
        for bad in (b"1\n", b'"ping"\n', b"null\n", b"true\n"):
            with self.subTest(bad=bad):
                self.is_refused(bad, -32600)

    def test_e5_a_batch_in_other_revisions(self):
        """E5: outside revision 2025-03-26 an array is refused once, and none of its members is executed."""
        self.is_refused(line([call(1, "echo", {"text": "no"}), call(2, "echo", {"text": "no"})]), -32600)
        self.is_refused(b"[]\n", -32600)

    def test_e6_not_a_message(self):
        """E6: `jsonrpc` or `method` missing or wrong: -32600 with the id."""
        for bad in ({"id": 4, "method": "ping"}, {"jsonrpc": "1.0", "id": 4, "method": "ping"},
                    {"jsonrpc": "2.0", "id": 4},
                    {"jsonrpc": "2.0", "id": 4, "method": ""}, {"jsonrpc": "2.0", "id": 4, "method": 7},
                    {"jsonrpc": "2.0", "id": 4, "method": "ping", "result": {}}):
            with self.subTest(bad=bad):
                self.is_refused(line(bad), -32600, 4)

    def test_a6_invalid_ids(self):
        """A6, E7: an id that is null, a boolean, a fraction, an array, an object or beyond 64 bits."""
        for bad in ("null", "true", "1.5", "[1]", "{}", "123456789012345678901234567890"):
            with self.subTest(bad=bad):
                self.is_refused(f'{{"jsonrpc":"2.0","id":{bad},"method":"ping"}}\n'.encode(), -32600)

    def test_e8_unknown_method(self):
        """E8: an unknown method is answered -32601."""
        self.is_refused(line(request(4, "no/such/method", {})), -32601, 4)

    def test_e10_wrong_parameters(self):
        """E10: `params` that is not an object, or of the wrong types: -32602."""
        self.is_refused(line(request(4, "tools/call", [1])), -32602, 4)
        self.is_refused(line(request(4, "tools/call", {"name": 7})), -32602, 4)
        self.is_refused(line(request(4, "tools/call", {"name": "no such tool"})), -32602, 4)
        self.is_refused(line(request(4, "tools/call", {"name": "echo", "arguments": "x"})), -32602, 4)

    def test_e11_before_initialize(self):
        """E11: a legacy request before initialize is refused; ping is served."""
        with Server() as s:
            self.assertEqual(s.ask(request(1, "tools/list"))["error"]["code"], -32600)
            self.assertEqual(s.ping()["result"], {})
            self.assertIn("result", s.open())
            self.assertIn("result", s.ask(request(1, "tools/list")))
            self.ends_input(s)

    def test_a11_notifications_get_no_reply(self):
        """A11, B9, E9: notifications, known or not, well formed or not, are never answered."""
        self.is_ignored(lines([
            kp.notification("no/such/notification"), kp.notification("notifications/initialized"),
            kp.notification("notifications/cancelled"), kp.notification("notifications/cancelled", {"requestId": None}),
            kp.notification("notifications/cancelled", {"requestId": True}),
            kp.notification("notifications/cancelled", {"requestId": 1.5}),
            kp.notification("notifications/cancelled", {"requestId": {}}),
            kp.notification("notifications/progress", {"progressToken": 99, "progress": 1}),
            kp.notification("notifications/progress", {"progressToken": [], "progress": "x"}),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        ]))

    def test_d9_responses_get_no_reply(self):
        """D9, D11, E0: unexpected responses, of any shape, are never answered."""
        self.is_ignored(lines([
            {"jsonrpc": "2.0", "id": 99, "result": {}}, {"jsonrpc": "2.0", "id": "x", "result": 5},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
            {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
            {"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}},
            {"jsonrpc": "2.0", "id": 2, "result": {}, "error": {}},
            {"id": 2, "result": {}},
        ]))

    def test_e0_a_flood_of_bad_lines(self):
        """E0, J6: 100,000 invalid lines do not grow the process or its log; valid messages between them are served."""
        with Server() as s:
            s.open()
            for block in range(100):
                s.send_raw(b"{oops\n" * 1000)
                s.send(call(block, "echo", {"text": "good"}))
            for block in range(100):
                self.is_text(s.answer(block), "good")
            errors = [m for m in s.seen if kp.is_anonymous(m)]
            self.assertGreater(len(errors), 0)
            self.assertLess(len(errors), 100_000, "errors without an id are rate limited")
            self.stays_below(s, 32 * MIB, "bad lines")
            self.assertLess(len(s.stderr_text()), 100_000)
            self.ends_input(s)


def text_length(answer):
    return len(kp.text_of(answer))


class Framing(kp.DriveTest):
    def test_split_at_every_byte(self):
        """A message arrives byte by byte, or in two pieces split at every position: always the same answer."""
        with Server() as s:
            s.open()
            text = "größer als 水, 🚢 \\ \" end"
            whole = line(call(1, "echo", {"text": text}))
            for i in range(len(whole)):
                s.send_raw(whole[i:i + 1])
                s.until_read()
            self.is_text(s.answer(1), text)
            for cut in range(1, len(whole)):
                s.send_raw(whole[:cut])
                s.until_read()
                s.send_raw(whole[cut:])
                self.is_text(s.answer(1), text)
            self.ends_input(s)

    def test_5000_messages_in_one_write(self):
        """5,000 messages arrive in a single write and are answered in order."""
        with Server() as s:
            s.open()
            fcntl.fcntl(s.out_fd, F_SETPIPE_SZ, 1 << 20)
            data = lines(call(i, "echo", {"text": f"{i}"}) for i in range(5000))
            self.assertEqual(os.write(s.out_fd, data), len(data))
            for i in range(5000):
                answer = s.next("an answer")
                self.assertEqual(answer["id"], i)
                self.is_text(answer, f"{i}")
            self.ends_input(s)

    def test_large_texts(self):
        """Texts around the sizes of pipes and buffers are returned unchanged."""
        with Server() as s:
            s.open()
            for size in (0, 1, 4095, 4096, 65535, 65536, 65537, 262143, 262145, 1_000_003):
                text = ("0123456789äöü" * (size // 13 + 1))[:size]
                self.is_text(s.ask(call(size, "echo", {"text": text})), text)
            self.ends_input(s)

    def test_every_answer_is_one_line_of_json(self):
        """Control characters, line separators and quotes in a text never break the framing."""
        with Server() as s:
            s.open()
            text = "".join(map(chr, range(0x20))) + '"\\\x7f\u2028\u2029\ufeff\U0010ffff'
            self.is_text(s.ask(call(1, "echo", {"text": text})), text)
            self.ends_input(s)


if __name__ == "__main__":
    kp.main()
