# SPDX-License-Identifier: Apache-2.0
"""Mistakes are exceptions with their place, notes are warnings, and Ctrl-C ends long work."""

import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

import draftline
from program import question, quietly, served


class Mistakes(unittest.TestCase):
    def test_all_mistakes_are_raised_with_file_and_place(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "wrong.json"
            file.write_text('{"device": "h100-sxm", "transformer": "llama-3.1-8b", "batch_size": 0, "prompt_token": 5}')
            with self.assertRaises(draftline.InputError) as raised:
                draftline.run(file)
        places = {(m.file, m.pointer) for m in raised.exception.mistakes}
        self.assertIn((str(file), "/batch_size"), places)
        self.assertIn((str(file), "/prompt_token"), places)
        self.assertIn("must be at least 1", str(raised.exception))
        self.assertIsInstance(raised.exception, ValueError)
        self.assertEqual(pickle.loads(pickle.dumps(raised.exception)).messages, raised.exception.messages)

    def test_a_dictionary_is_named_scenario(self):
        with self.assertRaises(draftline.InputError) as raised:
            draftline.run(question(batch_size=0))
        self.assertEqual(raised.exception.mistakes[0][:2], ("scenario", "/batch_size"))

    def test_a_missing_file_and_an_unknown_paper_are_mistakes(self):
        with self.assertRaises(draftline.InputError) as raised:
            draftline.run("nowhere.json")
        self.assertEqual([m[:2] for m in raised.exception.mistakes], [("nowhere.json", "")])
        self.assertRaisesRegex(draftline.InputError, "^nobody: is none of ", draftline.papers, ["nobody"])
        self.assertRaisesRegex(KeyError, "is none of", draftline.scenario, "nothing")
        self.assertRaisesRegex(KeyError, "is none of", draftline.schema, "nothing")

    def test_points_of_which_none_fits_are_a_mistake(self):
        self.assertRaisesRegex(draftline.InputError, "no point can run", draftline.run, question(batch_size=60000))
        self.assertRaisesRegex(draftline.InputError, "has a \"workload\"", draftline.run, served(30))

    def test_the_place_of_a_mistake_is_told_from_its_text(self):
        expected = {"a b.json#/x/0: wrong: so": ("a b.json", "/x/0", "wrong: so"), "scenario: no": ("scenario", "", "no"),
                    "s.json: has 5 points": ("s.json", "", "has 5 points"), "x 0.5: no": ("", "", "x 0.5: no"),
                    "--tolerance: must be": ("", "", "--tolerance: must be")}
        self.assertEqual([tuple(m) for m in draftline.InputError(list(expected)).mistakes], list(expected.values()))

    def test_any_mapping_is_a_scenario(self):
        frozen = types.MappingProxyType(question(method=types.MappingProxyType({"name": "autoregressive"})))
        self.assertEqual(draftline.run(frozen).json, draftline.run(question(method={"name": "autoregressive"})).json)

    def test_a_name_cannot_steer_a_terminal(self):
        with self.assertRaises(draftline.InputError) as raised:
            draftline.run(question(device="\x1b[2Jh100"))
        self.assertNotIn("\x1b", str(raised.exception))

    def test_what_is_no_scenario_and_no_option_is_refused(self):
        self.assertRaises(TypeError, draftline.run, question(batch_size={1, 2}))
        self.assertRaises(ValueError, draftline.run, question(batch_size=float("nan")))
        self.assertRaisesRegex(TypeError, "argument 'thread'", draftline.run, question(), thread=2)
        self.assertRaises(ValueError, draftline.run, question(), jobs=0)
        self.assertRaises(ValueError, draftline.plan, served(30), max_devices=0)
        for headroom in (-0.1, 9.1, float("nan")):
            self.assertRaisesRegex(ValueError, "headroom: must be from 0 to 9", draftline.plan, served(30), headroom=headroom)
        self.assertRaises(TypeError, draftline.simulate, served(30), seed=-1)
        self.assertRaisesRegex(draftline.InputError, "the scenario has 3 points", draftline.run, question(), first_point=3)


class Notes(unittest.TestCase):
    def test_a_note_is_a_warning_at_the_callers_line(self):
        with self.assertWarnsRegex(draftline.DraftlineWarning, "there is no profile vllm-0.12") as warned:
            draftline.run(question(engine="vllm-0.12"))
        self.assertEqual(warned.filename, __file__)

    def test_a_warning_may_be_an_error(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", draftline.DraftlineWarning)
            self.assertRaises(draftline.DraftlineWarning, draftline.run, question(engine="vllm-0.12"))


class Progress(unittest.TestCase):
    def test_a_callback_sees_the_last_point(self):
        seen = []
        draftline.run(question(), progress=lambda done, of: seen.append((done, of)))
        self.assertEqual(seen[-1], (3, 3))
        seen.clear()
        draftline.papers(["s3d"], progress=lambda done, of: seen.append((done, of)))
        self.assertEqual(seen[-1], (1, 1))

    def test_what_a_callback_raises_ends_the_work(self):
        def fails(done, of):
            raise LookupError("enough")

        start = time.monotonic()
        self.assertRaisesRegex(LookupError, "enough", draftline.simulate, served(2_000_000), progress=fails)
        self.assertLess(time.monotonic() - start, 20)


    def test_a_bar_needs_tqdm(self):
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            self.assertRaisesRegex(ImportError, "pip install tqdm", draftline.run, question(), progress=True)


class Interrupts(unittest.TestCase):
    def interrupted(self, ask, *arguments, **options):
        timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            ask(*arguments, **options)
        timer.join()
        return time.monotonic() - start

    def test_ctrl_c_ends_a_simulation(self):
        for jobs in 1, 2:  # a simulation of two million requests takes ten times as long
            self.assertLess(self.interrupted(draftline.simulate, served(2_000_000), jobs=jobs), 5)
        self.assertEqual(draftline.run(question()).points, 3)  # and the next question is answered

    def test_ctrl_c_ends_a_sweep(self):
        many = question(batch_size=list(range(1, 400)), prompt_tokens=list(range(100, 2000)))
        self.assertLess(self.interrupted(draftline.run, many), 5)

    def test_ctrl_c_ends_a_verb_in_a_process_of_its_own(self):
        network = Path(__file__).resolve().parents[1] / "fixtures" / "llama"
        self.assertLess(self.interrupted(draftline.decode, network, [[1, 2, 3]], new_tokens=200_000), 5)

    def test_other_threads_run_meanwhile(self):
        counted = []
        stop = threading.Event()

        def count():
            while not stop.wait(0.005):
                counted.append(1)

        counting = threading.Thread(target=count)
        counting.start()
        quietly(draftline.simulate, served(5_000))
        stop.set()
        counting.join()
        self.assertGreater(len(counted), 5)  # with the lock held it would count once at most

    def test_threads_may_ask_at_once(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(draftline.run(question()).json)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 4)
        self.assertEqual(len(set(answers)), 1)


if __name__ == "__main__":
    unittest.main()
