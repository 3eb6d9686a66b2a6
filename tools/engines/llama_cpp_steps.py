#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times llama.cpp: steps of 1 to 64 rows behind a context, and plain and speculative serving side by side.

usage: llama_cpp_steps.py MODEL.gguf [--draft DRAFT.gguf] [--out steps.json] [--seconds 600]   measure
       llama_cpp_steps.py --write FILE.gguf --format Q8_0 --like MODEL.gguf                    the same network in
                                                                                               another format
       llama_cpp_steps.py --write FILE.gguf --format Q8_0 --like MODEL.gguf --layers 28 --hidden 1024 --heads 16
                          --kv-heads 4 --intermediate 4096                                     random weights

`draftline calibrate --served steps.json` reads the output. Needs the packages xllamacpp (llama.cpp with its server inside) and, for --write, gguf. A step is one call of
llama_decode() on one sequence, with the logits of all its rows, behind a cache of --contexts tokens: the verify step
of chains. Serving is the server inside the wheel, with one slot. A plain and a speculative server answer the same
prompts in turn; the draft network or n-gram look-up drafts, and the server's synthetic acceptance decides, so that
neither texts nor trained drafters matter. Parts are measured in this order until --seconds are over; the output names
what was not measured.

--clock cpu takes this process's time on its core, for one thread on a machine that others use too; the default is the
time on the wall. Answers repeat a prompt that the server has cached, so that a speculative and a plain answer differ
in their steps alone.

The library is called through its C interface. Of its parameters only the first four numbers (tokens of the context, of
a batch, of a micro-batch, sequences) are set, which have had these places in every version since 2023; the program
stops if a context does not have the length that was set."""
import argparse
import ctypes
import json
import os
import platform
import statistics
import sys
import time

ROOM = 4096  # bytes for a structure of parameters, more than any version has
WARM = 2     # first steps of a width, which build its graph
NGRAM = "ngram"


def fail(text):
    print("llama_cpp_steps.py: " + text, file=sys.stderr)
    sys.exit(2)


def quartiles(values):
    s = sorted(values)
    return s[int(0.25 * len(s))], statistics.median(s), s[min(len(s) - 1, int(0.75 * len(s)))]


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def wheel():
    try:
        import xllamacpp
    except ImportError:
        fail("the package xllamacpp is missing (pip install --only-binary :all: xllamacpp)")
    return xllamacpp


class Parameters(ctypes.Structure):
    """A structure that is passed by value and whose members after the first four numbers stay as the library set
    them."""
    _fields_ = [("first", ctypes.c_uint32 * 4), ("rest", ctypes.c_uint8 * (ROOM - 16))]


class Batch(ctypes.Structure):
    _fields_ = [("tokens", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)),
                ("embedding", ctypes.POINTER(ctypes.c_float)), ("position", ctypes.POINTER(ctypes.c_int32)),
                ("sequences", ctypes.POINTER(ctypes.c_int32)),
                ("sequence", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
                ("logits", ctypes.POINTER(ctypes.c_int8))]


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name, result, *arguments in (
                ("llama_backend_init", None), ("llama_model_default_params", Parameters),
                ("llama_context_default_params", Parameters),
                ("llama_model_load_from_file", ctypes.c_void_p, ctypes.c_char_p, Parameters),
                ("llama_init_from_model", ctypes.c_void_p, ctypes.c_void_p, Parameters),
                ("llama_set_n_threads", None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32),
                ("llama_n_ctx", ctypes.c_uint32, ctypes.c_void_p),
                ("llama_batch_init", Batch, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32),
                ("llama_decode", ctypes.c_int32, ctypes.c_void_p, Batch),
                ("llama_synchronize", None, ctypes.c_void_p), ("llama_get_memory", ctypes.c_void_p, ctypes.c_void_p),
                ("llama_memory_seq_rm", ctypes.c_bool, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32),
                ("llama_sampler_init_greedy", ctypes.c_void_p),
                ("llama_sampler_sample", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32),
                ("llama_free", None, ctypes.c_void_p), ("llama_model_free", None, ctypes.c_void_p)):
            function = getattr(self.c, name, None)
            if function is None:
                fail("%s has no %s" % (path, name))
            function.restype, function.argtypes = result, arguments
        self.c.llama_backend_init()


class Decoder:
    """One network and one sequence."""

    def __init__(self, library, path, room, options):
        self.c = library.c
        self.model = self.c.llama_model_load_from_file(path.encode(), self.c.llama_model_default_params())
        if not self.model:
            fail(path + " can't be loaded")
        parameters = self.c.llama_context_default_params()
        parameters.first[:] = [room, 512, 512, 1]
        self.context = self.c.llama_init_from_model(self.model, parameters)
        if not self.context or self.c.llama_n_ctx(self.context) < room:
            fail("this version of llama.cpp has other parameters: no context of %d tokens" % room)
        self.c.llama_set_n_threads(self.context, options.threads, options.threads)
        self.clock = CLOCKS[options.clock]
        self.batch, self.greedy = self.c.llama_batch_init(512, 0, 1), self.c.llama_sampler_init_greedy()
        self.kept = 0

    def decode(self, rows, first, all_logits=True):
        """Seconds of a step of `rows` rows behind `first` tokens."""
        b = self.batch
        b.tokens = rows
        for i in range(rows):
            b.token[i], b.position[i], b.sequences[i] = 1000 + (first + 7 * i) % 8000, first + i, 1
            b.sequence[i][0], b.logits[i] = 0, 1 if all_logits or i + 1 == rows else 0
        began = self.clock()
        if self.c.llama_decode(self.context, b):
            fail("llama_decode failed for %d rows behind %d tokens" % (rows, first))
        self.c.llama_synchronize(self.context)
        return self.clock() - began

    def keep(self, tokens):
        """Cuts the text, or extends it by prompts, to this number of tokens."""
        self.c.llama_memory_seq_rm(self.c.llama_get_memory(self.context), 0, min(tokens, self.kept), -1)
        while self.kept < tokens:
            rows = min(512, tokens - self.kept)
            self.decode(rows, self.kept, False)
            self.kept += rows
        self.kept = tokens

    def sample(self):
        began = self.clock()
        self.c.llama_sampler_sample(self.greedy, self.context, 0)
        return self.clock() - began

    def close(self):
        self.c.llama_free(self.context)
        self.c.llama_model_free(self.model)


def time_steps(decoder, network, options, until):
    """Steps of all widths in turn, until each has --repeats times or the time is over; and what was left out."""
    records, left = [], []
    for context in options.contexts:
        times, sampled = {rows: [] for rows in options.rows}, []
        for turn in range(options.repeats + WARM):
            for rows in options.rows:
                if time.monotonic() > until:
                    break
                decoder.keep(context)
                seconds = decoder.decode(rows, context)
                if turn >= WARM:
                    times[rows].append(seconds)
                    sampled.append(decoder.sample())
        for rows, seconds in times.items():
            if len(seconds) < 3:
                left.append("step of %d rows of the %s behind %d tokens" % (rows, network, context))
                continue
            low, middle, high = quartiles(seconds)
            records.append({"network": network, "rows": rows, "context": context, "step_ms": round(1e3 * middle, 4),
                            "quartiles_ms": [round(1e3 * low, 4), round(1e3 * high, 4)], "steps": len(seconds),
                            "sample_ms": round(1e3 * statistics.median(sampled), 4)})
    return records, left


class Serving:
    def __init__(self, options, method=None, k=0):
        x = wheel()
        p = x.CommonParams()
        p.model.path, p.n_parallel, p.warmup = options.model, 1, True
        p.n_ctx = max(options.contexts) + options.tokens + 80
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = options.threads
        if method:
            types = x.common_speculative_type
            s = p.speculative
            s.types = [types.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE if method == NGRAM
                       else types.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
            s.draft.n_max, s.draft.n_min, s.draft.p_min = k, 0, 0.0
            s.draft.cpuparams.n_threads = s.draft.cpuparams_batch.n_threads = options.threads
            if method == NGRAM:
                s.ngram_simple.size_n, s.ngram_simple.size_m = 4, k
            else:
                s.draft.mparams.path = options.draft
            s.synth_rates = [options.rate ** (i + 1) for i in range(k)]  # shares of all steps
        self.server = x.Server(p)

        self.clock = CLOCKS[options.clock]

    def answer(self, prompt, tokens):
        """Milliseconds of all steps of an answer to a cached prompt, and the server's counters."""
        began = self.clock()
        r = self.server.handle_completions({"prompt": prompt, "max_tokens": tokens, "temperature": 0,
                                            "ignore_eos": True, "cache_prompt": True})
        return 1e3 * (self.clock() - began), (r if isinstance(r, dict) else json.loads(r))["timings"]


def prompt_of(tokens):
    pattern = [500 + 37 * i for i in range(16)]  # repeats, so that look-up finds drafts
    return [pattern[i % 16] for i in range(tokens)]


def time_servers(plain, speculative, context, options, until):
    """Answers in turn. A plain answer of n tokens takes n steps, the first of which reads the last token of the prompt;
    a speculative one takes one such step, too, and then its own."""
    prompt, ratios, times, drafted, accepted, emitted = prompt_of(context), [], [], 0, 0, 0
    for turn in range(options.turns + 1):
        if turn > 1 and time.monotonic() > until:
            break
        (a, _), (b, counted) = plain.answer(prompt, options.tokens), speculative.answer(prompt, options.tokens)
        if turn == 0:
            continue  # reads the prompt
        one = a / options.tokens
        times.append((one, (b - one) / (options.tokens - 1)))
        ratios.append(times[-1][0] / times[-1][1])
        drafted, accepted = drafted + counted.get("draft_n", 0), accepted + counted.get("draft_n_accepted", 0)
        emitted += options.tokens - 1
    if not ratios:
        return None
    steps = emitted - accepted
    low, middle, high = quartiles(ratios)
    return {"turns": len(ratios), "speedup": round(middle, 4), "quartiles": [round(low, 4), round(high, 4)],
            "plain_ms_per_token": round(statistics.median(t[0] for t in times), 4),
            "ms_per_token": round(statistics.median(t[1] for t in times), 4),
            "tokens_per_step": round(emitted / steps, 4), "drafted_per_step": round(drafted / steps, 4)}


def time_serving(options, until):
    records, left = [], []
    plain = Serving(options)
    for k in options.k:
        for method in (["draft"] if options.draft else []) + [NGRAM]:
            speculative = Serving(options, method, k) if time.monotonic() < until else None
            for context in options.contexts:
                cell = speculative and time_servers(plain, speculative, context, options, until)
                if cell:
                    records.append({"method": method, "k": k, "context": context, **cell})
                else:
                    left.append("serving with %s, k %d, behind %d tokens" % (method, k, context))
    return records, left


def machine():
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    return {"processor": name, "cores": os.cpu_count(), "load": [round(v, 2) for v in os.getloadavg()]}


def measure(options):
    began = time.monotonic()
    x = wheel()
    out = {"schema_version": 1, "engine": "llama.cpp", "library": "xllamacpp " + x.__version__,
           "features": x.get_system_info().strip() if isinstance(x.get_system_info(), str) else "",
           "machine": machine(), "threads": options.threads, "clock": options.clock, "model": os.path.basename(options.model),
           "draft": os.path.basename(options.draft) if options.draft else None, "rate": options.rate,
           "steps": [], "serving": [], "not_measured": []}

    def add(part, found):
        out[part] += found[0]
        out["not_measured"] += found[1]
        with open(options.out, "w") as file:
            file.write(as_text(out))
    room = max(options.contexts) + max(options.rows) + 16
    share = 0.5 if "serving" in options.parts else 1
    if "steps" in options.parts:
        library = Library(options.library or x.xllamacpp.__file__)
        networks = [("target", options.model)] + ([("draft", options.draft)] if options.draft else [])
        for i, (network, path) in enumerate(networks):
            decoder = Decoder(library, path, room, options)
            add("steps", time_steps(decoder, network, options,
                                    began + share * options.seconds * (i + 1) / len(networks)))
            decoder.close()
    if "serving" in options.parts:
        add("serving", time_serving(options, began + options.seconds))
    if not options.draft:
        out["not_measured"].append("a draft network: no --draft was given")
    add("steps", ([], []))
    print("%s: %d steps, %d servings, %d cells not measured" % (options.out, len(out["steps"]), len(out["serving"]),
                                                                len(out["not_measured"])))


def as_text(out):
    """JSON with a record on a line."""
    parts = []
    for key, value in out.items():
        text = json.dumps(value)
        if isinstance(value, list) and value:
            text = "[\n    " + ",\n    ".join(json.dumps(v) for v in value) + "\n  ]"
        parts.append("  %s: %s" % (json.dumps(key), text))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write_network(options):
    import gguf
    import numpy
    source = gguf.GGUFReader(options.like)
    fields = {name: field.contents() for name, field in source.fields.items() if not name.startswith("GGUF.")}
    arch = fields["general.architecture"]
    shape = {"block_count": options.layers, "embedding_length": options.hidden, "attention.head_count": options.heads,
             "attention.head_count_kv": options.kv_heads, "feed_forward_length": options.intermediate}
    resized = {"%s.%s" % (arch, key): value for key, value in shape.items() if value}
    writer = gguf.GGUFWriter(options.write, arch)
    if resized:
        resized[arch + ".rope.dimension_count"] = \
            resized.get(arch + ".embedding_length", fields[arch + ".embedding_length"]) // \
            resized.get(arch + ".attention.head_count", fields[arch + ".attention.head_count"])
    for name, field in source.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        value = resized.get(name, fields[name])
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, field.types[0])
    to = gguf.GGMLQuantizationType[options.format]
    random, scale = numpy.random.default_rng(1), 0.02
    get = lambda key: resized.get("%s.%s" % (arch, key), fields["%s.%s" % (arch, key)])
    hidden, heads, kv = get("embedding_length"), get("attention.head_count"), get("attention.head_count_kv")
    sizes = {"attn_q": (hidden, hidden), "attn_k": (hidden // heads * kv, hidden),
             "attn_v": (hidden // heads * kv, hidden), "attn_output": (hidden, hidden),
             "ffn_gate": (get("feed_forward_length"), hidden), "ffn_up": (get("feed_forward_length"), hidden),
             "ffn_down": (hidden, get("feed_forward_length")), "attn_norm": (hidden,), "ffn_norm": (hidden,)}

    def add(name, values):
        values = numpy.ascontiguousarray(values, dtype=numpy.float32)
        if values.ndim < 2:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, to), raw_dtype=to)
    if not resized:
        for t in source.tensors:
            add(t.name, gguf.quants.dequantize(t.data, t.tensor_type).reshape(list(reversed(t.shape.tolist()))))
    else:
        vocabulary = len(fields["tokenizer.ggml.tokens"])
        add("token_embd.weight", scale * random.standard_normal((vocabulary, hidden), dtype=numpy.float32))
        add("output_norm.weight", numpy.ones(hidden))
        for layer in range(get("block_count")):
            for name, size in sizes.items():
                add("blk.%d.%s.weight" % (layer, name), numpy.ones(size) if len(size) == 1 else
                    scale * random.standard_normal(size, dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def numbers(text):
    return sorted({int(part) for part in text.split(",")})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--draft", help="GGUF of a draft network with the same vocabulary")
    parser.add_argument("--out", default="llama_cpp_steps.json")
    parser.add_argument("--seconds", type=float, default=600, help="limit on the whole run")
    parser.add_argument("--parts", default="steps,serving")
    parser.add_argument("--rows", type=numbers, default=[1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 32, 48, 64])
    parser.add_argument("--contexts", type=numbers, default=[128, 1024])
    parser.add_argument("--k", type=numbers, default=[1, 2, 3, 4, 6, 8])
    parser.add_argument("--rate", type=float, default=0.8, help="synthetic acceptance of each next draft")
    parser.add_argument("--tokens", type=int, default=64, help="of an answer")
    parser.add_argument("--turns", type=int, default=5, help="answers of each kind")
    parser.add_argument("--repeats", type=int, default=9, help="steps of each width")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--library", help="a libllama other than the wheel's")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--like", metavar="FILE")
    parser.add_argument("--format", default="Q8_0")
    for name in ("layers", "hidden", "heads", "kv-heads", "intermediate"):
        parser.add_argument("--" + name, type=int)
    options = parser.parse_args()
    if options.write:
        if not options.like:
            fail("--write needs --like, whose tokenizer and parameters are copied")
        return write_network(options)
    if not options.model:
        fail("a GGUF file is missing")
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
