# SPDX-License-Identifier: Apache-2.0
"""The package around the answers: verbs of the program, examples, the recipe's commands, and the time of an import."""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import typing
import unittest
from pathlib import Path

import draftline
from program import PACKAGE, question, quietly

TREE = Path(__file__).resolve().parents[2]
FIXTURES = TREE / "tests" / "fixtures"


def python(*arguments, **options):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, encoding="utf-8", **options)


class Verbs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_check_finds_what_moved(self):
        answer = self.folder / "answer.json"
        draftline.run(question()).save(answer)
        same = draftline.check(against=answer)
        self.assertFalse(same.missed)
        document = json.loads(answer.read_text())
        document["results"][0]["step_time"]["value"] *= 2
        answer.write_text(json.dumps(document))
        moved = draftline.check(against=answer)
        self.assertTrue(moved.missed)
        self.assertIn("step_time", moved.json)
        with self.assertRaisesRegex(draftline.InputError, "no such option|not expected") as raised:
            draftline.check(colour="red")
        self.assertNotIn("--help", str(raised.exception))

    def test_an_output_that_cannot_be_written_is_no_device_error(self):
        draftline.run(question()).save(self.folder / "answer.json")
        with self.assertRaises(draftline.OutputError):
            draftline.check(against=self.folder / "answer.json", html="/dev/full")

    def test_notes_of_an_answer_that_missed_are_warnings(self):
        scenario = self.folder / "s.json"
        scenario.write_text(json.dumps(question()))
        quietly(draftline.check, scenarios=self.folder, approve=True)
        scenario.write_text(json.dumps(question(prompt_tokens=300)))
        with self.assertWarnsRegex(draftline.DraftlineWarning, "If these changes are intended"):
            self.assertTrue(draftline.check(scenarios=self.folder).missed)

    def test_words_of_an_option_that_begin_with_a_dash(self):
        from draftline import _program

        folder = Path.cwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, folder)
        Path("-a.json").touch()
        self.assertEqual(_program._option("against", ["-a.json", "b.json"]), ["--against", "./-a.json", "b.json"])
        self.assertEqual(_program._option("end_of_text", [-1, 2]), ["--end-of-text=-1", "--end-of-text=2"])
        self.assertEqual(_program._option("prompt", ["-x"]), ["--prompt=-x"])

    def test_decode_takes_and_gives_tokens(self):
        options = {"new_tokens": 5, "method": {"name": "prompt_lookup", "draft_length": 2}}
        decoded = draftline.decode(FIXTURES / "llama", [[1, 2, 3], [4, 5]], **options)
        self.assertEqual([len(tokens) for tokens in decoded.tokens], [5, 5])
        plain = draftline.decode(FIXTURES / "llama", [[1, 2, 3], [4, 5]], new_tokens=5)
        self.assertEqual(decoded.tokens, plain.tokens)  # prompt look-up is lossless
        self.assertRaisesRegex(ValueError, "token ids", lambda: decoded.texts)
        self.assertRaisesRegex(draftline.InputError, "tokenizer.json: no such file", draftline.decode, FIXTURES / "llama", ["a"])
        self.assertRaises(draftline.InputError, draftline.decode, FIXTURES / "llama", [[10**6]])

    def test_a_prompt_may_be_longer_than_a_command_line(self):
        # The last id is wrong, so that the answer needs no decoding: the program has read all ids.
        self.assertRaisesRegex(draftline.InputError, "word 70001 is no token id", draftline.decode, FIXTURES / "llama",
                               [[95] * 70_000 + [10**6]])

    def test_decode_takes_text_where_tokenizers_is_installed(self):
        try:
            from tokenizers import Tokenizer, models, pre_tokenizers
        except ImportError:
            self.skipTest("tokenizers is not installed")
        network = self.folder / "llama"
        network.mkdir()
        for file in "config.json", "model.safetensors":
            os.symlink(FIXTURES / "llama" / file, network / file)
        vocabulary = {f"w{i}": i for i in range(96)}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(network / "tokenizer.json"))
        decoded = draftline.decode(network, ["w1 w2 w3"], new_tokens=4)
        self.assertEqual(decoded.tokens, draftline.decode(network, [[1, 2, 3]], new_tokens=4).tokens)
        self.assertEqual(decoded.texts, [" ".join(f"w{i}" for i in decoded.tokens[0])])

    def test_a_server_s_benchmarks_calibrate_an_engine(self):
        table = self.folder / "served.csv"
        rows = [f"{batch},640,{tpot}" for batch, tpot in ((1, 8), (8, 8.6), (32, 10.1), (64, 12.7))]
        table.write_text("batch,context,tpot_ms\n" + "\n".join(rows) + "\n")
        fitted = quietly(draftline.calibrate_served, table, engine="vllm", device="h100-sxm", transformer="llama-3.1-8b")
        self.assertTrue(fitted.to_dict()["name"].startswith("my-vllm"))
        fitted.save(self.folder / "mine.json")
        answer = quietly(draftline.run, question(engine=str(self.folder / "mine.json")))
        self.assertEqual(answer.points, 3)

    def test_calibrate_names_the_mistakes_of_a_measured_file(self):
        measured = self.folder / "measured.json"
        measured.write_text("{}")
        self.assertRaisesRegex(draftline.InputError, "measured.json", draftline.calibrate, measured)


class Package(unittest.TestCase):
    def test_a_schema_is_that_of_the_program(self):
        printed = python("-m", "draftline", "schema", "device")
        self.assertEqual(draftline.schema("device"), json.loads(printed.stdout))

    def test_python_m_draftline_is_the_program(self):
        answer = python("-m", "draftline", "run", "nowhere.json")
        self.assertEqual((answer.returncode, answer.stdout), (2, ""))
        self.assertIn("nowhere.json", answer.stderr)
        version = python("-m", "draftline", "--version").stdout
        self.assertEqual(version, f"draftline {draftline.__version__} ({draftline.__commit__})\n")

    def test_the_package_needs_no_file_outside_of_it(self):
        listed = python("-m", "draftline", "list", "devices", "--json", cwd="/").stdout
        self.assertIn("h100-sxm", listed)
        self.assertTrue(draftline.DATA.is_relative_to(PACKAGE))

    def test_an_import_takes_less_than_300_ms(self):
        timed = "import time; start = time.perf_counter(); import draftline; print(time.perf_counter() - start)"
        self.assertLess(min(float(python("-c", timed).stdout) for _ in range(5)), 0.3)

    def test_functions_name_their_options(self):
        for function in draftline.run, draftline.simulate, draftline.plan, draftline.advise, draftline.papers:
            for option in "seed", "jobs", "progress", "data":
                self.assertIn(option, inspect.signature(function).parameters)
            self.assertIs(typing.get_type_hints(function)["return"], draftline.Result)
        for function in draftline.check, draftline.calibrate, draftline.calibrate_served, draftline.decode:
            self.assertIn("return", typing.get_type_hints(function))

    def test_functions_have_types(self):
        self.assertTrue((PACKAGE / "py.typed").exists())
        from draftline import _core

        stub = (PACKAGE / "_core.pyi").read_text()
        for name in (name for name in dir(_core) if not name.startswith("_")):
            self.assertRegex(stub, rf"\b{name}\b")


class Examples(unittest.TestCase):
    def test_the_length_of_drafts_is_chosen_from_metrics(self):
        ran = python(TREE / "python" / "examples" / "choose_k.py")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(len(re.findall(r"batch +\d+: (?:k = [1-5]|off), requests \d", ran.stdout)), 4)
        self.assertIn("num_speculative_tokens", ran.stdout)

    def test_a_drafter_is_priced_against_eagle3(self):
        ran = python(TREE / "python" / "examples" / "price_a_drafter.py")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(len(re.findall(r"EAGLE-3 decodes \d\.\d\d times", ran.stdout)), 3)

    def test_the_sessions_of_the_recipe_show_what_python_prints(self):
        page = (TREE / "docs" / "recipes" / "python.md").read_text()
        sessions = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL)
        self.assertGreater(len(sessions), 1)
        before = ""
        for code, shown in sessions:
            before += code
            ran = python("-c", before, cwd=TREE)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            for line in shown.splitlines():
                self.assertIn(line, ran.stdout)


if __name__ == "__main__":
    unittest.main()
