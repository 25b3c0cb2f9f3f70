#!/usr/bin/env python3
"""Clients that fail in every way: slow, killed, disconnected at the wrong time, malicious, too many. Other clients are
served, and nothing leaks."""

# ctest-labels: threads
# ctest-timeout: 900

import contextlib
import random
import select
import signal
import subprocess
import sys
import threading

import http_client as hc
import keel_process as kp
from http_client import Modern, Session
from http_process import Control, HttpServer
from keel_process import MIB, call, initialize, request
from test_http_load import SEED, LoadTest, fewer, with_threads

LONG = 600_000  # milliseconds, longer than any test


class FaultTest(LoadTest):
    def others_are_served(self, count=20, on=None):
        """Checks that new clients of both eras are served; sessions are opened and ended."""
        m = Modern(self.server)
        for i in range(count):
            self.assertEqual(m.text(m.call(i, "echo", {"text": f"new {i}"}), on=on), f"new {i}")
            s = Session(self.server, opened=False)
            s.open(on=on)
            self.assertEqual(s.text(call(i, "echo", {"text": f"old {i}"}), on=on), f"old {i}")
            self.assertEqual(s.delete(on=on), 200)


# ---- slow clients ----


class Slow(FaultTest):
    def requests(self):
        """Requests of both eras: (client, id, bytes, offset of the body)."""
        m, s, first = Modern(self.server), Session(self.server), Session(self.server, opened=False)
        for client, ident, data in ((m, 1, m.request_bytes(m.call(1, "echo", {"text": "x" * 100}))),
                                    (s, None, s.request_bytes(call(2, "echo", {"text": "x" * 100}))),
                                    (first, 0, first.request_bytes(initialize(0)))):
            yield client, ident, data, data.index(b"\r\n\r\n") + 4

    def begin(self, count):
        """Starts `count` requests: half of them stop in their head, half in their body. Returns (client, connection, rest)."""
        chance = random.Random(SEED)
        kinds = list(self.requests())
        there = []
        for i in range(count):
            client, _, data, body = kinds[i % len(kinds)]
            cut = chance.randrange(1, body) if i % 2 else chance.randrange(body, len(data))
            c = self.enterContext(self.server.connect())
            c.send(data[:cut])
            there.append((client, c, data[cut:], i % 2 == 0))
        return there

    @with_threads(1, 2)
    def test_h18_j4_many_slow_requests(self, threads):
        """H18 J4: while 600 clients are in the middle of a head, a body or an initialize, others are served, and finally these too."""
        with self.serving(threads=threads, head_time=LONG, body_time=LONG):
            slow = self.begin(fewer(600))
            self.others_are_served()
            for _, c, _, _ in slow:
                self.assertTrue(c.silent(), "it was not awaited")
            for at, (client, c, rest, _) in enumerate(slow):
                if at % 3 == 0:
                    c.close()
                    continue
                c.send(rest)
                e = hc.Exchange(c, client.check, owned=False)
                self.assertEqual(e.status, 200)
                self.assertIn("result", e.json())
                c.close()
            self.others_are_served(1)

    @with_threads(1, 2)
    def test_j4_slow_loris(self, threads):
        """J4: hundreds of incomplete heads and bodies get 408 and are closed, while another client is served."""
        with self.serving(threads=threads, head_time=500, body_time=500, idle_time=LONG):
            with self.server.connect() as well:
                self.others_are_served(1, on=well)
                before = self.holds()
                for _ in range(2):
                    slow = self.begin(fewer(400))
                    self.others_are_served(5, on=well)
                    for _, c, _, _ in slow:
                        r = c.response()
                        self.assertEqual(r.status, 408)
                        self.assertFalse(r.keeps_open)
                        r.body()
                        self.assertEqual(c.ends(), b"")
                        c.close()
                self.is_back({**before, "sessions": before["sessions"] + 2})  # those that begin() has opened
            self.others_are_served(1)

    def test_j4_single_bytes(self):
        """J4: single bytes do not extend the timeout of a head or a body, sized or chunked."""
        with self.serving(threads=2, head_time=500, body_time=500, max_head=4 * MIB, max_headers=100_000):
            m = Modern(self.server)
            big = m.request_bytes(m.call(1, "echo", {"text": "x" * 3 * MIB}))
            fields = m.headers_for(m.call(1, "echo"))
            chunked = hc.head("POST", self.server.path, {**fields, "Transfer-Encoding": "chunked"})
            endless = [
                (b"POST /mcp HTTP/1.1\r\n", b"X-Another: header\r\n" * 100_000),
                (b"", b"P" * MIB),
                (big[:big.index(b"\r\n\r\n") + 4], big[big.index(b"\r\n\r\n") + 4:]),
                (chunked, b"1\r\nx\r\n" * 100_000),
            ]
            there = {}
            poller = select.poll()
            for begun, rest in endless * 10:
                c = self.enterContext(self.server.connect())
                c.send(begun)
                there[c.socket.fileno()] = [c, rest]
                poller.register(c.socket, select.POLLIN)
            deadline = kp.Deadline("the slow clients to be answered")
            while there:
                deadline.left()
                # Each client without an answer sends one more byte, a hundred times a second.
                for fd, _ in poller.poll(10):
                    c, _ = there.pop(fd)
                    poller.unregister(fd)
                    self.assertEqual(c.response().status, 408)
                    c.close()
                for one in there.values():
                    with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # answered at this moment
                        one[0].send(one[1][:1])
                    one[1] = one[1][1:]
            self.others_are_served(3)


# ---- killed clients ----

VICTIM = """
import socket, sys
host, port = sys.argv[1], int(sys.argv[2])
data = sys.stdin.buffer.read().split(b"\\0")
there = []
for each in data:
    s = socket.create_connection((host, port))
    s.sendall(each)
    there.append(s)
print("there", flush=True)
for s in there:
    while s.recv(65536): pass
"""


class Killed(FaultTest):
    def victim(self, requests):
        """A process that sends these requests, each on its own connection, and reads until it is killed."""
        p = subprocess.Popen([sys.executable, "-c", VICTIM, self.server.host, str(self.server.port)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        p.stdin.write(b"\0".join(requests))
        p.stdin.close()
        return p

    @with_threads(1, 2)
    def test_h6_j3_clients_are_killed(self, threads):
        """H6 J3 H5: when clients are killed, 2026-07-28 calls are cancelled, calls of sessions continue; nothing is leaked."""
        with self.serving(threads=threads, keep_alive=500):
            m, sessions = Modern(self.server), [Session(self.server) for _ in range(4)]
            self.others_are_served(1)
            before = self.holds()
            new, old, all_ = [], [], []
            for s in sessions:
                mine = [self.key("new") for _ in range(10)], [self.key("old") for _ in range(10)]
                new += mine[0]
                old += mine[1]
                whole = m.request_bytes(m.call(9, "echo", {"text": "x" * 5000}))
                all_.append(self.victim([
                    *(m.request_bytes(m.call(i, "park", {"key": key}, progressToken=i)) for i, key in enumerate(mine[0])),
                    *(s.request_bytes(call(i, "park", {"key": key}, {"progressToken": i})) for i, key in enumerate(mine[1])),
                    *(m.request_bytes(m.listen(i, toolsListChanged=True)) for i in range(5)),
                    s.request_bytes(None, method="GET"),
                    whole[:50], whole[:-50],
                ]))
            for p in all_:
                self.assertEqual(p.stdout.readline(), b"there\n")
                p.stdout.close()
            for key in new + old:
                self.control.wait(key, "begun")
                self.control.emit(key, 2)
            self.others_are_served(3)
            for p in all_:
                p.send_signal(signal.SIGKILL)
                self.assertEqual(p.wait(), -signal.SIGKILL)
            for key in new:
                self.control.wait(key, "cleaned_up")
            self.others_are_served(3)
            for key in old:
                self.assertFalse(self.control.status(key)["cancelled"], "H6: a drop is no cancellation here")
                self.control.release(key, "nobody hears this")
                self.assertFalse(self.control.wait(key, "finished")["cancelled"])
            self.is_back(before)
            # The sessions still exist after their clients were killed.
            for s in sessions:
                self.assertEqual(s.text(call(1, "echo", {"text": "still there"})), "still there")


# ---- disconnects at the wrong time ----


class DisconnectBeforeDelivery(FaultTest):
    """The client disconnects while its request is passed to its session on another loop."""

    @with_threads(1, 2)
    def test_h5_h6_h12_disconnect_before_delivery(self, threads):
        """H5 H6 H12: thousands of clients of a few sessions send one request and disconnect; the sessions still answer."""
        chance = random.Random(SEED)
        with self.serving(threads=threads, keep_alive=200, ended_stream=100):
            before = self.holds()
            sessions = [Session(self.server) for _ in range(4)]
            for lap in range(max(5, fewer(20))):
                for i in range(150):
                    s = chance.choice(sessions)
                    data = chance.choice((
                        lambda: s.request_bytes(None, method="GET"),
                        lambda: s.request_bytes(None, method="GET"),
                        lambda: s.request_bytes(None, {"Last-Event-ID": "1-1"}, method="GET"),
                        lambda: s.request_bytes(call(f"{lap} {i}", "speak", {"n": 3}, {"progressToken": 1})),
                        lambda: s.request_bytes(call(f"{lap} {i}", "park", {"key": f"{lap}"}, {"progressToken": 1})),
                        lambda: s.request_bytes(call(f"{lap} {i}", "ask", {"key": f"{lap}"}, {"progressToken": 1})),
                        lambda: s.request_bytes(kp.cancel(f"{lap} {i - 1}")),
                        lambda: s.request_bytes(request(f"{lap} {i}", "tools/list")),
                    ))()
                    with self.server.connect() as c:
                        c.send(data)
                        if chance.random() < 0.7:
                            c.reset()
                        elif chance.random() < 0.5:
                            c.half_close()
                self.control.use("add_tool", name=f"tool-{lap}")  # messages for the remaining streams
                if lap % 4 == 3:
                    gone = sessions.pop(0)
                    self.assertEqual(gone.delete(), 200)
                    sessions.append(Session(self.server))
                for s in sessions:
                    self.assertEqual(s.text(call("witness", "echo", {"text": f"{lap}"})), f"{lap}")
                # Calls that arrived too late for one release are released by a later one.
                self.control.release(f"{lap}")
            for s in sessions:
                self.assertEqual(s.delete(), 200)
            self.is_back(before)
            self.others_are_served(3)

    @with_threads(2)
    def test_h3_h5_deleted_from_another_loop(self, threads):
        """H3 H5: sessions are deleted while requests for them come from other loops: each is answered, with its result or 404."""
        with self.serving(threads=threads):
            before = self.holds()
            answers = {200: 0, 202: 0, 404: 0}
            with contextlib.ExitStack() as open_:
                connections = [open_.enter_context(self.server.connect()) for _ in range(6)]
                for _ in range(fewer(500)):
                    s = Session(self.server, opened=False)
                    s.open(on=connections[0])
                    for i, c in enumerate(connections):
                        if i == 3:
                            c.send(s.request_bytes(None, method="DELETE"))
                        else:
                            c.send(s.request_bytes(call(i, "speak", {"n": 2, "text": "x"}, {"progressToken": i})))
                    for i, c in enumerate(connections):
                        r = c.response()
                        r.body()
                        answers[r.status] += 1
            self.assertGreater(answers[200], 0)
            self.is_back(before)
            self.others_are_served(3)

    @with_threads(1, 2)
    def test_g5_stopped_in_the_middle_of_it(self, threads):
        """G5: SIGTERM while clients connect, stream, wait and do not read leads to a graceful shutdown, each time."""
        for lap in range(max(3, fewer(10))):
            with HttpServer(settings={"threads": threads, "cleanup_grace": 500}) as self.server:
                stop = threading.Event()

                def come_and_go(seed):
                    chance = random.Random(seed)
                    m = Modern(self.server)
                    with contextlib.suppress(OSError, AssertionError):  # it is stopping: any request may be refused
                        s = Session(self.server)
                        while not stop.is_set():
                            with self.server.connect() as c:
                                c.send(chance.choice((
                                    m.request_bytes(m.call(1, "echo", {"text": "x"})),
                                    m.request_bytes(m.call(1, "park", {"key": "k"})),
                                    m.request_bytes(m.call(1, "speak", {"n": 5}, progressToken=1)),
                                    m.request_bytes(m.listen(1, toolsListChanged=True)),
                                    s.request_bytes(call(f"{chance.random()}", "speak", {"n": 5}, {"progressToken": 1})),
                                    s.request_bytes(call(f"{chance.random()}", "park", {"key": "k"})),
                                    s.request_bytes(None, method="GET"),
                                    s.request_bytes(initialize(0), {"Mcp-Session-Id": None, "MCP-Protocol-Version": None}),
                                )))
                                if chance.random() < 0.3:
                                    c.reset()

                kept = [self.enterContext(self.server.connect(receive_buffer=2048)) for _ in range(20)]
                m = Modern(self.server)
                for i, c in enumerate(kept):
                    c.send(m.request_bytes(m.call(i, "park", {"key": "kept"}, progressToken=i) if i % 2 else
                                           m.listen(i, toolsListChanged=True)))
                workers = [threading.Thread(target=come_and_go, args=(SEED + lap * 10 + n,)) for n in range(3)]
                for w in workers:
                    w.start()
                try:
                    self.others_are_served(2)
                    self.stops()
                finally:
                    stop.set()
                    for w in workers:
                        w.join()


# ---- misbehaving sessions ----


class Rogue:
    """A session with every kind of error. Its answers are not checked."""

    def __init__(self, server, seed):
        self.server = server
        self.chance = random.Random(seed)
        self.session = Session(server, capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
        self.count = 0
        self.left_open = []

    def ident(self):
        self.count += 1
        return f"rogue {self.count}"

    def send(self, data, read=None, reset=True, **how):
        c = self.server.connect(**how)
        try:
            c.send_until_blocked(data)
            if read:
                c.socket.setblocking(True)
                c.socket.settimeout(kp.SECONDS_TO_HANG)
                c.more()
        finally:
            if reset:
                c.reset()
            else:
                c.close()

    def misdeed(self):
        chance, s = self.chance, self.session
        meta = {"progressToken": self.count}
        which = chance.randrange(14)
        if which < 2:
            kind = chance.choice(("tool", "protocol", "exception", "number"))
            self.send(s.request_bytes(call(self.ident(), "fail", {"kind": kind, "after": chance.randrange(3)}, meta)), read=True)
        elif which == 2:
            text = chance.choice((b"{", b"[]", b"\xff\xfe", b"null", b"[" * 2000, b'{"jsonrpc":"1.0"}'))
            self.send(s.request_bytes(text), read=True)
        elif which == 3:
            self.send(s.request_bytes(call(self.ident(), "big", {"bytes": 2 * MIB})), receive_buffer=2048)
        elif which == 4:
            self.send(s.request_bytes(call(self.ident(), "speak", {"n": 1000}, meta)), read=True, receive_buffer=2048)
        elif which == 5:
            self.left_open.append(self.server.connect(receive_buffer=2048))  # it never reads
            self.left_open[-1].send(s.request_bytes(call(self.ident(), "speak", {"n": 20_000}, meta)))
            if len(self.left_open) > 10:
                self.left_open.pop(0).reset()
        elif which == 6:
            self.send(s.request_bytes(None, method="GET"), read=chance.random() < 0.5, reset=chance.random() < 0.5)
        elif which == 7:
            self.send(s.request_bytes(None, {"Last-Event-ID": chance.choice(("0-1", "1-1", "99999-1", "x"))}, method="GET"))
        elif which == 8:
            self.send(s.request_bytes(kp.cancel(f"rogue {chance.randrange(self.count + 1)}")))
        elif which == 9:
            what = chance.choice(("elicit", "sample", "roots"))
            self.send(s.request_bytes(call(self.ident(), "ask", {"key": "rogue", "what": what})))
        elif which == 10:
            self.send(s.request_bytes({"jsonrpc": "2.0", "id": chance.randrange(20), "result": {"roots": 7}}), read=True)
        elif which == 11:
            self.send(s.request_bytes(initialize(0)) + b"\x00" * 100 + s.request_bytes(request(1, "ping")), read=True)
        elif which == 12:
            self.send(s.request_bytes(call("the same", "park", {"key": "rogue", "stubborn": True})))
        else:
            self.send(s.request_bytes(None, method="DELETE"), read=True)
            self.session = Session(self.server, capabilities=s.capabilities)

    def close(self):
        for c in self.left_open:
            c.reset()
        self.session.delete()  # its calls wait for answers that never arrive


class Chaos(FaultTest):
    @with_threads(1, 2)
    def test_h5_j2_misbehaving_sessions(self, threads):
        """H5 J2: two misbehaving sessions do not affect the answers, progress, questions and events of a third one."""
        with self.serving(threads=threads, keep_alive=500, ended_stream=100, session_idle=LONG):
            before = self.holds()
            problems, stop = [], threading.Event()
            done = [0, 0]

            def run(number):
                rogue = Rogue(self.server, SEED + number)
                try:
                    while not stop.is_set() or done[number] < fewer(1000):
                        rogue.misdeed()
                        done[number] += 1
                except BaseException as e:
                    problems.append(e)
                finally:
                    rogue.close()

            s = Session(self.server, capabilities={"elicitation": {}})
            key = self.key()
            early = self.parked(s, "early", key)
            general = self.listening(s)
            self.assertIn("result", s.ask(request("sub", "resources/subscribe", {"uri": "subject://one"})))
            workers = [threading.Thread(target=run, args=(n,)) for n in range(2)]
            for w in workers:
                w.start()
            try:
                for i in range(fewer(200)):
                    self.good_round(s, i)
            finally:
                stop.set()
                for w in workers:
                    w.join()
            self.assertEqual(problems, [])
            self.control.use("touch", uri="subject://one")
            self.assertEqual(general.message()["method"], "notifications/resources/updated")
            self.control.release(key, "after all")
            self.is_text(early.answer("early"), "after all")
            early.close()
            general.close()
            self.control.release("rogue")
            self.is_back({name: before[name] for name in ("calls", "streams", "descriptors")})
            # Abandoned handlers keep the objects of on_start, and these keys keep their calls.
            for each in (key, "good", "rogue"):
                self.control.use("forget", key=each)
            self.others_are_served(3)

    def good_round(self, s, i):
        with s.post(call(i, "speak", {"n": 3, "text": f"{i}"}, {"progressToken": i})) as e:
            got = e.messages()
        self.assertEqual([m["params"]["progress"] for m in got[:-1]], [1, 2, 3])
        self.is_text(got[-1], f"{i}")
        with s.post(call(f"ask {i}", "ask", {"key": "good"})) as e:
            asked = e.message()
            self.assertEqual(asked["method"], "elicitation/create")
            self.assertEqual(s.reply(asked["id"], {"action": "accept", "content": {"word": f"word {i}"}}), 202)
            self.is_text(e.answer(f"ask {i}"), f"word {i}")

    @with_threads(2)
    def test_h5_j3_changes_while_all_loops_serve(self, threads):
        """H5 J3: tools, resources, listens and subscriptions change while all loops serve: each call has its own answer."""
        with self.serving(threads=threads, notification_interval=1):
            before = self.holds()
            laps = fewer(150)

            def change(n, m, s, c):
                name = f"tool-{n}"
                self.spare[n].use("add_tool", name=name)
                self.assertEqual(m.text(m.call(n, name), on=c), name)
                self.spare[n].use("touch", uri="subject://one")
                self.spare[n].use("remove_tool", name=name)

            def look(n, m, s, c):
                tools = m.ask(m.request(n, "tools/list"), on=c)["result"]["tools"]
                self.assertIn("echo", [each["name"] for each in tools])
                self.assertIn("result", s.ask(request(n, "tools/list"), on=c))
                self.assertIn("keel_http_streams", self.server.metrics())
                self.spare[n].census()

            def listen(n, m, s, c):
                with m.post(m.listen(n, toolsListChanged=True, resourceSubscriptions=["subject://one"])) as e:
                    self.assertEqual(e.message()["method"], "notifications/subscriptions/acknowledged")
                    self.assertIsNotNone(e.message())

            def subscribe(n, m, s, c):
                with s.get() as e:
                    self.assertEqual(e.status, 200)
                    self.assertIn("result", s.ask(request("on", "resources/subscribe", {"uri": "subject://one"}), on=c))
                    self.assertIsNotNone(e.message())
                    self.assertIn("result", s.ask(request("off", "resources/unsubscribe", {"uri": "subject://one"}), on=c))

            problems, stop = [], threading.Event()

            def run(n, what, count):
                m, s = Modern(self.server), Session(self.server)
                try:
                    with self.server.connect() as c:
                        while count > 0 or (count < 0 and not stop.is_set()):
                            what(n, m, s, c)
                            count -= count > 0
                    self.assertEqual(s.delete(), 200)
                except BaseException as e:
                    problems.append((what.__name__, e))

            self.spare = [self.enterContext(Control(self.server)) for _ in range(6)]
            # Calls that wait for a change are served by threads that continue until the others are done.
            lasting = [threading.Thread(target=run, args=(n, change, -1)) for n in range(2)]
            bounded = [threading.Thread(target=run, args=(n, what, laps))
                       for n, what in enumerate((look, look, listen, subscribe), start=2)]
            for each in lasting + bounded:
                each.start()
            for each in bounded:
                each.join()
            stop.set()
            for each in lasting:
                each.join()
            self.assertEqual(problems, [])
            for each in self.spare:
                each.close()
            self.is_back(before)
            self.others_are_served(3)

    def test_j6_log_of_invalid_requests_is_limited(self):
        """J6: the text of thousands of invalid requests is escaped and rate-limited in the log."""
        with self.serving(threads=2):
            m, s = Modern(self.server), Session(self.server)
            nonsense = "\x1b[31m\u202eroot\r\nerror: all is lost\x07" + "x" * 5000
            with self.server.connect() as c:
                for i in range(fewer(3000)):
                    ident = nonsense[:200] if i % 2 else i
                    for data in (m.request_bytes(m.call(ident, "fail", {"kind": "exception", "x": nonsense})),
                                 m.request_bytes(m.request(i, nonsense), {"Mcp-Method": hc.header_value(nonsense)}),
                                 s.request_bytes(kp.notification(nonsense)),
                                 s.request_bytes(kp.notification("notifications/cancelled", {"requestId": i, "reason": nonsense})),
                                 s.request_bytes({"jsonrpc": "2.0", "id": nonsense, "result": {}})):
                        c.send(data)
                        r = c.response()
                        r.body()
                        if not r.keeps_open:
                            c.close()
                            c = self.enterContext(self.server.connect())
            self.others_are_served(1)
            log = self.server.stderr_text()
            self.assertLess(len(log), 64 * 1024)
            self.assertNotRegex(log, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
            self.assertNotRegex(log, r"(?m)^error: all is lost")
            self.assertLess(max(map(len, log.splitlines())), 1000)


if __name__ == "__main__":
    kp.main()
