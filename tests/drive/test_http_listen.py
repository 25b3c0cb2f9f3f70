#!/usr/bin/env python3
"""`subscriptions/listen` of 2026-07-28 over HTTP: which notifications a stream gets, in which order, and how it ends."""

# ctest-timeout: 900

import signal
import socket

import keel_process as kp
from http_test import HttpTest
from keel_process import MIB

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


class ListenTest(HttpTest):
    settings = {"threads": 2, "notification_interval": 1, "keep_alive": kp.HOUR}

    def setUp(self):
        super().setUp()
        self.m = self.modern()

    def open(self, ident=1, **filter_and_options):
        """Posts a listen; nothing of its response has been read."""
        how = {n: v for n, v in filter_and_options.items() if n == "receive_buffer"}
        wanted = {n: v for n, v in filter_and_options.items() if n not in how}
        return self.enterContext(self.m.post(self.m.listen(ident, **wanted), **how))

    def listens(self, ident=1, **wanted):
        """An open listen: its acknowledgement has been read."""
        e = self.open(ident, **wanted)
        self.is_acknowledgement(e.message("the acknowledgement"), ident)
        return e

    def is_tagged(self, message, ident):
        tag = message["params"]["_meta"][SUBSCRIPTION]
        self.assertEqual((type(tag), tag), (type(ident), ident))

    def is_acknowledgement(self, message, ident, honoured=None):
        self.assertEqual(message["method"], ACKNOWLEDGED)
        self.is_tagged(message, ident)
        if honoured is not None:
            self.assertEqual(message["params"]["notifications"], honoured)

    def is_event(self, message, ident, method, uri=None):
        self.assertIsNotNone(message, "the stream has ended")
        self.assertEqual(message["method"], method)
        self.is_tagged(message, ident)
        self.assertEqual(message["params"].get("uri"), uri)

    def is_result(self, message, ident):
        self.assertTrue(kp.same_id(message, ident), message)
        tag = message["result"]["_meta"][SUBSCRIPTION]
        self.assertEqual((type(tag), tag), (type(ident), ident))

    def touch(self, uri="subject://one"):
        self.control.use("touch", uri=uri)

    def add_tool(self, name="extra"):
        self.control.use("add_tool", name=name)

    def streams(self):
        return self.server.metrics()["keel_http_streams"]

    def no_streams(self):
        kp.until(lambda: self.streams() == 0, "the last stream to be removed")

    def pipelined(self, messages):
        """Posts all of them on one connection, in batches without waiting; each must be answered."""
        with self.server.connect() as c:
            for at in range(0, len(messages), 200):
                some = messages[at:at + 200]
                c.send(b"".join(map(self.m.request_bytes, some)))
                for each in some:
                    r = c.response()
                    self.assertEqual(r.status, 200)
                    self.assertIn(b'"result"', r.body("an answer to a publisher"))


class Streams(ListenTest):
    def test_i8_acknowledgement_first(self):
        """I8 SUB-01 SUB-03 HTTP-18 H19: a listen is answered with a stream; first the acknowledgement, with its id and type."""
        for ident in (0, 1, -7, 9223372036854775807, "", "1", "a", "ü", "\n\"\\"):
            with self.subTest(ident=ident):
                e = self.open(ident, toolsListChanged=True)
                self.assertEqual((e.status, e.response.content_type), (200, "text/event-stream"))
                self.assertEqual(e.headers["x-accel-buffering"], "no")
                self.assertTrue(e.stream.next("the comment that opens a stream").only_comments)
                self.is_acknowledgement(e.message(), ident, {"toolsListChanged": True})
                self.add_tool()
                self.is_event(e.message(), ident, TOOLS)
                e.close()
        self.no_streams()

    def test_sub_04_supported_notifications(self):
        """SUB-04: the acknowledgement lists the requested notifications that the server supports."""
        both = ["subject://one", "subject://two"]
        for wanted, honoured in (
                ({}, {}), ({"toolsListChanged": False}, {}), ({"toolsListChanged": True, "unheardOf": True}, {"toolsListChanged": True}),
                ({"toolsListChanged": True, "taskIds": ["t"]}, {"toolsListChanged": True}),
                ({"resourceSubscriptions": both}, {"resourceSubscriptions": both}),
                ({"toolsListChanged": True, "resourceSubscriptions": ["subject://one"], "promptsListChanged": False},
                 {"toolsListChanged": True, "resourceSubscriptions": ["subject://one"]})):
            with self.subTest(wanted=wanted):
                e = self.open(1, **wanted)
                message = e.message()
                self.is_acknowledgement(message, 1)
                said = {k: v for k, v in message["params"]["notifications"].items() if v not in (False, [])}
                self.assertEqual(said, honoured)
                e.close()

    def test_bad_filters(self):
        """SUB-04 E10 I14: an invalid filter is refused before the acknowledgement, with plain JSON and -32602."""
        for params in ({}, {"notifications": None}, {"notifications": 7}, {"notifications": []}, {"notifications": {"toolsListChanged": 7}},
                       {"notifications": {"resourceSubscriptions": "subject://one"}}, {"notifications": {"resourceSubscriptions": [7]}}):
            with self.subTest(params=params), self.m.post(self.m.request(1, "subscriptions/listen", params)) as e:
                self.assertIn(e.status, (200, 400))
                self.assertEqual(e.response.content_type, "application/json")
                self.assertEqual(e.answer(1)["error"]["code"], -32602)
        self.no_streams()
        self.still_serves()

    def test_sub_02_requested_notifications_only(self):
        """SUB-02: notifications that were not requested are not sent."""
        tools = self.listens("tools", toolsListChanged=True)
        one = self.listens("one", resourceSubscriptions=["subject://one"])
        nothing = self.listens("nothing")
        for _ in range(3):
            self.touch("subject://two")
            self.touch("subject://one")
            self.is_event(one.message(), "one", UPDATED, "subject://one")
            self.add_tool()
            self.is_event(tools.message(), "tools", TOOLS)
        for e in (tools, one, nothing):
            self.assertTrue(e.connection.silent())

    def test_sub_08_changes(self):
        """SUB-08 SUB-03: added and removed tools and changed resources are notified each time."""
        e = self.listens(5, toolsListChanged=True, resourceSubscriptions=["subject://one", "subject://two"])
        for n in range(5):
            self.add_tool(f"tool_{n}")
            self.is_event(e.message(), 5, TOOLS)
            self.control.use("remove_tool", name=f"tool_{n}")
            self.is_event(e.message(), 5, TOOLS)
            for uri in ("subject://one", "subject://two"):
                self.touch(uri)
                self.is_event(e.message(), 5, UPDATED, uri)

    def test_several_listens(self):
        """SUB-03: many listens, of many clients, some with the same id: each gets every notification once, with its own id."""
        listens = [(ident, self.listens(ident, toolsListChanged=True)) for n in range(100) for ident in (n % 10, str(n % 10))]
        for round_ in range(3):
            self.add_tool()
            for ident, e in listens:
                self.is_event(e.message(), ident, TOOLS)
        for _, e in listens:
            self.assertTrue(e.connection.silent())
            e.close()
        self.no_streams()

    def test_http_14_no_messages_of_calls(self):
        """HTTP-14: progress and log messages are never sent on a listen stream."""
        e = self.listens(1, toolsListChanged=True)
        for _ in range(3):
            for tool, meta in (("speak", {"progressToken": 1}), ("log", {"io.modelcontextprotocol/logLevel": "debug"})):
                with self.m.post(self.m.call(1, tool, {"n": 3}, **meta)) as other:
                    self.assertEqual(len(other.messages()), 4)
            self.add_tool()
            self.is_event(e.message(), 1, TOOLS)
        self.assertTrue(e.connection.silent())

    def test_i8_published_while_the_acknowledgement_is_stalled(self):
        """I8 SUB-01: changes while the acknowledgement cannot be written are sent after it, and nothing is lost."""
        uris = [f"subject://{n}/" + "x" * 3500 for n in range(1000)]  # an acknowledgement of several megabytes
        e = self.open("slow", toolsListChanged=True, resourceSubscriptions=uris, receive_buffer=4096)
        kp.until(lambda: self.streams() == 1, "the stream to open")
        touched = [uris[n] for n in (0, 1, 500, 999)]
        for _ in range(3):
            for uri in touched:
                self.touch(uri)
            self.add_tool()
        self.assertEqual(e.seen, [])
        e.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)  # it reads again
        self.is_acknowledgement(e.message(), "slow")
        missing = {*touched, TOOLS}
        while missing:
            m = e.message("an event that was published meanwhile")
            self.is_tagged(m, "slow")
            missing.discard(m["params"].get("uri", m["method"]))
        self.touch(touched[0])
        self.assertEqual(e.message()["method"], UPDATED)

    def test_i12_slow_listener(self):
        """I12 J1 J2: changes for a listener that does not read are coalesced; memory does not grow, others do not wait."""
        uris = [f"subject://{n}/" + "x" * 3000 for n in range(1000)]
        slow = self.open("slow", toolsListChanged=True, resourceSubscriptions=uris, receive_buffer=4096)
        quick = self.listens("quick", toolsListChanged=True)
        kp.until(lambda: self.streams() == 2, "the streams to open")
        publish = [self.m.call(n, "touch", {"uri": uri}) for n, uri in enumerate(uris)]
        self.pipelined(publish)
        before = self.server.memory()
        rounds = 20  # 60 MiB of events
        for n in range(rounds):
            self.pipelined(publish)
            self.add_tool()
            self.is_event(quick.message(), "quick", TOOLS)
        if not kp.is_sanitized():
            self.assertLess(self.server.memory(), before + 16 * MIB)
        slow.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)
        # It reads again: one event for each change, or, if it was too far behind, the end with its result.
        self.is_acknowledgement(slow.message(), "slow")
        missing, count = {*uris, TOOLS}, 0
        while missing:
            m = slow.message("an event that was published meanwhile")
            self.assertIsNotNone(m, "the stream ended without a result")
            if "result" in m:
                self.is_result(m, "slow")
                self.assertIsNone(slow.message())
                break
            self.is_tagged(m, "slow")
            missing.discard(m["params"].get("uri", m["method"]))
            count += 1
        self.assertLess(count, 10 * len(uris), "nothing was coalesced")

    def test_i12_many_slow_listeners(self):
        """I12 J2: a hundred listeners that do not read delay no other client."""
        for n in range(100):
            self.open(n, toolsListChanged=True, resourceSubscriptions=["subject://one"], receive_buffer=4096)
        quick = self.listens("quick", resourceSubscriptions=["subject://one"])
        kp.until(lambda: self.streams() == 101, "the streams to open")
        for _ in range(5):
            self.pipelined([self.m.call(1, "touch", {"uri": "subject://one"})] * 1000)
            self.is_event(quick.message(), "quick", UPDATED, "subject://one")
        self.still_serves()

    def test_i4_behind_a_listen(self):
        """I4: a request pipelined behind a listen does not count as a disconnect."""
        e = self.listens(1, toolsListChanged=True)
        e.connection.send(self.m.request_bytes(self.m.call(2, "echo", {"text": "x"})))
        self.still_serves()
        self.add_tool()
        self.is_event(e.message(), 1, TOOLS)

    def test_i5_cancel_of_a_listen(self):
        """I5 SUB-05: a posted cancel does not end a listen, and the server never sends one."""
        e = self.listens(1, toolsListChanged=True)
        with self.m.post(self.m.with_meta(kp.cancel(1))) as posted:
            self.assertEqual(posted.status, 202)
        self.add_tool()
        self.is_event(e.message(), 1, TOOLS)


class Endings(ListenTest):
    def test_i9_i11_the_client_disconnects(self):
        """I9 I11 HTTP-11: the client closes the stream, or its connection breaks: nothing more is sent, and nothing of it is kept."""
        self.still_serves()
        before = self.control.census()
        for way in ("close", "reset", "half_close"):
            for events in (0, 3):
                with self.subTest(way=way, events=events):
                    e = self.listens(1, toolsListChanged=True)
                    for _ in range(events):
                        self.add_tool()
                        self.is_event(e.message(), 1, TOOLS)
                    getattr(e.connection, way)()
                    self.no_streams()
                    self.add_tool()
                    if way == "half_close":
                        self.assertNotIn(b"jsonrpc", e.connection.ends())
                        e.close()
        kp.until(lambda: self.control.census()["descriptors"] <= before["descriptors"], "the connections to be removed")
        self.nothing_runs()

    def test_i9_before_the_acknowledgement(self):
        """I9: a client may disconnect right after its listen request, or during a stalled acknowledgement."""
        uris = [f"subject://{n}/" + "x" * 3500 for n in range(1000)]
        for how in ({"toolsListChanged": True}, {"resourceSubscriptions": uris, "receive_buffer": 4096}):
            for way in ("close", "reset"):
                with self.subTest(way=way, big=len(how) > 1):
                    e = self.open(1, **how)
                    getattr(e.connection, way)()
                    self.no_streams()
        self.touch(uris[0])
        self.still_serves()

    def test_j3_many_closed_listens(self):
        """J3 I9: a thousand closed listens leave nothing behind."""
        def rounds(n):
            for i in range(n):
                c = self.server.connect()
                c.send(self.m.request_bytes(self.m.listen(i, toolsListChanged=True, resourceSubscriptions=["subject://one"])))
                if i % 3:
                    self.assertEqual(c.response().status, 200)
                c.reset() if i % 2 else c.close()
            self.no_streams()

        rounds(300)
        before = self.control.census()
        rounds(1000)
        kp.until(lambda: self.control.census()["descriptors"] <= before["descriptors"], "the connections to be removed")
        if not kp.is_sanitized():
            self.assertLess(self.control.census()["resident_bytes"], before["resident_bytes"] + 2 * MIB)

    def test_i10_sub_07_the_server_stops(self):
        """I10 SUB-07 G5: the server stops: a listen is answered with its result, under its id, and its stream ends."""
        listens = [(ident, self.listens(ident, toolsListChanged=True)) for ident in (0, 1, "1", "", "ü")]
        self.add_tool()
        for ident, e in listens:
            self.is_event(e.message(), ident, TOOLS)
        self.server.signal(signal.SIGTERM)
        for ident, e in listens:
            last, = e.messages()
            self.is_result(last, ident)
            self.assertFalse(e.stream.broken)
        self.ends_well(self.server)

    def test_i10_g5_stalled_listeners(self):
        """I10 G5: listeners that do not read do not prevent the shutdown."""
        uris = [f"subject://{n}/" + "x" * 3500 for n in range(1000)]
        for n in range(10):
            self.open(n, toolsListChanged=True, resourceSubscriptions=uris, receive_buffer=4096)
        kp.until(lambda: self.streams() == 10, "the streams to open")
        self.add_tool()
        self.stops()


class QuietStreams(ListenTest):
    settings = {"threads": 1, "keep_alive": 30}

    def test_h19_comments(self):
        """I8 SUB-01: an idle stream carries keep-alive comments, which are not messages."""
        e = self.listens(1, toolsListChanged=True)
        for _ in range(5):
            self.assertTrue(e.stream.next("a comment").only_comments)
        self.add_tool()
        self.is_event(e.message(), 1, TOOLS)


class JsonServer(ListenTest):
    settings = {"threads": 1, "answers": "json", "notification_interval": 1}

    def test_still_a_stream(self):
        """HTTP-08 SUB-01: a listen is answered with a stream even with --json."""
        e = self.listens(1, toolsListChanged=True)
        self.assertTrue(e.is_stream)
        self.add_tool()
        self.is_event(e.message(), 1, TOOLS)


class StatelessServer(ListenTest):
    settings = {"threads": 1, "stateless": 1, "notification_interval": 1}

    def test_listen(self):
        """SUB-01 SUB-08: listens work with --stateless."""
        e = self.listens(1, toolsListChanged=True)
        self.add_tool()
        self.is_event(e.message(), 1, TOOLS)


class StreamLimit(ListenTest):
    settings = {"threads": 1, "max_streams": 3, "notification_interval": 1}

    def test_j4_i9_streams(self):
        """J4 I9: beyond the limit of streams a listen is answered 503, before any acknowledgement; a closed one makes room."""
        held = [self.listens(n, toolsListChanged=True) for n in range(3)]
        for way in ("close", "reset"):
            for _ in range(10):
                with self.m.post(self.m.listen(9, toolsListChanged=True)) as e:
                    self.assertEqual(e.status, 503)
                    self.assertIn("retry-after", e.headers)
                    body = e.json()
                    self.assertIn("error", body)
            self.assertEqual(self.m.text(self.m.call(1, "echo", {"text": "x"})), "x")  # JSON needs no stream
            getattr(held.pop(0).connection, way)()
            kp.until(lambda: self.streams() == 2, "the stream to be removed")
            held.append(self.listens("new", toolsListChanged=True))
        self.add_tool()
        for e in held:
            self.assertEqual(e.message()["method"], TOOLS)

    def test_j4_calls_that_would_stream(self):
        """J4: a call that sends messages when no stream can be opened is still answered."""
        for n in range(3):
            self.listens(n, toolsListChanged=True)
        with self.m.post(self.m.call(1, "speak", {"n": 3, "text": "done"}, progressToken=1)) as e:
            if e.status == 503:
                self.assertIn("retry-after", e.headers)
            else:
                self.assertEqual(kp.text_of(e.answer(1)), "done")


class SubscriptionLimit(ListenTest):
    settings = {"threads": 1, "max_subscriptions": 5, "notification_interval": 1}

    def test_j4_subscriptions(self):
        """J4 SUB-04: subscriptions beyond the limit are refused or not acknowledged; nothing hangs."""
        uris = [f"subject://{n}" for n in range(6)]
        e = self.open(1, resourceSubscriptions=uris)
        first = e.message()
        if "error" in first:
            self.assertEqual(first["error"]["code"], -32602)
        else:
            self.is_acknowledgement(first, 1)
            self.assertLessEqual(len(first["params"]["notifications"].get("resourceSubscriptions", [])), 5)
        e = self.listens(2, resourceSubscriptions=uris[:5])
        self.touch(uris[4])
        self.is_event(e.message(), 2, UPDATED, uris[4])


if __name__ == "__main__":
    kp.main()
