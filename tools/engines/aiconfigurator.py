# SPDX-License-Identifier: Apache-2.0
"""The servers of aiconfigurator's own rows, as its generator sets them up (aiconfigurator 0.5 and 0.6,
generator/rule_plugin/{vllm,trtllm,sglang}.rule; benchmark/bench_run.sh.j2 of 0.8 has the client)."""


def options(row, sequences, _groups=1):
    """Keys of a scenario for a row with so many requests at a time: `max_num_tokens` is the batch, the prompt and 1500.

    SGLang's max_prefill_tokens is the prompt and 1500, which its servers raise to the context length."""
    if row["mode"] != "agg" or row["backend"] == "sglang":
        return {}
    return {"scheduler": {"max_num_batched_tokens": sequences + int(row["isl"]) + 1500, "max_num_seqs": sequences}}


def fp8_cache(row):
    """Whether the servers keep keys and values in 8 bits: wherever they multiply in 8 or 4 bits (sdk/task.py)."""
    return row["gemm_quant_mode"] not in ("", "int4_wo")
