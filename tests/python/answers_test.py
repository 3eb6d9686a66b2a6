# SPDX-License-Identifier: Apache-2.0
"""Answers equal the program's, byte for byte."""

import json
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import draftline
from program import SCENARIOS, program, question, quietly, served


class Answers(unittest.TestCase):
    def assert_as_printed(self, document, *arguments):
        printed = program(*arguments, "--json")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertTrue(document.json == printed.stdout, arguments)

    def test_every_scenario_is_answered_as_the_program_answers_it(self):
        self.assertGreater(len(draftline.scenarios()), 15)
        for name in draftline.scenarios():
            served = "workload" in draftline.scenario(name)
            ask = draftline.simulate if served else draftline.run
            with self.subTest(name):
                self.assert_as_printed(quietly(ask, name), ask.__name__, str(SCENARIOS / f"{name}.json"))

    def test_plan_advise_and_papers_answer_as_the_program_does(self):
        plan = quietly(draftline.plan, "cheapest_fleet", max_devices=8, seed=3)
        self.assert_as_printed(plan, "plan", str(SCENARIOS / "cheapest_fleet.json"), "--max-devices", "8", "--seed", "3")
        plan = quietly(draftline.plan, "cheapest_fleet", headroom=0.5)
        self.assert_as_printed(plan, "plan", str(SCENARIOS / "cheapest_fleet.json"), "--headroom", "50%")
        advice = quietly(draftline.advise, "native_mtp", load=False)
        self.assert_as_printed(advice, "advise", str(SCENARIOS / "native_mtp.json"), "--no-load")
        self.assert_as_printed(draftline.papers(["s3d"]), "papers", "s3d")

    def test_options_are_those_of_the_program(self):
        file = SCENARIOS / "when_to_switch_off.json"
        explained = draftline.run(file, explain=True, first_point=20)
        self.assert_as_printed(explained, "run", str(file), "--explain", "--from", "20")
        file = SCENARIOS / "draft_policy.json"
        bare = quietly(draftline.simulate, file, oracle=False, intervals=False, seed=7)
        self.assert_as_printed(bare, "simulate", str(file), "--no-oracle", "--no-intervals", "--seed", "7")

    def test_the_answer_depends_neither_on_threads_nor_on_the_form_of_the_scenario(self):
        one = draftline.run(question(batch_size=[1, 8, 64])).json
        self.assertTrue(draftline.run(question(batch_size=[1, 8, 64]), jobs=3).json == one)
        self.assertTrue(draftline.run(json.dumps(question(batch_size=[1, 8, 64]))).json == one)
        self.assertEqual(len(json.loads(one)["results"]), 9)

    def test_pages_and_tables_are_the_programs(self):
        file = SCENARIOS / "when_to_switch_off.json"
        result = draftline.run(file)
        self.assertEqual(result.html(), program("run", str(file), "--html").stdout)
        self.assertEqual(result.csv(), program("run", str(file), "--csv").stdout)
        self.assertEqual(result.text(120), program("run", str(file)).stdout)
        self.assertIn("eagle3", str(result))
        self.assertIn("<svg", result.html())
        self.assertTrue(result._repr_html_().startswith("<iframe srcdoc="))
        self.assertNotIn("<svg", result._repr_html_())  # escaped inside the attribute

    def test_a_page_of_a_single_simulation_has_its_load_over_time(self):
        with tempfile.TemporaryDirectory() as folder:
            one = served(40, method={"name": "autoregressive"})
            file = Path(folder) / "s.json"
            file.write_text(json.dumps(one))
            page = quietly(draftline.simulate, file).html()
            self.assertIn("Over time", page)
            self.assertEqual(page, program("simulate", str(file), "--html").stdout)

    def test_a_verdict_is_a_sentence(self):
        printed = program("advise", str(SCENARIOS / "when_to_switch_off.json"), "--no-load").stdout.splitlines()
        verdict = draftline.run("when_to_switch_off").verdict
        self.assertEqual(verdict, printed[1] + " " + printed[2])
        self.assertEqual(draftline.advise("when_to_switch_off", load=False).verdict, verdict)
        self.assertRegex(quietly(draftline.plan, "cheapest_fleet").verdict, r"^Recommended: \d+ x ")
        self.assertIsNone(draftline.papers(["s3d"]).verdict)

    def test_a_verdict_has_a_line_for_each_setup_and_workload(self):
        setups = draftline.advise(question(tensor_parallel=[1, 2]), load=False).verdict.splitlines()
        self.assertEqual(len(setups), 2)
        self.assertRegex(setups[0], r"^On (2 x )?h100-sxm, .*: [A-Z]")
        self.assertNotEqual(setups[0].split(": ")[0], setups[1].split(": ")[0])
        loads = served(30, question="Which fleet?")
        loads["workload"]["arrivals"]["rate"] = ["2 /s", "4 /s"]
        verdicts = quietly(draftline.plan, loads, max_devices=8).verdict.splitlines()
        self.assertEqual(len(verdicts), 2)
        for verdict, rate in zip(verdicts, ("2 /s", "4 /s")):
            self.assertRegex(verdict, rf"^Recommended: \d+ x .*rate {rate}")

    def test_a_verdict_of_run_repeats_no_warning_and_keeps_the_options(self):
        with warnings.catch_warnings(record=True) as all_of_them:
            warnings.simplefilter("always")
            result = draftline.run(question(engine="vllm-0.12"), jobs=2, seed=3)
            self.assertEqual(len(all_of_them), 1)
            asked = []
            ask = draftline._questions._core.ask

            def spy(question, data, jobs, *rest):
                asked.append((question.verb, question.seed, jobs))
                return ask(question, data, jobs, *rest)

            with mock.patch.object(draftline._questions._core, "ask", spy):
                self.assertTrue(result.verdict)
            self.assertEqual(asked, [("advise", 3, 2)])
            self.assertEqual(len(all_of_them), 1)

    def test_a_plan_without_a_fleet_is_missed(self):
        slow = served(30)
        slow["slo"] = {"ttft_p99": "1 us"}
        self.assertTrue(quietly(draftline.plan, slow, max_devices=1).missed)
        self.assertFalse(quietly(draftline.plan, served(30), max_devices=2).missed)

    def test_columns_of_a_frame_have_units(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.assertRaisesRegex(ImportError, "needs pandas", draftline.run(question()).to_pandas)
            self.skipTest("pandas is not installed")
        result = draftline.run(question(batch_size=[1, 2]))
        frame = result.to_pandas()
        self.assertEqual(frame.shape[0], 6)
        first = result.to_dict()["results"][0]
        self.assertEqual(frame["step_time"][0], first["step_time"]["value"])
        self.assertEqual(frame["step_time.high"][0], first["step_time"]["high"])
        self.assertEqual(frame["breakdown.verify"][0], first["breakdown"]["verify"]["value"])
        self.assertEqual(frame.attrs["units"]["step_time"], "s")
        self.assertEqual(frame.attrs["kinds"]["throughput"], "predicted")
        self.assertEqual(list(frame["method"]), ["autoregressive"] * 2 + ["eagle3"] * 4)
        advice = draftline.advise(question(batch_size=[1, 2]), load=False).to_pandas()
        self.assertEqual(sorted(set(advice["batch_size"])), [1, 2])
        self.assertGreater(len(draftline.papers(["s3d"]).to_pandas()), 10)


if __name__ == "__main__":
    unittest.main()
