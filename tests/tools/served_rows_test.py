#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""served_rows.py states rows of InferenceX with the options of their servers, and the program reads each of them."""
import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "engines"
sys.path.insert(0, str(TOOLS))
import aiconfigurator  # noqa: E402
import inferencex  # noqa: E402
import served_rows  # noqa: E402

PROGRAM = sys.argv.pop()
KEYS = ["silicon_data_source", "backend", "backend_version", "model_path", "system", "mode", "isl", "osl",
        "gemm_quant_mode", "moe_quant_mode", "batch_size", "tp_size", "pp_size", "attention_dp_size", "moe_ep_size",
        "silicon_ttft_ms", "silicon_tpot_ms"]


def row(backend, network, system, date, tp=8, quantised="fp8", isl=1024, osl=64):
    values = dict.fromkeys(KEYS, "1")
    values.update(silicon_data_source=f"source_file=2026-04.csv; measured={date}T00:00:00Z; wip=False", backend=backend,
                  backend_version="", model_path="acme/" + network, system=system, mode="agg", isl=str(isl),
                  osl=str(osl), gemm_quant_mode=quantised, moe_quant_mode=quantised, batch_size="4", tp_size=str(tp))
    return values


ROWS = [row("vllm", "Llama-3.1-70B", "b200_sxm", "2025-10-11", tp=1),
        row("vllm", "Llama-3.1-70B", "h200_sxm", "2025-10-11"),
        row("vllm", "gpt-oss-120b", "b200_sxm", "2026-02-01", quantised="nvfp4"),
        row("vllm", "MiniMax-M2.5", "h100_sxm", "2026-03-27"), row("vllm", "MiniMax-M2.5", "h200_sxm", "2026-03-27"),
        row("vllm", "MiniMax-M2.5", "b200_sxm", "2026-03-27"), row("vllm", "MiniMax-M2.5", "b200_sxm", "2026-04-08"),
        row("vllm", "Kimi-K2.5", "b200_sxm", "2026-04-20", quantised="nvfp4"),
        row("sglang", "GLM-5", "b200_sxm", "2026-03-20"), row("sglang", "DeepSeek-V3", "h200_sxm", "2026-03-20"),
        row("sglang", "DeepSeek-V3", "b200_sxm", "2026-03-20"),
        row("sglang", "DeepSeek-V3", "b200_sxm", "2025-11-20", quantised="nvfp4"),
        row("sglang", "Qwen3.5-397B-A17B", "b200_sxm", "2026-03-20"),
        row("trtllm", "Llama-3.1-70B", "h200_sxm", "2025-10-11", tp=1, osl=1024),
        row("trtllm", "gpt-oss-120b", "b200_sxm", "2026-01-30", quantised="nvfp4"),
        row("trtllm", "DeepSeek-V3", "b200_sxm", "2026-01-30")]


class ServedRows(unittest.TestCase):
    def test_the_program_reads_every_option(self):
        self.assertEqual(sum(not inferencex.options(r, 4) for r in ROWS), 0)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.csv")
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, KEYS)
                writer.writeheader()
                writer.writerows(ROWS)
            done = subprocess.run([sys.executable, str(TOOLS / "served_rows.py"), str(path), "--program", PROGRAM],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{len(ROWS)} rows predicted, 0 not", done.stdout)

    def test_options_are_those_of_the_script_at_the_time(self):
        march, april = (inferencex.options(row("vllm", "MiniMax-M2.5", "b200_sxm", date), 4)
                        for date in ("2026-03-27", "2026-04-08"))
        self.assertEqual(march, {"expert_parallel": True, "moe_backend": "triton"})
        self.assertEqual(april["max_cudagraph_capture_size"], 2048)
        waits = [inferencex.options(row("trtllm", "Llama-3.1-70B", "b200_sxm", "2025-10-11", tp, osl=osl), 4)
                 ["scheduler"] for tp, osl in ((4, 1024), (8, 1024), (4, 8192))]
        self.assertEqual(["batch_wait_timeout_iters" in w for w in waits], [True, False, False])
        self.assertTrue(inferencex.warmed_up(ROWS[2]) and not inferencex.warmed_up(ROWS[0]))

    def test_own_rows_have_the_budget_of_the_generator(self):
        for backend in ("vllm", "trtllm"):
            limits = aiconfigurator.options(row(backend, "Qwen3-32B", "h100_sxm", "2026-03-01"), 8)["scheduler"]
            self.assertEqual(limits, {"max_num_batched_tokens": 8 + 1024 + 1500, "max_num_seqs": 8})
        self.assertEqual(aiconfigurator.options(row("sglang", "Qwen3-32B", "h100_sxm", "2026-03-01"), 8), {})

    def test_formats_are_those_of_the_checkpoints(self):
        def formats(name, network, system, date="2026-04-08", quantised="fp8", backend="vllm"):
            return served_rows.precision(row(backend, name, system, date, quantised=quantised), network)

        self.assertEqual(formats("MiniMax-M2.5", "minimax-m2", "h200_sxm"), {"weights": "fp8-block"})
        self.assertEqual(formats("MiniMax-M2.5", "minimax-m2", "b200_sxm"), {"weights": "fp8-block", "kv_cache": "fp8"})
        self.assertEqual(formats("MiniMax-M2.5", "minimax-m2", "b200_sxm", "2026-03-27"), {"weights": "fp8-block"})
        self.assertEqual(formats("MiniMax-M2.5", "minimax-m2", "b200_sxm", quantised="nvfp4"),
                         {"weights": "bf16", "experts": "nvfp4", "kv_cache": "fp8"})
        self.assertEqual(formats("Llama-3.1-70B", "llama-3.1-70b", "h200_sxm"),
                         {"weights": "fp8-static", "kv_cache": "fp8"})

    def test_separate_servers_are_those_of_the_configuration(self):
        def stated(concurrency):
            values = dict(row("trtllm", "GLM-5", "gb200", "2026-04-02", quantised="nvfp4", isl=8192, osl=1024),
                          mode="disagg", decode_num_workers="", prefill_tp_size="4", decode_tp_size="32")
            values["silicon_data_source"] = f"source_file=2026-03-25.csv; silicon_concurrency={concurrency}"
            return served_rows.setting(values, {})

        scenario, _ = stated(1229)
        self.assertEqual((scenario["tensor_parallel"], scenario["data_parallel_attention"], scenario["replicas"]),
                         (32, 32, 1))
        self.assertEqual(scenario["expert_exchange"], "all_to_all")
        self.assertEqual(scenario["disaggregation"],
                         {"prefill_replicas": 6, "bandwidth": "50 GB/s", "tensor_parallel": 4,
                          "data_parallel_attention": 4, "expert_parallel": 4})
        self.assertEqual(stated(1230), (None, "the numbers of servers for prompts and for decoding are not given"))


if __name__ == "__main__":
    unittest.main()
