#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""served_rows.py states rows of InferenceX with the options of their servers, and the program reads each of them."""
import csv
import functools
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

        own = dict(row("trtllm", "Qwen3-32B", "h100_sxm", "2026-03-01"),
                   silicon_data_source="source_file=/a/h100_sxm/trtllm/1.0.0rc3/Qwen_Qwen3-32B.csv")
        self.assertEqual(served_rows.precision(own, "qwen3-32b"), {"weights": "fp8-block", "kv_cache": "fp8"})
        own["gemm_quant_mode"] = ""
        self.assertEqual(served_rows.precision(own, "qwen3-32b"), {"weights": "bf16"})

    def test_divisions_are_those_of_the_configuration(self):
        def division(backend, network, date, tp, dp, ep, *, batch, quantised="fp8", system="b200_sxm"):
            values = dict(row(backend, network, system, date, tp, quantised, osl=1024), attention_dp_size=str(dp),
                          moe_ep_size=str(ep), batch_size=str(batch))
            scenario, why = served_rows.setting(values, {})
            return why or tuple(scenario.get(key, 1) for key in ("tensor_parallel", "data_parallel_attention",
                                                                 "expert_parallel"))

        qwen = "Qwen3.5-397B-A17B"
        self.assertEqual(division("sglang", qwen, "2026-03-24", 16, 1, 4, batch=16), (4, 1, True))  # the product
        self.assertEqual(division("sglang", qwen, "2026-03-24", 4, 1, 4, batch=16), (4, 1, True))
        self.assertEqual(division("sglang", qwen, "2026-03-24", 8, 1, 1, batch=4), (8, 1, 1))
        self.assertEqual(division("sglang", qwen, "2026-03-20", 4, 1, 1, batch=4),
                         "only a server with MTP was configured so")
        kimi = functools.partial(division, "vllm", "Kimi-K2.5", quantised="nvfp4")
        self.assertEqual(kimi("2026-03-27", 4, 4, 16, batch=1), (4, 1, True))
        deepseek = functools.partial(division, "trtllm", "DeepSeek-V3", quantised="nvfp4")
        self.assertEqual(deepseek("2026-02-03", 1, 64, 8, batch=4), (8, 8, True))
        self.assertEqual(deepseek("2025-11-02", 8, 1, 1, batch=64), (8, 1, True))  # which the row does not say
        self.assertEqual(deepseek("2025-11-02", 8, 1, 1, batch=256), (8, 8, True))
        self.assertEqual(deepseek("2025-11-02", 8, 1, 1, batch=8), (8, 1, 1))

    def test_ranks_wait_for_prompts_with_attention_in_data_parallel(self):
        waits = [inferencex.options(row("trtllm", "DeepSeek-V3", "b200_sxm", "2026-02-03"), 64, groups)["scheduler"]
                 .get("attention_dp_timeout_iters") for groups in (1, 8)]
        self.assertEqual(waits, [None, 60])

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
