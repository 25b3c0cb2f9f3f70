#!/usr/bin/env python3
"""The HTTP+SSE transport of 2024-11-05."""

# ctest-labels: threads
# ctest-timeout: 900

import http_client as hc
import keel_process as kp
from http_test import HttpTest
from keel_process import call, initialize, notification


class OldTransport(HttpTest):
    """HTTP+SSE of 2024-11-05, on its own two paths."""

    settings = {"old_sse": 1}

    def open(self):
        client = hc.Client(self.server)
        stream = self.enterContext(client.bare("GET", {"Accept": "text/event-stream"}, path="/sse"))
        self.assertEqual(stream.status, 200)
        while (first := stream.stream.next("the first event")).only_comments:
            pass
        self.assertEqual(first.event, "endpoint")
        return client, stream, first.data

    def tell(self, client, where, message):
        with client.post(message, path=where.removeprefix(self.server.origin)) as e:
            e.response.body()
            return e.status

    def next(self, stream):
        event = stream.event()
        self.assertIn(event.event, ("message", None))
        return event.message

    def test_conversation(self):
        """LHTTP-14 LHTTP-15: the first event contains the URL for POST requests; answers and requests of the server are message events."""
        client, stream, where = self.open()
        self.assertIn(self.tell(client, where, initialize(0, "2024-11-05", {"roots": {}})), (200, 202))
        self.assertEqual(self.next(stream)["result"]["protocolVersion"], "2024-11-05")
        self.tell(client, where, notification("notifications/initialized"))
        self.tell(client, where, call(1, "speak", {"n": 2, "text": "x"}, {"progressToken": 1}))
        got = [self.next(stream) for _ in range(3)]
        self.assertEqual([m["params"]["progress"] for m in got[:2]], [1, 2])
        self.is_text(got[2], "x")
        key = self.key()
        self.tell(client, where, call(2, "ask", {"key": key, "what": "roots"}))
        asked = self.next(stream)
        self.assertEqual(asked["method"], "roots/list")
        self.tell(client, where, {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
        self.is_text(self.next(stream), "0")

    def test_two_clients(self):
        """LHTTP-14 LHTTP-04 B19: each client has its own endpoint and gets only its own answers."""
        (a, sa, wa), (b, sb, wb) = self.open(), self.open()
        self.assertNotEqual(wa, wb)
        for client, stream, where in ((a, sa, wa), (b, sb, wb)):
            self.tell(client, where, initialize(0, "2024-11-05"))
            self.next(stream)
        self.tell(a, wa, call(1, "echo", {"text": "a"}))
        self.tell(b, wb, call(1, "echo", {"text": "b"}))
        self.is_text(self.next(sa), "a")
        self.is_text(self.next(sb), "b")

    def test_disconnect_cancels_calls(self):
        """LHTTP-14 C5: a stream of this transport cannot be resumed: its calls are cancelled with it."""
        client, stream, where = self.open()
        self.tell(client, where, initialize(0, "2024-11-05"))
        self.next(stream)
        key = self.key()
        self.tell(client, where, call(1, "park", {"key": key}))
        self.control.wait(key, "begun")
        stream.reset()
        self.control.wait(key, "cleaned_up")
        self.assertIn(self.tell(client, where, call(2, "echo", {"text": "x"})), (400, 404))

    def test_unknown_endpoint(self):
        """LHTTP-14 H1: a message to an unknown endpoint is refused and creates nothing."""
        _, _, where = self.open()
        client = hc.Client(self.server)
        for wrong in (where + "x", where.split("?")[0]):
            self.assertIn(self.tell(client, wrong, initialize(0, "2024-11-05")), (400, 404))


class OldTransportOff(HttpTest):
    def test_old_transport_is_off(self):
        """LHTTP-14: the transport of 2024-11-05 is off by default."""
        client = hc.Client(self.server)
        self.refused(client.bare("GET", {"Accept": "text/event-stream"}, path="/sse"), 404)
        self.refused(client.post(initialize(0, "2024-11-05"), path="/messages"), 404)


if __name__ == "__main__":
    kp.main()
