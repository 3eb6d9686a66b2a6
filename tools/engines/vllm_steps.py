#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of vLLM's decode steps, plain and speculative, by batch and context, and of prompts. Weights are random numbers
of a config.json's shapes (load_format dummy) by default, and acceptance can be set
(rejection_sample_method synthetic), so neither a network connection nor a checkpoint is needed.

    vllm_steps.py PLAN --out FILE.jsonl [--seconds N] [--only NAME,..] [--logs FOLDER]
    vllm_steps.py PLAN --check [--only NAME,..]      builds every configuration and stops before the first weight
    vllm_steps.py --csv FILE.jsonl --only NAME       one engine's steps, a CSV for `draftline calibrate --served`

PLAN is a JSON object: "defaults" (arguments of vllm.LLM) and "engines", a list in the order of running:
    name, group      engines of one group start together, with memory for all of them, and are measured one by one; an
                     engine that waits has no work on the GPU
    model            a name of data/transformers, or a folder with a config.json
    options          further arguments of vllm.LLM; "kv_cache_gib" is short for kv_cache_memory_bytes
    speculation      vLLM's speculative_config; "drafter" is a folder relative to the plan, put in as "model"
    steps            [{"batches": [1, 8], "context": 512, "steps": 40}]: tokens of the prompts; steps that are timed
    prompts          [{"tokens": 512, "together": 1, "repeats": 5}]: time to first token
    vocabulary       prompts and outputs use this many token ids only (look-up drafters then find a draft)
    seconds, start   limits on the measurement (120) and on the start (180)
"needed" as cudagraph_capture_sizes captures only the sizes that these batches use; a step runs the same graph as with
vLLM's own list, as long as those batches are in it.

The engine core runs in a process of its own, as under `vllm serve`, and stamps each step's output when the step ends.
A step's time is the difference between the stamps of neighbouring steps in which all sequences of the batch decode;
the first four are left out. HTTP, tokenising and detokenising are not part of it. Time to first token runs from the
call that hands the prompt to the engine to the stamp of the first token; its prompts are new, so no cached prefix is
hit. A line is written as soon as it is measured, so that nothing is lost when the time is over. Where no engine starts,
the rest of the plan is not tried. Exit code 1: something failed."""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARM = 4  # steps after the last prompt that are not timed


def fail(text):
    sys.exit("vllm_steps.py: " + text)


def model_folder(name):
    """A folder with a config.json: NAME itself, or a shape of data/transformers written where vLLM can read it."""
    path = os.path.join(ROOT, "data", "transformers", name + ".json")
    if not os.path.isfile(path):
        return name
    with open(path) as file:
        shape = json.load(file)
    shape.pop("draftline_source", None)
    shape.setdefault("dtype", "bfloat16")
    folder = tempfile.mkdtemp(prefix="vllm_steps_")
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(shape, file)
    return folder


def draft_length(engine):
    return (engine.get("speculation") or {}).get("num_speculative_tokens", 0)


def arguments_of(engine, defaults, plan_folder):
    options = {"load_format": "dummy", "skip_tokenizer_init": True, "dtype": "bfloat16", "disable_log_stats": False}
    options.update(defaults)
    options.update(engine.get("options", {}))
    options["model"] = model_folder(engine["model"])
    if "kv_cache_gib" in options:
        options["kv_cache_memory_bytes"] = int(options.pop("kv_cache_gib") * 2**30)
    rows, largest = draft_length(engine) + 1, 512
    if engine.get("speculation"):
        speculation = dict(engine["speculation"])
        if "drafter" in speculation:
            speculation["model"] = os.path.join(plan_folder, speculation.pop("drafter"))
        options["speculative_config"] = speculation
    compilation = dict(options.get("compilation_config", {}))
    if compilation.get("cudagraph_capture_sizes") == "needed":
        batches = {b for cell in engine.get("steps", []) for b in cell["batches"]}
        sizes = {1, 2, 4, 8, largest} | batches | {b * rows for b in batches}
        compilation["cudagraph_capture_sizes"] = sorted(s for s in sizes if s <= largest)
    if compilation:
        options["compilation_config"] = compilation
    return options


def gpu_state():
    fields = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw,memory.used"
    try:
        out = subprocess.run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits"],
                             capture_output=True, text=True, timeout=10, check=True).stdout.splitlines()[0]
        return dict(zip(fields.split(","), (word.strip() for word in out.split(","))))
    except (OSError, subprocess.SubprocessError, IndexError):
        return {}


def quartiles(values):
    ordered = sorted(values)
    return [ordered[int(q * (len(ordered) - 1) + 0.5)] for q in (0.25, 0.5, 0.75)]


class Meter:
    """Drives a vLLM engine that has been started, and reads the stamps of its steps."""

    def __init__(self, llm, engine, write):
        self.engine, self.write, self.plan = llm.llm_engine, write, engine
        self.calls, self.outputs = 0, None
        core = self.engine.engine_core
        get = core.get_output

        def keep():
            self.outputs = get()
            return self.outputs
        core.get_output = keep
        self.vocabulary = self.engine.vllm_config.model_config.get_vocab_size()

    def prompt(self, tokens, sequence, salt=0):
        few = self.plan.get("vocabulary", 0)
        state, ids = (sequence * 2654435761 + salt * 40503 + 12345) % 2**32, []
        for _ in range(tokens):
            state = (1664525 * state + 1013904223) % 2**32
            ids.append(100 + (state >> 8) % (few or self.vocabulary - 200))
        return {"prompt_token_ids": ids}

    def submit(self, prompts, tokens):
        from vllm import SamplingParams
        few = self.plan.get("vocabulary", 0)
        sampling = SamplingParams(max_tokens=tokens, ignore_eos=True, temperature=0, detokenize=False,
                                  allowed_token_ids=list(range(100, 100 + few)) if few else None)
        self.calls += 1
        names = ["c%d-%d" % (self.calls, i) for i in range(len(prompts))]
        for name, prompt in zip(names, prompts):
            self.engine.add_request(name, prompt, sampling)
        return names

    def step(self):
        """The stamp of the next step, its outputs of the requests submitted last, and its counters of drafts."""
        self.engine.step()
        mine = [o for o in self.outputs.outputs if o.request_id.startswith("c%d-" % self.calls) and o.new_token_ids]
        stats = getattr(self.outputs.scheduler_stats, "spec_decoding_stats", None)
        return self.outputs.timestamp, mine, stats

    def steps(self, batch, context, wanted, until):
        k = draft_length(self.plan)
        began = time.monotonic()
        names = self.submit([self.prompt(context, i) for i in range(batch)], (wanted + WARM + 16) * (k + 1) + batch)
        gaps, tokens, drafts, drafted, distinct, emitted, contexts = [], 0, 0, 0, [], 0, []
        before, full, problem, state = None, 0, None, {}
        while len(gaps) < wanted:
            stamp, mine, stats = self.step()
            emitted += sum(len(o.new_token_ids) for o in mine)
            if len(mine) == batch and before is not None:
                full += 1
                if full > WARM:
                    gaps.append(stamp - before)
                    tokens += sum(len(o.new_token_ids) for o in mine)
                    distinct.append(len({o.new_token_ids[-1] for o in mine}) / batch)
                    contexts.append(context + emitted / batch)
                    if stats is not None:
                        drafts, drafted = drafts + stats.num_drafts, drafted + stats.num_draft_tokens
            before = stamp if len(mine) == batch else None
            if any(o.finish_reason is not None for o in mine):
                problem = "a sequence ended before %d steps had all of them" % wanted
            if time.monotonic() > until:
                problem = "out of time"
            if problem:
                break
        state = gpu_state() if not problem else {}
        self.engine.abort_request(names)
        record = {"kind": "steps", "engine": self.plan["name"], "draft_length": k, "batch": batch, "prompt": context}
        if gaps:
            low, middle, high = quartiles(gaps)
            record.update(context=round(statistics.fmean(contexts), 1), step_ms=round(1e3 * middle, 4),
                          quartiles_ms=[round(1e3 * low, 4), round(1e3 * high, 4)],
                          mean_ms=round(1e3 * statistics.fmean(gaps), 4), steps=len(gaps),
                          tokens_per_step=round(tokens / batch / len(gaps), 4),
                          drafts_per_step=round(drafts / batch / len(gaps), 4),
                          drafted_per_step=round(drafted / batch / len(gaps), 4),
                          distinct_tokens=round(statistics.fmean(distinct), 4))
        record.update(seconds=round(time.monotonic() - began, 2), gpu=state)
        if problem:
            record["problem"] = problem
        self.write(record)

    def prompts(self, tokens, together, repeats, until):
        firsts = []
        for repeat in range(repeats + 1):
            prompts = [self.prompt(tokens, i, salt=1 + repeat + 1000 * self.calls) for i in range(together)]
            began = time.monotonic()
            names = self.submit(prompts, 2)
            seen = {}
            while len(seen) < together and time.monotonic() < until:
                stamp, mine, _ = self.step()
                for output in mine:
                    seen.setdefault(output.request_id, stamp - began)
            while len(seen) == together and self.engine.has_unfinished_requests():
                self.step()
            self.engine.abort_request(names)
            if len(seen) < together:
                break
            if repeat:  # the first is a warm-up
                firsts.append(seen.values())
        record = {"kind": "prompts", "engine": self.plan["name"], "tokens": tokens, "together": together,
                  "repeats": len(firsts)}
        if firsts:
            means = [statistics.fmean(f) for f in firsts]
            low, middle, high = quartiles(means)
            record.update(ttft_ms=round(1e3 * middle, 3), quartiles_ms=[round(1e3 * low, 3), round(1e3 * high, 3)],
                          last_ms=round(1e3 * statistics.median(max(f) for f in firsts), 3))
        else:
            record["problem"] = "out of time"
        self.write(record)


def settings_of(llm):
    config = llm.llm_engine.vllm_config
    compilation, cache, scheduler = config.compilation_config, config.cache_config, config.scheduler_config
    return {"cudagraph_mode": str(compilation.cudagraph_mode), "compilation_mode": str(compilation.mode),
            "cudagraph_capture_sizes": compilation.cudagraph_capture_sizes, "kv_blocks": cache.num_gpu_blocks,
            "block_size": cache.block_size, "async_scheduling": getattr(scheduler, "async_scheduling", None),
            "max_num_batched_tokens": scheduler.max_num_batched_tokens, "max_num_seqs": scheduler.max_num_seqs,
            "prefix_caching": cache.enable_prefix_caching, "max_model_len": config.model_config.max_model_len,
            "v2_model_runner": getattr(config, "use_v2_model_runner", None)}


def one_engine(order):
    """Runs in a separate process: starts the engine, reports that, waits for its turn, measures."""
    engine, out = order["engine"], os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(record):
        os.write(out, (json.dumps(record) + "\n").encode())
    began = time.monotonic()
    import torch
    import vllm
    imported = time.monotonic() - began
    llm = vllm.LLM(**arguments_of(engine, order["defaults"], order["folder"]))
    record = {"kind": "engine", "engine": engine["name"], "model": engine["model"], "vllm": vllm.__version__,
              "torch": torch.__version__, "import_s": round(imported, 1), "start_s": round(time.monotonic() - began, 1),
              "speculation": engine.get("speculation"), "options": {**order["defaults"], **engine.get("options", {})},
              "settings": settings_of(llm), "gpu": gpu_state()}
    write(record)
    os.write(order["ready"], b"ready\n")
    sys.stdin.readline()
    until = time.monotonic() + engine.get("seconds", 120)
    meter = Meter(llm, engine, write)
    meter.steps(1, 64, 4, until)  # the first steps of all, not to be used: batch 1 behind 64 tokens
    for cell in engine.get("steps", []):
        for batch in cell["batches"]:
            if time.monotonic() < until:
                meter.steps(batch, cell["context"], cell.get("steps", 40), until)
    for prompt in engine.get("prompts", []):
        if time.monotonic() < until:
            meter.prompts(prompt["tokens"], prompt.get("together", 1), prompt.get("repeats", 5), until)
    os.write(order["ready"], b"done\n")
    os._exit(0)


def end_group(process):
    """Ends the process and the engine core that it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            for _ in range(30):
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.1)
        except ProcessLookupError:
            break
    process.wait()


def wait_line(pipe, process, until):
    """The next word that the engine's process writes, or None when it ends or the time is over."""
    os.set_blocking(pipe, False)
    while time.monotonic() < until:
        try:
            word = os.read(pipe, 64)
            if word:
                return word.decode()
            if process.poll() is not None:
                return None
        except BlockingIOError:
            if process.poll() is not None:
                return None
        time.sleep(0.05)
    return None


TELLING = re.compile(r"cudagraph|CUDA graph|Asynchronous|backend|odel [Rr]unner|KV cache|GiB|torch.compile|Capturing"
                     r"|took|seconds|WARNING|ERROR|Error")


def run(options, plan, engines, folder):
    end = time.monotonic() + options.seconds
    logs = options.logs or tempfile.mkdtemp(prefix="vllm_steps_")
    os.makedirs(logs, exist_ok=True)
    out, failed = os.path.abspath(options.out), False

    def note(record):
        with open(out, "a") as file:
            file.write(json.dumps(record) + "\n")
        print(json.dumps(record)[:300], flush=True)
    groups, none = [], 0
    for engine in engines:
        if groups and "group" in engine and groups[-1][0].get("group") == engine["group"]:
            groups[-1].append(engine)
        else:
            groups.append([engine])
    for group in groups:
        started = []
        for engine in group:
            if end - time.monotonic() < options.least:
                note({"kind": "left out", "engine": engine["name"], "problem": "no time was left to start it"})
                continue
            reading, writing = os.pipe()
            order = {"engine": engine, "defaults": plan.get("defaults", {}), "folder": folder, "out": out,
                     "ready": writing}
            log = os.path.join(logs, engine["name"] + ".log")
            with open(log, "w") as file:
                process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--one", json.dumps(order)],
                                           stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT,
                                           pass_fds=[writing], start_new_session=True)
            os.close(writing)
            started.append((engine, process, reading, log, time.monotonic()))
        for engine, process, reading, log, began in started:
            if wait_line(reading, process, min(end, began + engine.get("start", 180))) is None:
                end_group(process)  # at once: it must not disturb the others
        for engine, process, reading, log, began in started:
            problem = None
            if process.poll() is not None:
                problem = "did not start"
            else:
                process.stdin.write(b"go\n")
                process.stdin.flush()
                if wait_line(reading, process, min(end, time.monotonic() + engine.get("seconds", 120) + 15)) is None:
                    problem = "ended before its measurement was done"
            end_group(process)
            with open(log, errors="replace") as file:
                lines = [line.rstrip()[:400] for line in file]
            failed |= problem is not None
            record = {"kind": "log", "engine": engine["name"], "seconds": round(time.monotonic() - began, 1),
                      "lines": [line for line in lines if TELLING.search(line)][:80]}
            if problem:
                record.update(problem=problem, tail=lines[-60:])
            with open(out, "a") as file:
                file.write(json.dumps(record) + "\n")
            print(engine["name"], problem or "measured", "%.0f s of its start" % (time.monotonic() - began), flush=True)
            if problem:
                print("\n".join(lines[-25:]), flush=True)
            none += problem == "did not start"
        if none and none == sum(len(g) for g in groups[:groups.index(group) + 1]):
            note({"kind": "left out", "problem": "no engine starts here: the rest of the plan was not tried"})
            return 1
    return 1 if failed else 0


def check(plan, engines, folder):
    from vllm.engine.arg_utils import EngineArgs
    bad = 0
    for engine in engines:
        try:
            config = EngineArgs(**arguments_of(engine, plan.get("defaults", {}), folder)).create_engine_config()
            drafter = config.speculative_config
            print(engine["name"], config.model_config.architectures, drafter and (drafter.method, drafter.
                  draft_model_config.architectures if drafter.draft_model_config else None),
                  config.compilation_config.cudagraph_mode, config.compilation_config.cudagraph_capture_sizes,
                  "async", config.scheduler_config.async_scheduling, "v2", config.use_v2_model_runner, flush=True)
        except Exception as error:  # any: the next configuration is tried all the same
            bad = 1
            print(engine["name"], "FAILED:", type(error).__name__, str(error)[:2000], flush=True)
    return bad


def as_csv(path, only):
    with open(path) as file:
        records = [json.loads(line) for line in file]
    models = {r["engine"]: r["model"] for r in records if r["kind"] == "engine"}
    print("batch,context,step_ms,transformer,draft_length,acceptance_length")
    for r in records:
        if r["kind"] == "steps" and "step_ms" in r and r["prompt"] > 64 and (not only or r["engine"] in only):
            speculative = "%d,%.4f" % (r["draft_length"], r["tokens_per_step"]) if r["draft_length"] else ","
            print("%d,%.0f,%.4f,%s,%s" % (r["batch"], r["context"], r["step_ms"], models[r["engine"]], speculative))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", nargs="?")
    parser.add_argument("--out", default="vllm_steps.jsonl")
    parser.add_argument("--seconds", type=float, default=3600, help="limit on the whole run")
    parser.add_argument("--least", type=float, default=60, help="an engine is started only with so many seconds left")
    parser.add_argument("--only", help="names of engines, separated by commas")
    parser.add_argument("--logs", help="folder for the engines' logs")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one_engine(json.loads(options.one))
    only = set(options.only.split(",")) if options.only else None
    if options.csv:
        return as_csv(options.csv, only)
    if not options.plan:
        fail("a plan is missing")
    with open(options.plan) as file:
        plan = json.load(file)
    engines = [e for e in plan["engines"] if not only or e["name"] in only]
    if not engines:
        fail("no engine of the plan is named so")
    folder = os.path.dirname(os.path.abspath(options.plan))
    return check(plan, engines, folder) if options.check else run(options, plan, engines, folder)


if __name__ == "__main__":
    sys.exit(main())
