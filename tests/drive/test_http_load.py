#!/usr/bin/env python3
"""Load over HTTP: dropped connections, many sessions, streams that are not read. Nothing leaks: memory and descriptors return
to their previous level."""

# ctest-labels: serial threads
# ctest-timeout: 900

import contextlib
import functools
import random
import re
import resource
import socket
import struct

import http_client as hc
import keel_process as kp
from http_client import Modern, Session
from http_connection import Connection
from http_process import Control, HttpServer
from http_test import HttpTest
from keel_process import MIB, call, initialize

SEED = 20260728
SLACK = 2 * MIB  # growth that the allocator may cause by using other places
NO_SESSION = "0" * 32


def fewer(count):
    """Reduces a count under a sanitizer."""
    return count // 10 if kp.is_sanitized() else count


def with_threads(*counts):
    """Runs a test against a server with each of these numbers of loops, which is passed as its argument."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            for threads in counts:
                with self.subTest(threads=threads):
                    test(self, threads)
        return run
    return decorate


class LoadTest(HttpTest):
    def setUp(self):
        self.keys = 0
        # For more than a thousand connections, here and, inherited, in the server.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    @contextlib.contextmanager
    def serving(self, **settings):
        """A server that must have ended well when the with statement is left."""
        with HttpServer(settings=settings) as self.server, Control(self.server) as self.control:
            yield
            self.stops()

    def holds(self):
        """The resources of the server except memory, requested over one connection: another one would be counted too."""
        census = self.control.census()
        with hc.Client(self.server).bare("GET", {"Accept": "*/*"}, on=self.control.connection, path="/metrics") as e:
            rows = (row.split() for row in e.response.body().decode().splitlines() if row[:1] != "#" and "{" not in row)
        numbers = {name: float(value) for name, value in rows}
        return {"calls": census["in_flight"], "descriptors": census["descriptors"],
                "sessions": numbers["keel_http_sessions"], "streams": numbers["keel_http_streams"]}

    def is_back(self, before):
        """Waits until the server holds no more than before."""
        now = {}

        def same():
            now.update(self.holds())
            return all(now[name] <= before[name] for name in before)

        try:
            kp.until(same, "all resources to be released")
        except kp.Hang as e:
            raise AssertionError(f"before {before}, now {now}") from e

    def is_flat(self, before, what):
        if not kp.is_sanitized():
            grown = self.server.memory() - before
            self.assertLess(grown, SLACK, f"{what}: {grown / MIB:.1f} MiB more")


# ---- connections ----


class Dropper:
    """Connections that are dropped at random points. The same ones for the same seed."""

    OPEN_AT_ONCE = 60

    def __init__(self, server, echo, seed):
        """`echo` is the name of a tool that returns its argument `text`."""
        self.at = (server.host, server.port)
        self.chance = random.Random(seed)
        self.session = Session(server)
        modern, first = Modern(server), Session(server, opened=False)
        s = self.session
        old = [call(1, echo, {"text": "x"}), call("two", echo, {"text": "y" * 20_000}),
               call(3, "no such tool"), {"jsonrpc": "2.0", "id": 4, "method": "ping"}]
        new = [modern.call(1, echo, {"text": "x"}), modern.call(2, echo, {"text": "y" * 20_000}), modern.call(3, "no such tool"),
               modern.request(4, "tools/list"), modern.request(5, "server/discover")]
        chunked = hc.head("POST", server.path, {**modern.headers_for(new[0]), "Transfer-Encoding": "chunked"})
        body = hc.text_bytes(new[0])
        # These are answered at once, so a client can read; the others are not.
        self.answered = [
            *(modern.request_bytes(m) for m in new),
            *(s.request_bytes(m) for m in old),
            first.request_bytes(initialize(0)),
            chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
            modern.request_bytes(new[0], {"Expect": "100-continue"}),
            modern.request_bytes(new[0]) * 3 + s.request_bytes(old[0]),
            s.request_bytes(None, method="GET"),
            s.request_bytes(None, {"Mcp-Session-Id": NO_SESSION}, method="DELETE"),
            modern.request_bytes(modern.listen(1, toolsListChanged=True)),
            modern.request_bytes(b'{"jsonrpc":"2.0"'),
            b"GET / HTTP/1.1\r\nHost: " + server.host_header.encode() + b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n" * 3,
        ]
        self.silent = []

    def add_calls(self, server, tool):
        """Calls of a tool of test-subject: they stream, or wait for an event that may never happen."""
        modern, s = Modern(server), self.session
        for each in (call(5, "speak", {"n": 20}, {"progressToken": 5}), call(6, "big", {"bytes": 300_000}),
                     call(7, "fail", {"kind": "exception", "after": 2}, {"progressToken": 7})):
            self.answered += [s.request_bytes(each), modern.request_bytes(modern.with_meta(each))]
        self.silent += [modern.request_bytes(modern.call(8, tool, {"key": "modern"})),
                        s.request_bytes(call(8, tool, {"key": "old"})),
                        s.request_bytes(call(9, tool, {"key": "old"}))]

    def drop(self, count):
        """Opens and drops `count` connections; several exist at the same time, in different states."""
        chance = self.chance
        there = []
        while count or there:
            if count and (not there or (len(there) < self.OPEN_AT_ONCE and chance.random() < 0.4)):
                count -= 1
                there.append(self._open())
                continue
            at = chance.randrange(len(there))
            if not self._go_on(there[at]):
                there[at] = there[-1]
                there.pop()

    def _open(self):
        chance = self.chance
        readable = chance.random() < 0.8 or not self.silent
        data = chance.choice(self.answered if readable else self.silent)
        whole = chance.random() < 0.5
        s = socket.create_connection(self.at, kp.SECONDS_TO_HANG)
        return [s, data if whole else data[:chance.randrange(len(data))], whole and readable and chance.random() < 0.7]

    def _go_on(self, one):
        """One more step. Returns False after the last one."""
        s, rest, reads = one
        chance = self.chance
        try:
            if rest:
                size = chance.choice((1, 20, 500, 1 << 20))
                s.sendall(rest[:size])
                one[1] = rest[size:]
                return True
            if reads:
                one[2] = False
                s.recv(chance.choice((1, 100, 1 << 16)))
                return True
        except (ConnectionResetError, BrokenPipeError):
            pass  # it was refused in the middle, and does not read the rest
        ending = chance.randrange(3)
        with contextlib.suppress(OSError):  # it may be closed already
            if ending == 0:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif ending == 1:
                s.shutdown(socket.SHUT_WR)
        s.close()
        return False


class Drops(LoadTest):
    @with_threads(1, 2)
    def test_j3_e14_h5_10000_connections_are_dropped(self, threads):
        """J3 E14 H5: 10,000 connections are dropped at random points, in all revisions: another client is served, nothing is leaked."""
        with self.serving(threads=threads, session_idle=1000, ended_stream=100, keep_alive=500):
            neighbour = Modern(self.server)
            idle = None
            memory = None
            for half in range(2):
                dropper = Dropper(self.server, "echo", SEED)  # the same work twice
                dropper.add_calls(self.server, "park")
                for part in range(10):
                    dropper.drop(fewer(500))
                    text = f"{half}.{part}"
                    self.assertEqual(neighbour.text(neighbour.call(text, "echo", {"text": text})), text)
                self.control.release("old")  # H6: they still wait, although their clients have disconnected
                self.control.use("forget", key="old")
                # Sessions that are not used expire.
                kp.until(lambda: self.holds()["sessions"] == 0, "the sessions to expire")
                if half == 0:
                    idle, memory = self.settled(), self.server.memory()
            self.is_back(idle)
            self.is_flat(memory, "the second 5,000 connections")
            self.still_serves()

    def settled(self):
        """The resources without clients: one call, and the connections of the driver."""
        kp.until(lambda: (now := self.holds())["calls"] == 1 and now["streams"] == 0, "the calls and streams to end")
        # The connection of the driver for metrics opens and closes.
        self.assertLessEqual(self.server.sockets(), 4)
        return self.holds()

    def test_e14_j3_demo_with_dropped_connections(self):
        """E14 J3: with default settings, a server still serves and exits normally after thousands of dropped connections."""
        with HttpServer("--threads", "2", command=("keel", "demo")) as server:
            dropper = Dropper(server, "echo", SEED + 1)
            # A half-close does not end a stream in a session; the next keep-alive would detect a disconnect.
            dropper.answered = [data for data in dropper.answered if not data.startswith(b"GET /mcp")]
            sockets = server.sockets()
            dropper.drop(fewer(2000))
            kp.until(lambda: server.sockets() <= sockets, "the connections to be closed")
            m = Modern(server)
            self.assertEqual(m.text(m.call(1, "echo", {"text": "as ever"})), "as ever")
            self.assertEqual(dropper.session.text(call(1, "echo", {"text": "too"})), "too")
            self.assertNotIn("error: ", server.stderr_text())
            self.stops(server)

    def test_e14_nothing_is_logged(self):
        """E14: clients that disconnect in the middle of a request: nothing is created, nothing is logged."""
        with self.serving(threads=2):
            before = self.holds()
            said = self.server.stderr_text()
            modern, first = Modern(self.server), Session(self.server, opened=False)
            for data in (modern.request_bytes(modern.call(1, "echo", {"text": "x"})), first.request_bytes(initialize(0))):
                for cut in range(1, len(data)):
                    with self.server.connect() as c:
                        c.send(data[:cut])
                        if cut % 2:
                            c.reset()
            self.is_back(before)
            self.assertEqual(self.server.stderr_text(), said)
            self.still_serves()


# ---- sessions ----


class ManySessions(LoadTest):
    LOT = 100  # in one write

    def rounds(self, connections, count):
        """Creates and deletes `count` sessions in pipelined batches. Returns the last ids."""
        first = Session(self.server, opened=False).request_bytes(initialize(0))
        ids = []
        for lot in range(count // self.LOT):
            c = connections[lot % len(connections)]
            other = connections[(lot + 1) % len(connections)]
            c.send(first * self.LOT)
            ids = re.findall(rb"\r\nmcp-session-id: *([^\r]+)\r\n", self.answers(c, self.LOT), re.IGNORECASE)
            self.assertEqual(len(ids), self.LOT)
            # Deleted on another connection, so also on another loop.
            fields = {"Host": self.server.host_header}
            other.send(b"".join(hc.head("DELETE", self.server.path, {**fields, "Mcp-Session-Id": i.decode()}) for i in ids))
            self.answers(other, self.LOT)
        return [i.decode() for i in ids]

    def answers(self, c, count):
        """Reads `count` responses with status 200, as bytes."""
        while True:
            text = bytes(c.rest)
            if text.count(b"HTTP/1.1 ") >= count and self.is_whole(text):
                break
            self.assertTrue(c.more("the answers of a lot"), f"it ended after {text[-500:]!r}")
        c.rest.clear()
        self.assertEqual(text.count(b"HTTP/1.1 200 "), count, text[:500])
        return text

    @staticmethod
    def is_whole(text):
        """Whether the last response has its whole body."""
        head, end, body = text[text.rindex(b"HTTP/1.1 "):].partition(b"\r\n\r\n")
        size = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        return bool(end) and size is not None and len(body) == int(size[1])

    @with_threads(1, 2)
    def test_h4_j3_100000_sessions(self, threads):
        """H4 J3: 100,000 sessions are created and deleted: none remains, memory does not grow, and each is answered 404."""
        with self.serving(threads=threads), contextlib.ExitStack() as open_:
            connections = [open_.enter_context(self.server.connect()) for _ in range(4)]
            count = fewer(100_000 if threads == 1 else 20_000)
            gone = self.rounds(connections, count // 5)  # reused memory is allocated now
            before, memory = self.holds(), self.server.memory()
            gone += self.rounds(connections, count - count // 5)
            self.is_back(before)
            self.is_flat(memory, f"{count} sessions")
            self.assertEqual(self.holds()["sessions"], 0)
            self.assertEqual(len(set(gone)), len(gone))
            for ident in gone[::10]:
                s = Session(self.server, opened=False)
                s.id, s.agreed = ident, "2025-11-25"
                self.refused(s.post(call(1, "echo", {"text": "x"}), on=connections[0]), 404)
            self.still_serves()

    def test_j4_j3_session_limit(self):
        """J4 J3: sessions beyond the limit are answered 503 and leave nothing behind; later there is room again."""
        with self.serving(threads=2, max_sessions=100), contextlib.ExitStack() as open_:
            connections = [open_.enter_context(self.server.connect()) for _ in range(2)]
            for _ in range(3):
                there = []
                for i in range(1000):
                    s = Session(self.server, opened=False)
                    e = s.post(initialize(i), on=connections[i % 2])
                    if e.status == 200:
                        e.answer(i)
                        s.id, s.agreed = e.headers[hc.SESSION_HEADER], "2025-11-25"
                        # Sessions whose client does not return make room for new ones.
                        s.text(call(i, "echo", {"text": "used"}), on=connections[i % 2])
                        there.append(s)
                    else:
                        self.assertNotIn(hc.SESSION_HEADER, e.headers)
                        self.is_error(e, 503, ident=i)
                self.assertEqual(len(there), 100)
                for i, s in enumerate(there):
                    self.assertEqual(s.text(call(i, "echo", {"text": f"{i}"}), on=connections[i % 2]), f"{i}")
                for s in there:
                    self.assertEqual(s.delete(on=connections[0]), 200)
                kp.until(lambda: self.holds()["sessions"] == 0, "the last session to end")


# ---- calls ----


class ManyCalls(LoadTest):
    def test_j3_100000_calls_of_both_eras(self):
        """J3: 50,000 pipelined calls of all revisions, some of which fail or stream, run twice: no growth in the second run."""
        with self.serving(threads=2, ended_stream=50), contextlib.ExitStack() as open_:
            m, s = Modern(self.server), Session(self.server)
            connections = [open_.enter_context(self.server.connect()) for _ in range(4)]
            lot = [m.request_bytes(m.call(i, "echo", {"text": "x" * i})) for i in range(40)]
            lot += [s.request_bytes(call(i, "echo", {"text": "x" * i})) for i in range(50)]
            lot += [m.request_bytes(m.call(1, "fail", {"kind": kind})) for kind in ("tool", "protocol", "exception")]
            lot += [m.request_bytes(m.call(2, "speak", {"n": 3}, progressToken=1)) for _ in range(3)]
            lot += [s.request_bytes(call(3, "speak", {"n": 3}, {"progressToken": 1})) for _ in range(2)]
            lot += [m.request_bytes(b"not JSON"), s.request_bytes(None, {"Last-Event-ID": "none"}, method="GET")]
            data = b"".join(lot)

            def rounds():
                for _ in range(fewer(50_000) // len(lot) // len(connections)):
                    for c in connections:
                        c.send(data)
                    for c in connections:
                        for at in range(len(lot)):
                            r = c.response()
                            r.body()
                            self.assertTrue(r.keeps_open, f"{at}: {r.fields}")

            rounds()
            before, memory = self.holds(), self.server.memory()
            rounds()
            self.is_back(before)
            self.is_flat(memory, "the second 50,000 calls")


# ---- streams ----


class SlowConnection(Connection):
    """A connection with small buffers: data that its client does not read stays in the server.

    Both values are sent to the server's system when the connection is opened. Its send buffer grows with the segment size;
    with the segments of loopback it would hold megabytes.
    """

    def __init__(self, at):
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        s.settimeout(kp.SECONDS_TO_HANG)
        try:
            s.connect(at)
        except BaseException:
            s.close()
            raise
        self.at, self.socket, self.rest, self.at_end = at, s, bytearray(), False


class Unread(LoadTest):
    """A client that opens streams and reads none of them."""

    MARK = 16 * 1024
    SAID = 20  # messages of 10,000 bytes

    def open_all(self, requests):
        """Opens one connection for each stream, which is not read."""
        there = []
        for data in requests:
            c = self.enterContext(SlowConnection((self.server.host, self.server.port)))
            c.send(data)
            there.append(c)
        return there

    def others_are_served(self, count=20):
        """Checks that new clients of both eras are served, with streams."""
        m, s = Modern(self.server), Session(self.server)
        for i in range(count):
            self.assertEqual(m.text(m.call(i, "echo", {"text": f"{i}"})), f"{i}")
            with s.post(call(i, "speak", {"n": 3, "text": f"{i}"}, {"progressToken": i})) as e:
                self.is_text(e.answer(i), f"{i}")
                self.assertEqual([x["params"]["progress"] for x in e.seen[:-1]], [1, 2, 3])
        self.assertEqual(s.delete(), 200)

    def streams(self, count):
        kp.until(lambda: self.holds()["streams"] == count, f"{count} streams")

    @with_threads(1, 2)
    def test_j1_j2_1000_listens(self, threads):
        """J1 J2: with 1,000 busy listen streams that are not read, memory is limited and other clients are served."""
        count = fewer(1000)
        with self.serving(threads=threads, out_queue_soft=self.MARK, out_queue=4 * self.MARK, notification_interval=0):
            m = Modern(self.server)
            with m.post(m.listen("well", toolsListChanged=True)) as well:
                self.assertEqual(well.message()["method"], "notifications/subscriptions/acknowledged")
                before = self.holds()
                deaf = self.open_all([m.request_bytes(m.listen(i, toolsListChanged=True, resourceSubscriptions=["subject://one"]))
                                      for i in range(count)])
                self.streams(count + 1)
                self.others_are_served()
                for i in range(fewer(500)):
                    self.control.use("add_tool", name=f"tool-{i % 3}")
                    self.control.use("touch", uri="subject://one")
                self.others_are_served()
                self.stays_below(self.server, 72 * MIB, "1,000 listen streams that nobody reads")
                self.assertEqual(well.message()["method"], "notifications/tools/list_changed")
                for c in deaf[::2]:
                    c.reset()
                for c in deaf[1::2]:
                    c.close()
                self.is_back(before)

    def emit_much(self, keys):
        """Emits 200 KB for each of these calls: more than the system buffers for a client that does not read."""
        for key in keys:
            self.control.wait(key, "begun")
            self.control.use("emit", key=key, n=self.SAID, bytes=10_000)

    def reads_to_the_end(self, connection, client, ident, text):
        """Reads now: increasing progress, the newest one, the answer. Some older progress was dropped."""
        e = hc.Exchange(connection, client.check)
        self.is_text(e.answer(ident), text)
        numbers = [x["params"]["progress"] for x in e.seen[:-1]]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(numbers[-1], self.SAID)
        return numbers

    @with_threads(1, 2)
    def test_j1_j2_1000_progress_streams(self, threads):
        """J1 J2: with 1,000 streams with much progress that are not read, memory is limited; late readers get the newest."""
        count = fewer(1000)
        with self.serving(threads=threads, out_queue_soft=self.MARK, out_queue=4 * self.MARK):
            m = Modern(self.server)
            before = self.holds()
            keys = [self.key() for _ in range(count)]
            deaf = self.open_all([m.request_bytes(m.call(i, "park", {"key": key}, progressToken=i)) for i, key in enumerate(keys)])
            self.emit_much(keys)
            self.streams(count)
            self.others_are_served()
            self.stays_below(self.server, 112 * MIB, "1,000 progress streams that nobody reads")
            merged = 0
            for i in range(0, count, 10):
                self.control.release(keys[i], f"{i}")
                merged += self.SAID - len(self.reads_to_the_end(deaf[i], m, i, f"{i}"))
                deaf[i].close()
            self.assertGreater(merged, 0, "too little output to fill the queue")
            for i in range(count):
                if i % 10:
                    deaf[i].reset()
            for key in keys[1::10]:
                self.control.wait(key, "cancelled")
            self.is_back(before)

    @with_threads(1, 2)
    def test_j1_j2_1000_streams_of_sessions(self, threads):
        """J1 J2: unread streams of sessions store events up to their limit; other calls of the same sessions are answered."""
        sessions = 5
        each = fewer(1000) // sessions
        store = 256 * 1024
        with self.serving(threads=threads, out_queue_soft=self.MARK, out_queue=4 * self.MARK, max_event_bytes=store):
            before = self.holds()
            there = [Session(self.server) for _ in range(sessions)]
            keys = [[self.key() for _ in range(each)] for _ in there]
            deaf = [self.open_all([s.request_bytes(call(i, "park", {"key": key}, {"progressToken": i}))
                                   for i, key in enumerate(mine)]) for s, mine in zip(there, keys)]
            in_general = self.open_all([s.request_bytes(None, method="GET") for s in there])
            for mine in keys:
                self.emit_much(mine)
            self.streams(sessions * each + sessions)
            self.others_are_served()
            for s in there:
                self.assertEqual(s.text(call("next door", "echo", {"text": "heard"})), "heard")
            self.stays_below(self.server, 112 * MIB, "1,000 streams of sessions that nobody reads")
            for s, mine, streams in zip(there, keys, deaf):
                self.control.release(mine[0], "at last")
                self.reads_to_the_end(streams[0], s, 0, "at last")
                for key in mine:
                    self.control.release(key)
                for c in streams:
                    c.reset()
            kp.until(lambda: self.holds()["calls"] == 1, "the calls to end")
            for s, c in zip(there, in_general):
                self.assertEqual(s.delete(), 200)
                c.close()
            self.is_back(before)

    def test_j1_c11_unread_streams_are_closed(self):
        """J1 C11: streams that are not read are closed after the write timeout, although the client is connected."""
        with self.serving(threads=2, write_stall=300, out_queue_soft=self.MARK):
            m = Modern(self.server)
            before = self.holds()
            keys = [self.key() for _ in range(100)]
            deaf = self.open_all([m.request_bytes(m.call(i, "park", {"key": key}, progressToken=i)) for i, key in enumerate(keys)])
            for key in keys:
                self.control.wait(key, "begun")
                # Messages after the disconnect are not an error either.
                self.control.use("emit", key=key, n=100, bytes=10_000)
            for key in keys:
                self.control.wait(key, "cancelled")
            self.is_back(before)
            self.others_are_served()
            for c in deaf:
                c.ends()


if __name__ == "__main__":
    kp.main()
