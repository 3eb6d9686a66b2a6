# SPDX-License-Identifier: Apache-2.0
"""Drafters by name. Each is a module with loss(batch), which gives the loss and the shares of right drafts by position,
and save(folder), which writes what the decoder loads."""
import clover
import dflash
import draft_network
import eagle
import eagle3
import hydra
import kangaroo
import medusa
import mtp
import p_eagle
import specformer
import tuned

METHODS = {
    "medusa": medusa.Medusa,
    "eagle1": eagle.Eagle,
    "hass": eagle.Hass,
    "eagle3": eagle3.Eagle3,
    "p_eagle": p_eagle.PEagle,
    "dflash": dflash.DFlash,
    "hydra_plus": hydra.HydraPlus,
    "mtp_heads": mtp.Heads,
    "mtp_sequential": mtp.Sequential,
    "kangaroo": kangaroo.Kangaroo,
    "clover": clover.Clover,
    "clover-without-attention_decoder": clover.WithoutAttentionDecoder,
    "clover-without-regressive_connection": clover.WithoutRegressiveConnection,
    "clover-without-augmenting_block": clover.WithoutAugmentingBlock,
    "specformer": specformer.SpecFormer,
    "specformer-without-positional_ffn": specformer.WithoutPositionalFfn,
    "specformer-causal": specformer.Causal,
    "layerskip": tuned.LayerSkip,
    "s3d": tuned.S3d,
    "space": tuned.Space,
    "cllm": tuned.Cllm,
    "draft_model": draft_network.DraftNetwork,
}
