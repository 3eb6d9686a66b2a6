#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of the decode steps of a running server with OpenAI's completions (vLLM, SGLang, TensorRT-LLM, llama.cpp), by
batch and context, and of prompts, as a client sees them.

    server_steps.py URL --transformer NAME [--batches 1,8,64] [--contexts 512,4096] [--steps 64] [--prompts 512,2048]
                    [--draft-length K] [--model NAME] [--tokens LOW,HIGH] [--out FILE.jsonl]
    server_steps.py --csv FILE.jsonl      the steps as a CSV for `draftline calibrate --served`

Each cell keeps a batch of streams open, with prompts of random tokens, and counts the chunks and the tokens of every
stream while all of them decode. A step's time is the length of that window by the number of chunks of a stream; its
quartiles are those of the streams. The server must send a chunk after every step (SGLang: --stream-interval 1); where a
plain server sends more than one token in a chunk, the cell has a problem in place of a time. The window includes what
the client adds: compare batch 1 with the engine's own log once. Acceptance is the server's own: random tokens are
accepted seldom, so give the drafter a simulated acceptance (SGLang: SGLANG_SIMULATE_ACC_LEN, vLLM:
rejection_sample_method "synthetic", llama.cpp: synth_len). Exit code 1: a cell has no time."""
import argparse
import http.client
import json
import random
import statistics
import sys
import threading
import time
import urllib.parse

WARM = 4  # chunks of each stream that are not counted, after the last stream's first token


class Stream(threading.Thread):
    """One request; the time and the number of tokens of each of its chunks."""

    def __init__(self, server, body):
        super().__init__(daemon=True)
        self.server, self.body = server, body
        self.chunks, self.problem = [], None

    def run(self):
        try:
            connection = self.server.connect()
            self.began = time.monotonic()
            connection.request("POST", self.server.path, json.dumps(self.body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                self.problem = "HTTP %d: %s" % (response.status, response.read(300).decode(errors="replace"))
                return
            tokens = 0
            for line in response:
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line[6:])
                if "error" in event:
                    self.problem = str(event["error"])[:300]
                    return
                usage = event.get("usage")
                before, tokens = tokens, usage["completion_tokens"] if usage else tokens + bool(event.get("choices"))
                if event.get("choices") and tokens > before:
                    self.chunks.append((time.monotonic(), tokens - before))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.problem = "%s: %s" % (type(error).__name__, error)


class Server:
    def __init__(self, options):
        url = urllib.parse.urlsplit(options.url)
        if url.scheme not in ("http", "https") or not url.hostname:
            sys.exit("server_steps.py: %s: give the server as http://HOST:PORT" % options.url)
        self.secure, self.host, self.port = url.scheme == "https", url.hostname, url.port
        self.path, self.options = url.path.rstrip("/") + "/v1/completions", options
        self.random = random.Random(1)

    def connect(self):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=self.options.timeout)

    def model(self):
        if self.options.model:
            return self.options.model
        try:
            connection = self.connect()
            connection.request("GET", self.path.replace("completions", "models"))
            return json.loads(connection.getresponse().read())["data"][0]["id"]
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            sys.exit("server_steps.py: %s has no list of models (%s): give --model" % (self.options.url, error))

    def streams(self, number, prompt, output):
        low, high = self.options.tokens
        started = []
        for _ in range(number):
            ids = [self.random.randrange(low, high) for _ in range(prompt)]
            started.append(Stream(self, {
                "model": self.options.model, "prompt": ids, "max_tokens": output, "temperature": 0, "ignore_eos": True,
                "stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}))
        for stream in started:
            stream.start()
        for stream in started:
            stream.join()
        return started


def steps_of(streams, plain):
    """Time and tokens of a step while all streams decode, or the problem."""
    problem = next((s.problem for s in streams if s.problem), None)
    if problem or any(len(s.chunks) < 2 for s in streams):
        return {"problem": problem or "a stream has less than two chunks"}
    each = statistics.fmean(n for s in streams for _, n in s.chunks[1:])
    if plain and each > 1.02:
        return {"problem": "%.2f tokens in a chunk: the server does not send each step's token at once" % each}
    begin = max(s.chunks[0][0] for s in streams)
    windows = []
    for stream in streams:
        inside = [c for c in stream.chunks if c[0] >= begin][WARM:]
        windows.append([c for c in inside if c[0] <= min(s.chunks[-1][0] for s in streams)])
    if min(map(len, windows)) < 8:
        return {"problem": "all streams decode together for fewer than 8 steps: raise --steps"}
    tokens = sum(n for w in windows for _, n in w[1:]) / sum(len(w) - 1 for w in windows)
    times = sorted(1e3 * (w[-1][0] - w[0][0]) / (len(w) - 1) for w in windows)
    quartiles = [times[int(q * (len(times) - 1) + 0.5)] for q in (0.25, 0.5, 0.75)]
    return {"step_ms": round(quartiles[1], 4), "quartiles_ms": [round(quartiles[0], 4), round(quartiles[2], 4)],
            "tokens_per_step": round(tokens, 4), "steps": min(map(len, windows)) - 1}


def measure(server, options, write):
    options.model = server.model()
    plain, most = options.draft_length == 0, options.draft_length + 1
    write({"kind": "server", "transformer": options.transformer, "model": options.model,
           "draft_length": options.draft_length, "date": time.strftime("%Y-%m-%d")})
    server.streams(1, 64, 16)  # not counted: the first request of all
    failed = False
    for context in options.contexts:
        for batch in options.batches:
            output = (options.steps + 2 * WARM) * most + batch  # prompts join one after another
            streams = server.streams(batch, context, output)
            cell = steps_of(streams, plain)
            failed |= "problem" in cell
            write({"kind": "steps", "batch": batch, "prompt": context, "context": context + output // 2, **cell})
    for prompt in options.prompts:
        firsts = []
        for _ in range(options.repeats):
            stream = server.streams(1, prompt, 2)[0]
            if stream.chunks:
                firsts.append(1e3 * (stream.chunks[0][0] - stream.began))
        failed |= not firsts
        write({"kind": "prompts", "tokens": prompt, "together": 1, "repeats": len(firsts),
               **({"ttft_ms": round(statistics.median(firsts), 3)} if firsts else {"problem": "no first token"})})
    return 1 if failed else 0


def as_csv(path):
    try:
        with open(path) as file:
            records = [json.loads(line) for line in file]
    except (OSError, ValueError) as error:
        sys.exit("server_steps.py: %s" % error)
    print("batch,context,step_ms,transformer,draft_length,acceptance_length")
    about = None
    for r in records:
        if r["kind"] == "server":
            about = r
        elif r["kind"] == "steps" and "step_ms" in r:
            k = about["draft_length"]
            speculative = "%d,%.4f" % (k, r["tokens_per_step"]) if k else ","
            print("%d,%d,%.4f,%s,%s" % (r["batch"], r["context"], r["step_ms"], about["transformer"], speculative))
    return 0


def numbers(text):
    return [int(n) for n in text.split(",") if n]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--transformer", help="draftline's name of the network, for the CSV")
    parser.add_argument("--model", help="the server's name of the network (its first by default)")
    parser.add_argument("--draft-length", type=int, default=0, help="drafts in a step of the server; 0: plain")
    parser.add_argument("--batches", type=numbers, default=[1, 8, 64])
    parser.add_argument("--contexts", type=numbers, default=[512, 4096], help="tokens of the prompts")
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--prompts", type=numbers, default=[], help="lengths of prompts whose first token is timed")
    parser.add_argument("--repeats", type=int, default=5, help="of each prompt")
    parser.add_argument("--tokens", type=numbers, default=[1000, 30000], help="token ids of prompts: LOW,HIGH")
    parser.add_argument("--timeout", type=float, default=300, help="seconds without an answer")
    parser.add_argument("--out", default="server_steps.jsonl")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    if options.csv:
        return as_csv(options.csv)
    if not options.url or not options.transformer:
        parser.error("a URL and --transformer are needed")

    def write(record):
        print(json.dumps(record), flush=True)
        with open(options.out, "a") as file:
            file.write(json.dumps(record) + "\n")
    return measure(Server(options), options, write)


if __name__ == "__main__":
    sys.exit(main())
