#!/usr/bin/env python3
"""Load, races and slow readers: nothing is answered twice and memory does not grow."""

# ctest-labels: serial threads
# ctest-timeout: 900

import os
import random
import select

import keel_process as kp
from keel_process import HOUR, MIB, Server, call, cancel, lines, request

IN_FLIGHT = 256  # max_in_flight


class Cancelling(kp.DriveTest):
    def test_b3_10000_cancels_race_with_completion(self):
        """A1, B3-B6: 10,000 calls are cancelled around the moment they end: at most one answer each."""
        chance = random.Random(1)
        with Server() as s:
            s.open()
            pending = []
            for block in range(100):
                out = []
                for i in range(100):
                    ident = block * 100 + i
                    # Some end while they are read, some a few turns of the loop later, some about a millisecond later.
                    tool, arguments = chance.choice(
                        (("echo", {"text": "x"}), ("sleep", {"ms": 0}), ("sleep", {"ms": 1})))
                    out.append(call(ident, tool, arguments, {"progressToken": ident}))
                    pending.append(ident)
                    while len(pending) > chance.randrange(50):
                        out.append(cancel(pending.pop(chance.randrange(len(pending)))))
                out += (cancel(ident) for ident in pending)
                pending.clear()
                # In pieces of any size, so that cancels arrive in every state of their calls.
                data = lines(out)
                while data:
                    cut = chance.randrange(1, 4000)
                    s.send_raw(data[:cut])
                    data = data[cut:]
                s.ping(f"block {block}")
            self.is_text(s.ask(call("after", "echo", {"text": "served"})), "served")
            self.is_ledger_in_order(s.seen)
            for message in s.seen:
                self.assertNotIn("error", message)
            self.ends_input(s)

    def is_ledger_in_order(self, messages):
        """Checks at most one answer for each id, and no message about a request after it (A2)."""
        self.each_answered_at_most_once(messages)
        answered = set()
        last = {}
        for message in messages:
            if kp.is_answer(message):
                answered.add(message["id"])
            elif message.get("method") == "notifications/progress":
                token = message["params"]["progressToken"]
                self.assertNotIn(token, answered, "progress after the answer")
                self.assertGreater(message["params"]["progress"], last.get(token, 0))
                last[token] = message["params"]["progress"]

    def test_b16_every_other_one_is_cancelled(self):
        """B2, B16: of 200 running calls every other one is cancelled; the others are not affected."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(*(call(i, "ask_roots") for i in range(200)))
            asked = [s.next("a request of the server")["id"] for _ in range(200)]
            s.send(*(cancel(i) for i in range(0, 200, 2)))
            s.send(*({"jsonrpc": "2.0", "id": ident, "result": {"roots": []}} for ident in asked))
            before = len(s.seen)
            for i in range(1, 200, 2):
                self.is_text(s.answer(i), "0 roots")
            s.ping()
            said = s.seen[before:]
            told = [m["params"]["requestId"] for m in said if m.get("method") == "notifications/cancelled"]
            self.assertEqual(sorted(told), sorted(asked[::2]), "B12: one cancel for each nested request")
            self.assertEqual(len([m for m in said if kp.is_answer(m)]), 101)
            self.ends_input(s)

    def test_b8_the_same_cancel_1000_times(self):
        """B8: a repeated cancel has the effect of one."""
        with Server() as s:
            s.open()
            s.send(call(1, "sleep", {"ms": HOUR}), call(2, "sleep", {"ms": HOUR}))
            s.send(*(cancel(1) for _ in range(1000)))
            before = len(s.seen)
            s.ping()
            self.assertEqual(len(s.seen) - before, 1)
            s.end_input()
            rest = s.rest()
            self.assertEqual(len(rest), 1)
            self.is_shutting_down(rest[0], 2)
            self.ends_well(s)

    def test_j3_200000_calls_leave_nothing_behind(self):
        """J3, A8: after 200,000 calls with the same few ids, memory and descriptors have not grown."""
        with Server() as s:
            s.open()

            def rounds(count):
                for _ in range(count):
                    s.send(*(m for i in range(100) for m in (
                        call(i, "echo", {"text": "x" * 50}), call(1000 + i, "sleep", {"ms": HOUR}), cancel(1000 + i))))
                    s.seen.clear()
                    for i in range(100):
                        s.answer(i)

            rounds(200)
            memory, descriptors = s.memory(), s.descriptors()
            rounds(800)
            self.assertEqual(s.descriptors(), descriptors)
            if not kp.is_sanitized():
                self.assertLess(s.memory(), memory + MIB)
            self.ends_input(s)


class Flood(kp.DriveTest):
    def test_f8_100000_requests_against_a_parked_server(self):
        """F8: with 256 handlers parked, 100,000 requests are refused as overloaded; a cancel still works."""
        with Server() as s:
            s.open()
            s.send(*(call(f"parked {i}", "sleep", {"ms": HOUR}) for i in range(IN_FLIGHT)))
            s.ping()
            for start in range(0, 100_000, 1000):
                s.send(*(call(i, "sleep", {"ms": HOUR}) for i in range(start, start + 1000)))
            for i in range(100_000):
                refused = s.answer(i)
                self.assertEqual(refused["error"]["code"], -32603)
                self.assertEqual(refused["error"]["data"]["reason"], "overloaded")
            self.each_answered_at_most_once(s.seen)
            self.assertEqual(len([m for m in s.seen if kp.is_answer(m)]), 100_002)
            self.assertEqual(s.ping("A12")["result"], {})
            self.stays_below(s, 32 * MIB, "a flood against a parked server")

            s.send(cancel("parked 7"))
            s.ping("a turn later")
            self.is_text(s.ask(call("room", "echo", {"text": "there is room again"})), "there is room again")
            s.end_input()
            rest = s.rest()
            self.assertEqual(sorted(m["id"] for m in rest),
                             sorted(f"parked {i}" for i in range(IN_FLIGHT) if i != 7))
            for message in rest:
                self.is_shutting_down(message, message["id"])
            self.ends_well(s)

    def test_f8_answers_of_the_client_get_through(self):
        """F8: nested answers still reach handlers that wait for them while everything else is refused."""
        with Server() as s:
            s.open(capabilities={"roots": {}})
            s.send(*(call(i, "ask_roots") for i in range(IN_FLIGHT)))
            asked = [s.next("a request of the server")["id"] for _ in range(IN_FLIGHT)]
            self.assertEqual(s.ask(call("more", "ask_roots"))["error"]["data"]["reason"], "overloaded")
            s.send(*({"jsonrpc": "2.0", "id": ident, "result": {"roots": [{"uri": "file:///x"}]}} for ident in asked))
            for i in range(IN_FLIGHT):
                self.is_text(s.answer(i), "1 root\nfile:///x")
            self.ends_input(s)


class SlowReader(kp.DriveTest):
    def write_until_refused(self, s, data):
        """Writes until the server reads no more: the input pipe is full and the server sleeps. Returns the number of bytes."""
        done = 0
        deadline = kp.Deadline("the server to stop reading")
        poller = select.poll()
        poller.register(s.out_fd, select.POLLOUT)
        while done < len(data):
            deadline.left()
            try:
                done += os.write(s.out_fd, data[done:done + 65536])
            except BlockingIOError:
                # It sleeps although input is available, so it has paused reading. A write wakes it before we check.
                if s.asleep() and s.asleep() and not poller.poll(0):
                    break
                os.sched_yield()
        return done

    def test_j1_a_reader_that_stops_reading(self):
        """J1: the client does not read the answers: the server queues a bounded number of bytes; later all answers arrive."""
        with Server(read=False) as s:
            count = 60_000
            text = "x" * 1000
            s.send(kp.initialize("open"))
            data = lines(call(i, "echo", {"text": text}) for i in range(count))
            taken = self.write_until_refused(s, data)
            self.assertLess(taken, len(data), "the server continued to read")
            self.assertGreater(taken, 4 * MIB, "the server stopped early")
            self.stays_below(s, 32 * MIB, "answers nobody reads")

            s.start_reading()
            s.send_raw(data[taken:])
            self.assertIn("result", s.answer("open"))
            for i in range(count):
                answer = s.next("an answer")
                self.assertEqual(answer["id"], i)
                self.assertEqual(kp.text_of(answer), text)
            self.stays_below(s, 32 * MIB, "answers read late")
            self.ends_input(s)

    def test_j1_progress_for_a_reader_that_stops_reading(self):
        """J1: progress is coalesced, never out of order, and always before the answer, which is never dropped."""
        with Server(read=False) as s:
            sleeps = [f"sleep {i}" for i in range(200)]
            s.send(kp.initialize("open"), *(call(i, "sleep", {"ms": 50}, {"progressToken": i}) for i in sleeps))
            count = 20_000
            data = lines(call(i, "echo", {"text": "x" * 1000}) for i in range(count))
            taken = self.write_until_refused(s, data)
            s.start_reading()
            s.send_raw(data[taken:])
            s.answers({"open", *sleeps, *range(count)})
            self.each_answered_at_most_once(s.seen)
            last, answered = {}, set()
            for message in s.seen:
                if kp.is_answer(message):
                    answered.add(message["id"])
                elif message.get("method") == "notifications/progress":
                    token, value = message["params"]["progressToken"], message["params"]["progress"]
                    self.assertNotIn(token, answered)
                    self.assertGreater(value, last.get(token, 0))
                    last[token] = value
            self.assertEqual(set(last.values()), {10}, "the newest progress comes before the answer")
            self.ends_input(s)

    def test_b4_a_queued_answer_is_withdrawn(self):
        """B4: a cancel withdraws answers behind a stalled writer; others are sent, whole and in order."""
        with Server(read=False) as s:
            # The pipe holds 64 KiB, so all but the first few of these wait inside the server.
            s.send(kp.initialize("open"), *(call(i, "echo", {"text": "x" * 1000}) for i in range(1000)))
            s.send(*(cancel(i) for i in range(500, 1000, 2)), request("done", "ping"))
            s.until_read()
            s.start_reading()
            s.answer("done")
            ids = [m["id"] for m in s.seen]
            self.assertEqual(ids, ["open", *range(500), *range(501, 1000, 2), "done"])
            self.ends_input(s)

    def test_j3_memory_of_large_messages_is_returned(self):
        """J3: the memory that large messages needed is returned when no more of them arrive."""
        if kp.is_sanitized():
            return
        # By itself glibc keeps up to twice the largest freed block. With a fixed threshold the test sees what Keel keeps.
        with Server(env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "131072"}) as s:
            s.open()
            idle = s.memory()
            for i in range(3):
                s.ask(call(i, "echo", {"text": "x" * 10_000_000}))
            self.assertGreater(s.peak_memory(), idle + 10 * MIB)
            kp.until(lambda: s.memory() < idle + 2 * MIB, "the memory to be returned")
            self.ends_input(s)

    def test_c7_hang_up_of_a_reader_that_stopped_reading(self):
        """C7, J1: a client that disconnects during backpressure is detected, and the process exits."""
        with Server(read=False) as s:
            s.send(kp.initialize("open"))
            data = lines(call(i, "echo", {"text": "x" * 1000}) for i in range(20_000))
            taken = self.write_until_refused(s, data)
            self.assertLess(taken, len(data))
            s.hang_up_output()
            self.ends_well(s)


if __name__ == "__main__":
    kp.main()
