#!/usr/bin/env python3
"""The log, the access log and the metrics of a server program that uses keel::main."""

# ctest-labels: release_only
# ctest-timeout: 300

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import keel_process as kp
from http_client import Client, Modern
from http_process import HttpServer
from keel_process import Server

SOURCE = Path(os.environ.get("KEEL_SOURCE", Path(__file__).resolve().parents[2]))
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def lines_of(path):
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def metrics_text(server):
    with Client(server).bare("GET", {"Accept": "*/*"}, path="/metrics") as e:
        return e.response.body().decode()


class Metrics(kp.DriveTest):
    @classmethod
    def setUpClass(cls):
        cls.server = HttpServer("--access-log", os.devnull, command=("keel", "demo"))
        m = Modern(cls.server)
        m.ask(m.call(1, "add", {"a": 1, "b": 2}))
        m.ask(m.call(2, "no-such-tool-" + "x" * 50))
        cls.text = metrics_text(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_promtool_accepts_them(self):
        promtool = shutil.which("promtool") or shutil.which(SOURCE / "build" / "tools" / "promtool")
        self.assertTrue(promtool, "promtool is missing: ./dev test downloads it")
        checked = subprocess.run([promtool, "check", "metrics"], input=self.text, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_the_documentation_lists_them_all(self):
        exported = re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.M)
        page = (SOURCE / "docs/monitoring.md").read_text()
        documented = re.findall(r"^\| `(\w+)` \| (histogram|counter|gauge) \|", page, re.M)
        self.assertEqual(sorted(exported), sorted(documented))

    def test_every_metric_has_a_help_text(self):
        helped = dict(re.findall(r"^# HELP (\S+) (.+)$", self.text, re.M))
        for name, _ in re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.M):
            self.assertGreater(len(helped[name]), 10)

    def test_tools_are_counted_by_name_and_outcome(self):
        self.assertIn('keel_tool_calls_total{gen_ai_tool_name="add",outcome="ok"} 1\n', self.text)
        self.assertIn('keel_tool_calls_total{gen_ai_tool_name="_OTHER",outcome="error"} 1\n', self.text)
        self.assertNotIn("no-such-tool", self.text)
        self.assertIn('mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="add"} 1\n',
                      self.text)


class AccessLog(kp.DriveTest):
    def test_one_line_per_request_and_reopened_on_sighup(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "access.log")
            with HttpServer("--access-log", path, "--log-format", "json", "--log-level", "notice",
                            command=("keel", "demo")) as server:
                m = Modern(server)
                m.ask(m.call(1, "echo", {"text": "a secret text"}))
                kp.until(lambda: lines_of(path), "the entry")
                entry = json.loads(lines_of(path)[-1])
                self.assertRegex(entry["time"], TIME)
                self.assertEqual((entry["http"], entry["path"], entry["method"], entry["tool"], entry["status"]),
                                 ("POST", "/mcp", "tools/call", "echo", 200))
                self.assertEqual((entry["address"], entry["revision"]), ("127.0.0.1", "2026-07-28"))
                self.assertGreater(entry["in"], 0)
                self.assertGreater(entry["out"], 0)
                self.assertNotIn("secret", Path(path).read_text())
                os.rename(path, path + ".1")
                server.signal(signal.SIGHUP)
                server.wait_for_line("SIGHUP: reloaded")
                with Client(server).bare("GET", {"Accept": "*/*"}, path="/nowhere?token=secret") as e:
                    e.response.body()
                kp.until(lambda: lines_of(path), "the entry in the new file")
                self.assertEqual(json.loads(lines_of(path)[0])["status"], 404)
                self.assertNotIn("secret", Path(path).read_text())

    def test_standard_output_is_refused_with_stdio(self):
        with Server("--stdio", "--access-log", "-", read=False) as s:
            s.wait_for_end("the server to exit")
            self.assertEqual(s.process.wait(), 2)


class Log(kp.DriveTest):
    def test_b17_a_cancelled_call_is_logged_at_info_with_request_tool_and_duration(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "server.log")
            with Server("--stdio", "--log-level", "info", "--log-file", path) as s:
                s.open()
                s.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                        "params": {"name": "sleep", "arguments": {"ms": 3600000}}})
                s.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 7, "reason": "user pressed stop\nx"}})
                kp.until(lambda: lines_of(path), "the line")
                self.ends_input(s)
            self.assertRegex(lines_of(path)[0],
                             rf"^{TIME} info \S+: request cancelled by the client: user pressed stop\S+ request=7 "
                             r"method=tools/call tool=sleep ms=\d+\.\d{3}$")
            self.assertEqual([line for line in lines_of(path) if " warning " in line or " error " in line], [])

    def test_refused_http_requests_have_their_reason(self):
        with HttpServer("--log-format", "json", command=("keel", "demo")) as server:
            with Client(server).bare("GET", {"Accept": "*/*", "Host": "evil.example"}, path="/mcp") as e:
                e.response.body()
            record = json.loads(server.wait_for_line('"status":421').string)
            self.assertEqual(record["level"], "warning")
            self.assertIn("Host not allowed", record["reason"])
            self.assertEqual(record["address"], "127.0.0.1")
            self.assertTrue(record["message"].startswith("GET /mcp refused: 421 Host not allowed"), record["message"])


if __name__ == "__main__":
    kp.main()
