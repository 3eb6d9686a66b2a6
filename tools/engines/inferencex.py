# SPDX-License-Identifier: Apache-2.0
"""The servers of InferenceX's rows, as its scripts start them (SemiAnalysisAI/InferenceX at 843c625, benchmarks/ and
benchmarks/single_node/, each script as of the row's date): options that change how steps run or prompts wait."""
import csv
import functools
import re
from pathlib import Path

WARM_UP = "2026-01-21"  # d053ae2: from here on 2 requests per sequence are served before the measured ones


def date(row):
    measured = re.search(r"measured=(\d{4}-\d\d-\d\d)", row["silicon_data_source"])
    return measured[1] if measured else "2026-03-01"  # rows without a date repeat some of that month


def warmed_up(row):
    return date(row) >= WARM_UP


def vllm(row, network, tokens, sequences):
    if network.startswith("Llama-3.1-70B"):  # 70b_fp8_b200_docker.sh, 70b_fp4_b200_docker.sh, 70b_fp8_h200_slurm.sh
        if row["system"] == "b200_sxm":
            return {"cudagraph_mode": "FULL_DECODE_ONLY",
                    "scheduler": {"max_num_batched_tokens": 8192, "max_num_seqs": 512}}
        return {"scheduler": {"max_num_batched_tokens": 8192, "max_num_seqs": sequences}}
    if network == "gpt-oss-120b":  # gptoss_fp4_b200_docker.sh, gptoss_fp4_b200.sh
        return {"max_cudagraph_capture_size": 2048, "scheduler": {"max_num_batched_tokens": 8192, "max_num_seqs": 512}}
    wide = {"max_cudagraph_capture_size": 2048, "scheduler": {"max_num_batched_tokens": 2 * tokens}}
    if network == "MiniMax-M2.5":
        if row["system"] == "h200_sxm":  # minimaxm2.5_fp8_h200.sh asks for experts in parallel from one rank on
            return {"expert_parallel": True}
        if row["system"] == "h100_sxm":  # minimaxm2.5_fp8_h100.sh
            return {"cudagraph_mode": "PIECEWISE", "scheduler": {"max_num_seqs": 256}}
        if row["system"] == "b200_sxm" and date(row) < "2026-04-03":  # bddbf40; before with Triton's experts
            return {"expert_parallel": True, "moe_backend": "triton"}
        return dict(wide, tf32=True) if date(row) >= "2026-04-21" else wide  # 41ed82d, 13962fc
    if network.startswith("Kimi"):  # kimik2.5_fp4_b200.sh, 6c3aceb; kimik2.5_int4_b200.sh, kimik2.5_int4_h200.sh
        if row["gemm_quant_mode"] == "nvfp4" and row["system"] == "b200_sxm" and date(row) >= "2026-04-20":
            return dict(wide, scheduler=dict(wide["scheduler"], max_num_seqs=sequences))
        return {"scheduler": {"max_num_seqs": sequences}}
    return {}


def sglang(row, network, sequences):
    if network.startswith("GLM-5"):  # glm5_fp8_h200.sh has no such options
        if row["system"] == "h200_sxm":
            return {}
        wait = {"scheduler_recv_interval": 10} if row["gemm_quant_mode"] == "nvfp4" else {"max_num_seqs": sequences}
        return {"scheduler": {"max_num_batched_tokens": 32768, **wait}}
    interval = 30 if sequences >= 16 else 10
    if network.startswith("Qwen3.5"):  # qwen3.5_fp8_h200.sh; qwen3.5_{bf16,fp8,fp4}_b200.sh
        if row["system"] == "h200_sxm":
            return {"scheduler": {"max_num_batched_tokens": 16384, "max_num_seqs": 128}}
        return {"scheduler": {"scheduler_recv_interval": interval, "max_num_batched_tokens": 32768}}
    if not network.startswith("DeepSeek"):
        return {}
    if row["system"] == "h200_sxm":  # dsr1_fp8_h200.sh
        short = row["isl"] == row["osl"]
        return {"scheduler": {"max_num_batched_tokens": 32768, "max_num_seqs": 512 if short else 256}}
    if row["gemm_quant_mode"] == "nvfp4":  # dsr1_fp4_b200_docker.sh, dsr1_fp4_b200.sh
        return {"scheduler": {"scheduler_recv_interval": interval, "max_num_batched_tokens": 16384,
                              "max_num_seqs": 256}}
    if row["tp_size"] == "4":  # dsr1_fp8_b200.sh
        return {"gpu_memory_utilization": 0.95,
                "scheduler": {"scheduler_recv_interval": 10, "max_num_batched_tokens": 8192, "max_num_seqs": 32}}
    return {"scheduler": {"scheduler_recv_interval": interval, "max_num_batched_tokens": 32768, "max_num_seqs": 128}}


def tensorrt_llm(row, network, tokens, sequences, groups):
    if network.startswith("Llama-3.1-70B"):  # 70b_{fp8,fp4}_b200_trt_docker.sh, 70b_fp8_h200_trt_slurm.sh
        scheduler = {"max_num_batched_tokens": 16384}
        if row["isl"] == row["osl"] == "1024" and int(row["tp_size"]) < 8:
            scheduler.update(batch_wait_timeout_iters=20, batch_wait_max_tokens_ratio=0.9)
        return {"scheduler": scheduler}
    if network == "gpt-oss-120b":  # gptoss_fp4_b200_trt_slurm.sh; 50 is the default
        balance = {"attention_dp_timeout_iters": 50} if groups > 1 else {}
        return {"scheduler": {"max_num_batched_tokens": 20000, "max_num_seqs": 512, **balance}}
    if network.startswith("DeepSeek"):  # dsr1_fp8_b200_trt_slurm.sh and its kin; at least 8192 from 64af5a7 on
        tokens = -(-(sequences + tokens + 64) // 64) * 64
        balance = {"attention_dp_timeout_iters": 60} if groups > 1 else {}
        return {"scheduler": {"max_num_batched_tokens": max(tokens, 8192) if warmed_up(row) else tokens, **balance}}
    return {}


@functools.cache
def _table(name):
    with Path(__file__).with_name(name).open(newline="") as file:
        return list(csv.DictReader(file))


def _asked(row):
    return {"network": row["model_path"].split("/")[-1], "backend": row["backend"],
            "system": row["system"].split("_")[0], "format": row["gemm_quant_mode"], "prompt": row["isl"],
            "output": row["osl"]}


def has_mtp(row):
    """Whether the server of a row drafted: before May 2026 only qwen3.5-fp8-b200-sglang-mtp had four B200s whose
    experts are not in parallel."""
    asked = row["system"], row["gemm_quant_mode"], row["tp_size"], row["moe_ep_size"]
    return (row["model_path"].endswith("Qwen3.5-397B-A17B") and asked == ("b200_sxm", "fp8", "4", "1")
            and date(row) < "2026-04-30")


def division(row, devices, groups, experts, sequences):
    """How the server of a row divides its network: devices, groups of attention, groups of experts.

    Rows of a server with "tp: 4, ep: 4" may give 16 devices, the product, or four groups of attention; rows of 2025 have
    neither. The configurations (configs/nvidia-master.yaml, November 2025 to April 2026, plain decoding) have them."""
    apart = groups > 1
    if row["backend"] == "vllm" and apart and experts == devices:
        devices //= groups
        groups, experts = 1, devices
    elif experts > 1 and devices == experts ** 2:
        devices, groups = experts, experts if apart else 1
    found = [d for d in _table("inferencex_divisions.csv")
             if _asked(row).items() <= d.items() and int(d["devices"]) == devices
             and int(d["least"]) <= sequences <= int(d["most"]) and d["from"] <= date(row) <= d["until"]]
    if not found:
        return devices, groups, experts
    newest = max(found, key=lambda d: d["from"])
    return devices, int(newest["attention"]), int(newest["experts"])


def separate_servers(row, sequences):
    """A row that lacks numbers of servers, with those of the configuration that had so many requests at a time
    (configs/nvidia-master.yaml, October 2025 to July 2026, plain decoding); None if there is no such configuration.
    The table leaves out what a row may have had with MTP as well."""
    asked = dict(_asked(row), concurrency=str(sequences), prefill_tp=row["prefill_tp_size"],
                 decode_tp=row["decode_tp_size"])
    found = [s for s in _table("inferencex_servers.csv") if asked.items() <= s.items()]
    if not found:
        return None
    known = dict(row)
    for role in ("prefill", "decode"):
        servers, devices, experts, groups = (found[0][f"{role}_{key}"] for key in ("servers", "tp", "ep", "dp"))
        known.update({f"{role}_num_workers": servers, f"{role}_attention_dp_size": groups,
                      f"{role}_moe_ep_size": experts, f"{role}_tp_size": str(int(devices) // int(groups))})
    return known


def fp8_cache(row, network):
    """Whether the script asks for keys and values in fp8 (--kv-cache-dtype)."""
    backend, system, weights = row["backend"], row["system"], row["gemm_quant_mode"]
    if network.startswith("minimax"):  # minimaxm2.5_fp4_b200.sh; minimaxm2.5_fp8_b200.sh from bddbf40 on
        return system == "b200_sxm" and (weights == "nvfp4" or date(row) >= "2026-04-03")
    if network == "gpt-oss-120b":  # gptoss_fp4_b200_docker.sh, gptoss_fp4_b200.sh
        return backend == "vllm" and system == "b200_sxm"
    if network.startswith("glm"):  # glm5_fp8_b200.sh, glm5_fp4_b200.sh
        return system == "b200_sxm"
    return network.startswith("qwen3.5") and weights != ""  # qwen3.5_{fp8,fp4}_b200.sh, qwen3.5_fp8_h200.sh


def options(row, sequences, groups=1):
    """Keys of a scenario for a row with so many requests at a time and groups of attention."""
    network, tokens = row["model_path"].split("/")[-1], int(row["isl"])
    if row["mode"] != "agg":
        return {}
    if row["backend"] == "vllm":
        return vllm(row, network, tokens, sequences)
    if row["backend"] == "sglang":
        return sglang(row, network, sequences)
    return tensorrt_llm(row, network, tokens, sequences, groups)
