#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""server_steps.py measures a server that is made up here: it sends a chunk of a known number of tokens every 2 ms."""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tools" / "engines" / "server_steps.py"
STEP = 0.002


class Answer(http.server.BaseHTTPRequestHandler):
    tokens_per_chunk, refuses = 1, False

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": [{"id": "made-up"}]}')

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(500 if self.refuses else 200)
        self.end_headers()
        done = 0
        while done < asked["max_tokens"] and not self.refuses:
            time.sleep(STEP)
            done += self.tokens_per_chunk
            event = {"choices": [{"text": "x"}], "usage": {"completion_tokens": done}}
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")


class ServerSteps(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Made", (Answer,), {}))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.out = pathlib.Path(tempfile.mkdtemp()) / "steps.jsonl"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def run_program(self, *words):
        return subprocess.run([sys.executable, PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)

    def measure(self, *words):
        url = "http://127.0.0.1:%d" % self.server.server_address[1]
        done = self.run_program(url, "--transformer", "llama-3.1-8b", "--batches", "1,3", "--contexts", "64", "--steps",
                                24, "--out", self.out, *words)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, [json.loads(line) for line in self.out.read_text().splitlines()]

    def test_steps_and_prompts_are_measured_and_become_a_csv(self):
        code, records = self.measure("--prompts", "64")
        steps = [r for r in records if r["kind"] == "steps"]
        self.assertEqual((code, [r["batch"] for r in steps]), (0, [1, 3]))
        for record in steps:
            self.assertGreaterEqual(record["step_ms"], 1e3 * STEP)
            self.assertEqual(record["tokens_per_step"], 1)
        self.assertGreaterEqual(records[-1]["ttft_ms"], 1e3 * STEP)
        lines = self.run_program("--csv", self.out).stdout.splitlines()
        self.assertEqual(lines[0].split(",")[:3], ["batch", "context", "step_ms"])
        self.assertEqual(len(lines), 3)

    def test_a_chunk_of_several_tokens_is_a_step_of_a_speculative_server_alone(self):
        self.server.RequestHandlerClass.tokens_per_chunk = 3
        code, records = self.measure("--draft-length", 4)
        self.assertEqual((code, records[1]["tokens_per_step"]), (0, 3))
        self.out.unlink()
        code, records = self.measure()
        self.assertEqual(code, 1)
        self.assertIn("3.00 tokens in a chunk", records[1]["problem"])

    def test_an_error_of_the_server_is_in_the_record(self):
        self.server.RequestHandlerClass.refuses = True
        code, records = self.measure()
        self.assertEqual(code, 1)
        self.assertIn("HTTP 500", records[1]["problem"])

    def test_a_server_that_does_not_answer_is_an_error_without_a_trace(self):
        done = self.run_program("http://127.0.0.1:9", "--transformer", "x", "--out", self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no list of models", done.stderr)


if __name__ == "__main__":
    unittest.main()
