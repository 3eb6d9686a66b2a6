// SPDX-License-Identifier: Apache-2.0
// A folder of kernel tables as people have it: gzipped or not, of tensor-parallel runs, with tables that nothing is
// fitted to. Every row is used, or left out for a reason that is said.
#include "model/calibration/table_folder.h"

#include <algorithm>
#include <fstream>

#include "core/gzip.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

class Folder {
 public:
  const Folder& with(const std::string& file, const std::string& bytes) const {
    std::ofstream(folder_.path() / file, std::ios::binary) << bytes;
    return *this;
  }
  KernelTables read(const Device& d = known_device("h100-sxm"), std::optional<TransformerShape> of_a_rank = {}) const {
    const EngineLinks rules = known_engine("vllm-0.19").links;
    return read_kernel_tables(folder_.path(), {d, rules, std::move(of_a_rank)});
  }
  std::string mistake() const {
    return mistake_of([&] { read(); });
  }

 private:
  FreshFolder folder_;
};

TransformerShape llama_8b() {
  return read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/transformers/llama-3.1-8b.json",
                   read_transformer);
}

const std::string kGemm = "gemm_dtype,m,n,k,latency\nbfloat16,16,4096,1024,0.5\nfloat16,1,4096,4096,0.5\n";
const std::string kAttention =
    "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,tp_size,kv_cache_dtype,step,latency\n";

// "nccl.csv: 3 of 7" and a line for each reason.
std::string told(const KernelTables& all, const std::string& table) {
  for (const TableRows& t : all.tables) {
    if (t.table != table) continue;
    std::string text = std::to_string(t.used()) + " of " + std::to_string(t.rows);
    for (const auto& [why, rows] : t.excluded.reasons()) text += "; " + std::to_string(rows) + " " + why;
    return text;
  }
  return "no such table";
}

}  // namespace

TEST_CASE("a table's bytes say whether it is gzipped, its name says what it has") {
  const auto [name, packed] = GENERATE(table<std::string, bool>({{"gemm.csv", false},
                                                                 {"gemm.csv", true},
                                                                 {"gemm.csv.gz", false},
                                                                 {"gemm.csv.gz", true},
                                                                 {"gemm_perf.txt", false},
                                                                 {"gemm_perf.csv.gz", true}}));
  const KernelTables all = Folder().with(name, packed ? gzip(kGemm) : kGemm).read();
  CHECK(all.times.gemms.size() == 2);  // of either format of 16 bits
  CHECK(told(all, name) == "2 of 2");
  CHECK(all.files.size() == 1);
}

TEST_CASE("what is no folder of tables is told with what would be one") {
  CHECK(contains(Folder().mistake(), "has none of the tables that are known: gemm, generation_attention, "));
  CHECK(contains(Folder().with("gemm.csv", kGemm).with("gemm_perf.txt", kGemm).mistake(),
                 "gemm.csv and gemm_perf.txt are both tables of gemm"));
  const std::string parquet = Folder().with("gemm_perf.parquet", "PAR1\x15\x04").mistake();
  CHECK(contains(parquet, "gemm_perf.parquet: is a Parquet file"));
  CHECK(contains(parquet, "pandas.read_parquet('TABLE.parquet').to_csv('TABLE.csv', index=False)"));
  CHECK(
      contains(Folder().with("gemm.csv.gz", gzip(kGemm).substr(0, 30)).mistake(), "gemm.csv.gz: is a truncated gzip"));
  CHECK(contains(Folder().with("gemm.csv", "gemm_dtype,m,n,k,latency\nbfloat16,16,4096,1024,0\n").mistake(),
                 "gemm.csv:2: a latency must be above 0"));
}

TEST_CASE("a table that nothing is fitted to is named with its rows, not skipped in silence") {
  const KernelTables all =
      Folder()
          .with("gemm.csv", kGemm)
          .with("gdn.csv.gz", gzip("kernel_source,batch_size,seq_len,d_conv,num_k_heads,head_k_dim,num_v_heads,"
                                   "head_v_dim,latency\ncausal_conv1d_fn,1,8,4,2,128,4,128,0.002\n"))
          .with("mine.csv", "a\n1\n2\n3\n")
          .with("generation_mla.parquet", "PAR1")
          .with("datasheet.yaml", "no table")
          .with("notes.txt", "nor is this")
          .read();
  CHECK(told(all, "gdn.csv.gz") ==
        "0 of 1; 1 a convolution of prompts below 16 tokens, for which the kernel takes another way");
  CHECK(contains(told(all, "mine.csv"), "0 of 3; 3 none of the tables that are known: gemm, "));
  CHECK(all.tables.size() == 4);
  const auto unread = std::find_if(all.tables.begin(), all.tables.end(),
                                   [](const TableRows& t) { return t.table == "generation_mla.parquet"; });
  REQUIRE(unread != all.tables.end());
  CHECK(contains(unread->unread, "latent attention whose "));
}

TEST_CASE("attention of a tensor-parallel run has one rank's heads, whatever the group") {
  const KernelTables all =
      Folder()
          .with("generation_attention.csv", kAttention +
                                                "vllm_flash_attn_fa3,2,1,8,2,128,4,bfloat16,99,0.02\n"
                                                "flash_attention_3,2,1,8,2,128,4,float16,99,0.02\n"
                                                "my_kernel,2,1,8,2,128,4,bfloat16,99,0.02\n")
          .with("context_attention.csv", kAttention +
                                             "vllm_flash_attn_fa3,2,64,8,2,128,4,fp8,0,0.02\n"
                                             "vllm_flash_attn_fa3,2,64,8,2,128,4,bfloat16,512,0.02\n"
                                             "vllm_flash_attn_fa3,2,64,8,2,64,4,fp8,0,0.02\n"
                                             "vllm_flash_attn_fa3,2,64,8,2,128,4,int4,0,0.02\n"
                                             "vllm_flash_attn_fa3,2,1,8,2,128,4,fp8,0,0.02\n")
          .read();
  REQUIRE(all.times.attention.size() == 4);
  for (const AttentionPoint& p : all.times.attention) {
    CHECK(p.heads == 8);
    CHECK(p.kv_heads == 2);
    CHECK(p.library == "flash_attention_3");
  }
  CHECK(all.times.attention[0].context == 99);
  CHECK(all.times.attention[3].context == 512);  // a chunk of a prompt, behind another
  CHECK(told(all, "generation_attention.csv") == "2 of 3; 1 my_kernel, a library whose kernels are not modelled");
  CHECK(told(all, "context_attention.csv") ==
        "2 of 5; 1 heads of other than 128 columns, priced by the fits of 128; 1 a cache of int4, which has no fit; "
        "1 prompts of one token, which a library sends to its decode kernel");
  CHECK(contains(
      Folder().with("context_attention.csv", kAttention + "vllm_flash_attn_fa3,2,64,8,3,128,4,fp8,0,0.02\n").mistake(),
      "context_attention.csv:2: the KV heads do not divide the query heads"));
}

TEST_CASE("counts of tables of attention are at least 1, and their products fit an int") {
  const std::string modules =
      "kernel_source,gemm_type,kv_cache_dtype,num_heads,batch_size,isl,step,latency\n"
      "FLASH_ATTN_MLA,bfloat16,bfloat16,";
  const std::string prompts = "kv_cache_dtype,num_heads,batch_size,isl,latency\nbfloat16,";
  const std::string none = ":2: a count out of range", large = ":2: counts whose product is out of range";
  const auto [file, text, message] = GENERATE_COPY(table<std::string, std::string, std::string>(
      {{"generation_attention.csv", kAttention + "flash_attention_3,0,1,8,2,128,4,bfloat16,99,0.02\n", none},
       {"context_attention.csv", kAttention + "flash_attention_3,65536,65536,8,2,128,4,bfloat16,0,0.02\n", large},
       {"mla_generation_module.csv", modules + "128,0,1,2,0.2\n", none},
       {"mla_generation_module.csv", modules + "0,1,1,2,0.2\n", none},
       {"mla_context_module.csv", modules + "128,65536,65536,0,0.2\n", large},
       {"context_mla.csv", prompts + "128,1,0,2\n", none},
       {"context_mla.csv", prompts + "128,65536,65536,2\n", large},
       {"context_mla.csv", prompts + "16777216,1,1024,2\n", large}}));  // columns of all heads
  CHECK(contains(Folder().with(file, text).mistake(), file + message));
}

TEST_CASE("a step table's products have rows") {
  const Folder folder;
  folder.with("dense.csv", "layer,tokens,time_us\nqkv_proj,0,20\n");
  CHECK(contains(mistake_of([&] { folder.read(known_device("h100-sxm"), llama_8b()); }),
                 "dense.csv:2: a count out of range"));
}

TEST_CASE("step tables are of the network's shape on one rank") {
  const TransformerShape whole = llama_8b();
  const AttentionHeads heads = whole.usual_heads();
  const Folder folder;
  folder.with("dense.csv", "layer,tokens,time_us\nqkv_proj,1,20\no_proj,1,9\nact_fn,1,2\nqkv_proj,2048,90\n")
      .with("attention.csv",
            "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,4,128,9\n64,0,0,0,9\n64,0,4,9,9\n");
  CHECK(contains(folder.mistake(), "--transformer: step tables need the network they were measured on"));
  const KernelTables all = folder.read(known_device("h100-sxm"), shard(whole, {.devices = 4}));
  REQUIRE(all.times.gemms.size() == 2);
  CHECK(all.times.gemms[0].in == whole.hidden);
  CHECK(all.times.gemms[0].out == (heads.q_columns() + 2 * heads.k_columns()) / 4);
  CHECK(all.times.gemms[1].in == heads.q_columns() / 4);
  REQUIRE(all.times.attention.size() == 2);
  CHECK(all.times.attention[0].heads == heads.heads / 4);
  CHECK(all.times.attention[0].kv_heads == heads.kv_heads / 4);
  CHECK(told(all, "dense.csv") ==
        "2 of 4; 1 layers that are no product of a transformer's layer; 1 more than 1024 rows, beyond the model's "
        "domain");
  CHECK(told(all, "attention.csv") == "2 of 3; 1 steps with rows of prompts and of decoding");
}

TEST_CASE("times of NCCL become a table of each collective that a step calls") {
  const KernelTables all =
      Folder()
          .with("nccl.csv",
                "op_name,nccl_dtype,num_gpus,message_size,latency\n"
                "all_reduce,half,4,512,0.02\nall_reduce,half,2,1024,0.01\nall_reduce,half,2,512,0.008\n"
                "all_reduce,bfloat16,2,512,0.009\nall_reduce,int8,2,512,0.007\n"
                "all_gather,half,2,512,0.006\nalltoall,half,2,512,0.006\nbroadcast,half,2,512,0.006\n")
          .read();
  REQUIRE(all.times.links.size() == 3);
  const LinkTable& sums = all.times.links[0];
  CHECK(sums.library == "nccl");
  CHECK(sums.collective == Collective::all_reduce);
  REQUIRE(sums.points.size() == 3);
  CHECK(sums.points[0].message == Bytes{1024});  // 512 elements
  CHECK(sums.points[0].time.value == Approx(8e-6));
  CHECK(sums.points[2].ranks == 4);
  CHECK(all.times.links[1].collective == Collective::all_gather);
  CHECK(all.times.links[2].collective == Collective::all_to_all);
  CHECK(told(all, "nccl.csv") ==
        "5 of 8; 1 a message among as many GPUs that stands before; "
        "1 elements of int8; those of a step have 16 bits; 1 broadcast, which no step calls");
}

TEST_CASE("of vLLM's own all-reduce each size is the algorithm's that its rule chose") {
  const std::string table =
      "kernel_source,allreduce_dtype,num_gpus,message_size,latency\n"
      "vLLM_custom_graph,bfloat16,2,512,0.004\n"     // one shot
      "vLLM_custom_graph,bfloat16,4,524288,0.012\n"  // 1 MiB: two shots, where NVLink connects all
      "vLLM_custom_graph,bfloat16,8,524288,0.012\n"  // symmetric memory, on an H100
      "vLLM_custom_graph,bfloat16,2,67108864,0.2\n"  // 128 MiB: NCCL
      "vLLM_custom_eager,bfloat16,2,512,0.02\n"
      "SGLang_custom_graph,bfloat16,2,512,0.004\n";
  Device d = known_device("h100-sxm");
  const auto libraries = [](const KernelTables& all) {
    std::string names;
    for (const LinkTable& t : all.times.links) names += t.library + ":" + std::to_string(t.points.size()) + " ";
    return names;
  };
  const Folder folder;
  folder.with("custom_allreduce.csv", table);
  const KernelTables nvlink = folder.read(d);
  CHECK(libraries(nvlink) == "one_shot:1 symmetric_memory:1 two_shot:1 ");
  CHECK(told(nvlink, "custom_allreduce.csv") ==
        "3 of 6; 1 sizes and groups for which vLLM calls NCCL; 1 launched one by one, so that the host's time is in "
        "them; 1 SGLang_custom_graph, of which no rule says which algorithm ran");
  d.links = {.switched = false, .compute_capability = "8.9", .tables = {}};
  CHECK(libraries(folder.read(d)) == "one_shot:1 ");  // over PCIe more than two call NCCL
  d.links = {};
  const KernelTables unknown = folder.read(d);
  CHECK(unknown.times.links.empty());
  CHECK(contains(told(unknown, "custom_allreduce.csv"), "4 which algorithm ran depends on the links: say"));
}

TEST_CASE("TensorRT-LLM's all-reduce is one library, whichever of its kernels a size takes") {
  const Folder folder;
  folder.with("custom_allreduce.csv",
              "kernel_source,allreduce_dtype,num_gpus,message_size,latency\n"
              "TRTLLM,bfloat16,2,512,0.004\nTRTLLM_MNNVL_twoshot,bfloat16,8,524288,0.012\n");
  const KernelTables all = folder.read(known_device("h100-sxm"));
  REQUIRE(all.times.links.size() == 1);
  CHECK(all.times.links[0].library == "tensorrt_llm");
  CHECK(all.times.links[0].points.size() == 2);
}

TEST_CASE("layers of experts are used, but for what is told") {
  const std::string head =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,"
      "latency\n";
  const KernelTables all = Folder()
                               .with("moe.csv", head +
                                                    "a,bfloat16,1,4096,14336,2,8,1,1,balanced,0.4\n"
                                                    "a,bfloat16,1,4096,14336,2,8,2,1,balanced,0.2\n"
                                                    "a,bfloat16,1,4096,14336,2,8,1,8,balanced,0.4\n"
                                                    "b,float16,1,4096,14336,2,8,1,1,balanced,0.4\n"
                                                    "a,int4_wo,1,4096,14336,2,8,1,1,balanced,0.4\n"
                                                    "a,w4a16_mxfp4,1,4096,14336,2,8,1,1,balanced,0.4\n"
                                                    "a,nvfp4,1,4096,14336,2,8,1,1,balanced,0.4\n")
                               .read();
  REQUIRE(all.times.experts.size() == 2);
  CHECK(all.times.experts[1].intermediate == 7168);  // one rank's
  REQUIRE(all.times.narrow_experts[static_cast<std::size_t>(NarrowFormat::int4_wo)].size() == 1);
  CHECK(told(all, "moe.csv") ==
        "3 of 7; 1 w4a16_mxfp4, a format that has no fit of its own; 1 nvfp4, in which the datasheet has no rate; "
        "1 of another library than a, which has most; 1 whole experts divided among devices, which no fit uses");
}
