// SPDX-License-Identifier: Apache-2.0
#include "decoder/huggingface.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/json_parse.h"
#include "core/reader.h"

namespace draftline {

namespace {

constexpr std::array<std::string_view, 16> kArchitectures{
    "LlamaForCausalLM",      "MistralForCausalLM",    "Mistral3ForConditionalGeneration",
    "Qwen2ForCausalLM",      "Qwen3ForCausalLM",      "Qwen3MoeForCausalLM",
    "Phi3ForCausalLM",       "Gemma3ForCausalLM",     "Gemma3ForConditionalGeneration",
    "GptOssForCausalLM",     "Llama4ForCausalLM",     "Llama4ForConditionalGeneration",
    "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeForCausalLM",
    "MixtralForCausalLM"};
constexpr std::size_t kMostMessages = 20;
constexpr const char* kEmbedding = "embed_tokens.weight";

float norm_offset(const TransformerShape& s) { return s.architecture.starts_with("Gemma") ? 1 : 0; }

std::string shown(const std::filesystem::path& path) { return printable(path.string(), 1000); }
std::string shown_name(const std::string& name) { return "\"" + printable(name, 120) + "\""; }

// Tensors that no computation reads: rotary frequencies, which older files hold, and whatever is not part of the
// network.
bool may_be_ignored(const std::string& tensor, const std::string& trunk) {
  return !tensor.starts_with(trunk) || tensor.ends_with("rotary_emb.inv_freq");
}

TransformerShape read_shape(const std::filesystem::path& config) {
  const Document document = Document::from_file(config);
  const Reader root = document.root();
  TransformerShape shape = read_transformer(root);
  if (!root.failed() &&
      std::find(kArchitectures.begin(), kArchitectures.end(), shape.architecture) == kArchitectures.end()) {
    std::string known;
    for (const auto name : kArchitectures) known += (known.empty() ? "" : ", ") + std::string(name);
    root.at("architectures")
        .fail("the weights of " + shape.architecture + " can't be loaded; those of " + known + " can");
  }
  document.finish();
  return shape;
}

}  // namespace

// A stored matrix [out, in], or vector [out], and the row and column of our weight, which is its transpose, at which
// its first value goes.
struct HuggingFaceFolder::Part {
  std::string tensor;
  int in = 0, out = 0, row = 0, column = 0;
  bool transposed = true;  // false: stored as we hold it, as the embedding is
  // Of every `every` stored rows those from `from` on are rotated and lie pair by pair; ours hold the pairs' first
  // halves, then their second. 0: none.
  struct Pairs {
    int every = 0, from = 0;
  } pairs = {};
  float plus = 0;   // added to every value: Gemma stores norms less one
  int stacked = 0;  // matrices of so many experts, [experts, in, out]; 0: one matrix

  int column_of(int stored) const {
    if (pairs.every == 0) return column + stored;
    const int at = stored % pairs.every - pairs.from, half = (pairs.every - pairs.from) / 2;
    return column + stored + (at < 0 ? 0 : at / 2 + at % 2 * half - at);
  }

  std::vector<std::uint64_t> stored_shape() const {
    const auto i = static_cast<std::uint64_t>(in), o = static_cast<std::uint64_t>(out);
    if (const auto n = static_cast<std::uint64_t>(stacked); n > 0) return {n, i / n, o};
    if (!transposed) return {i, o};
    return in == 1 ? std::vector{o} : std::vector{o, i};
  }
};

struct HuggingFaceFolder::Plan {  // the stored parts of one of our weights
  std::string name;
  int in = 0, out = 0;
  std::vector<Part> parts;
};

// Lays parts side by side; when the columns are full, the next part begins below.
HuggingFaceFolder::Plan HuggingFaceFolder::whole(const std::string& name, int in, int out, std::vector<Part> parts) {
  int row = 0, column = 0;
  for (Part& p : parts) {
    p.row = row;
    p.column = column;
    column += p.out;
    if (column == out) {
      column = 0;
      row += p.in;
    }
  }
  check(row == in && column == 0, "the parts of a weight fill it");
  return {name, in, out, std::move(parts)};
}

std::vector<HuggingFaceFolder::Plan> HuggingFaceFolder::network_plans() const {
  const int hidden = shape_.hidden, vocabulary = shape_.vocabulary;
  Part embedding{trunk_ + kEmbedding, vocabulary, hidden};
  embedding.transposed = false;
  const std::string head = shape_.tied_embeddings ? embedding.tensor : head_ + "lm_head.weight";
  return {whole("embedding", vocabulary, hidden, {embedding}),
          whole("final_norm", 1, hidden, {{trunk_ + "norm.weight", 1, hidden, 0, 0, true, {}, norm_offset(shape_)}}),
          whole("lm_head", hidden, vocabulary, {{head, hidden, vocabulary}})};
}

std::vector<HuggingFaceFolder::Plan> HuggingFaceFolder::layer_plans(int layer) const {
  const TransformerShape& s = shape_;
  const int hidden = s.hidden, q = s.q_columns(), kv = s.kv_columns();
  const bool fused = s.architecture == "Phi3ForCausalLM";
  const std::string ours = "layers." + std::to_string(layer) + ".", theirs = trunk_ + ours;
  const bool llama4 = s.architecture.starts_with("Llama4");
  const std::string attention = theirs + "self_attn.", mlp = theirs + (llama4 ? "feed_forward." : "mlp.");

  const auto qkv = [&](const std::string& kind, int in) -> std::vector<Part> {
    if (fused) return {{attention + "qkv_proj." + kind, in, q + 2 * kv}};
    const Part::Pairs pairs{llama4 ? s.head_dim : 0};
    return {{attention + "q_proj." + kind, in, q, 0, 0, true, pairs},
            {attention + "k_proj." + kind, in, kv, 0, 0, true, pairs},
            {attention + "v_proj." + kind, in, kv}};
  };
  const auto vector = [&](const std::string& name, const std::string& tensor, int n) {
    return whole(ours + name, 1, n, {{tensor, 1, n}});
  };
  const int results = s.latent ? s.heads * s.latent->value_dim : q;
  const auto norm = [&](const std::string& name, const std::string& tensor, int n) {
    return whole(ours + name, 1, n, {{tensor + ".weight", 1, n, 0, 0, true, {}, norm_offset(s)}});
  };
  std::vector<Plan> plans{norm("input_norm", theirs + "input_layernorm", hidden),
                          whole(ours + "o", results, hidden, {{attention + "o_proj.weight", results, hidden}})};
  if (s.latent) add_latent_plans(ours + "latent.", attention, plans);
  else plans.push_back(whole(ours + "qkv", hidden, q + 2 * kv, qkv("weight", hidden)));
  if (s.post_norms) {
    plans.push_back(norm("attention_post_norm", theirs + "post_attention_layernorm", hidden));
    plans.push_back(norm("mlp_norm", theirs + "pre_feedforward_layernorm", hidden));
    plans.push_back(norm("mlp_post_norm", theirs + "post_feedforward_layernorm", hidden));
  } else {
    plans.push_back(norm("mlp_norm", theirs + "post_attention_layernorm", hidden));
  }
  if (s.o_bias) plans.push_back(vector("o_bias", attention + "o_proj.bias", hidden));
  if (s.attention_sinks) plans.push_back(vector("sinks", attention + "sinks", s.heads));
  if (s.qkv_bias) plans.push_back(whole(ours + "qkv_bias", 1, q + 2 * kv, qkv("bias", 1)));
  if (s.qk_norm) {
    plans.push_back(norm("q_norm", attention + "q_norm", s.head_dim));
    plans.push_back(norm("k_norm", attention + "k_norm", s.head_dim));
  }
  if (s.layer(layer).experts) {
    add_expert_plans(ours, theirs, plans);
    return plans;
  }
  const int inner = s.intermediate;
  std::vector<Part> gate_up{{mlp + "gate_proj.weight", hidden, inner}, {mlp + "up_proj.weight", hidden, inner}};
  if (fused) gate_up = {{mlp + "gate_up_proj.weight", hidden, 2 * inner}};
  plans.push_back(whole(ours + "gate_up", hidden, 2 * inner, std::move(gate_up)));
  plans.push_back(whole(ours + "down", inner, hidden, {{mlp + "down_proj.weight", inner, hidden}}));
  return plans;
}

void HuggingFaceFolder::add_latent_plans(const std::string& ours, const std::string& theirs,
                                         std::vector<Plan>& plans) const {
  const TransformerShape& s = shape_;
  const LatentAttention& l = *s.latent;
  const auto pairs = [&](int before) { return l.paired ? Part::Pairs{before + l.rope_dim, before} : Part::Pairs{}; };
  const Part latents{
      theirs + "kv_a_proj_with_mqa.weight", s.hidden, l.kv_rank + l.rope_dim, 0, 0, true, pairs(l.kv_rank)};
  Part queries{theirs + "q_proj.weight", s.hidden, s.q_columns(), 0, 0, true, pairs(l.nope_dim)};
  if (l.q_rank > 0) {
    queries.tensor = theirs + "q_b_proj.weight";
    queries.in = l.q_rank;
    plans.push_back(whole(ours + "q_up", l.q_rank, s.q_columns(), {queries}));
    plans.push_back(whole(ours + "q_norm", 1, l.q_rank, {{theirs + "q_a_layernorm.weight", 1, l.q_rank}}));
    queries = {theirs + "q_a_proj.weight", s.hidden, l.q_rank};
  }
  plans.push_back(whole(ours + "down", s.hidden, queries.out + latents.out, {queries, latents}));
  plans.push_back(whole(ours + "kv_norm", 1, l.kv_rank, {{theirs + "kv_a_layernorm.weight", 1, l.kv_rank}}));
  const int expanded = s.heads * (l.nope_dim + l.value_dim);
  plans.push_back(whole(ours + "kv_up", l.kv_rank, expanded, {{theirs + "kv_b_proj.weight", l.kv_rank, expanded}}));
}

void HuggingFaceFolder::add_expert_plans(const std::string& ours, const std::string& theirs,
                                         std::vector<Plan>& plans) const {
  if (shape_.architecture == "GptOssForCausalLM" || shape_.architecture.starts_with("Llama4"))
    return add_stacked_experts(ours, theirs, plans);
  const bool mixtral = shape_.architecture == "MixtralForCausalLM";
  const std::string mlp = theirs + (mixtral ? "block_sparse_moe." : "mlp.");
  const std::string gate = mixtral ? "w1" : "gate_proj", up = mixtral ? "w3" : "up_proj",
                    back = mixtral ? "w2" : "down_proj";
  const int hidden = shape_.hidden, count = shape_.experts->count, inner = shape_.experts->intermediate;
  std::vector<Part> gate_up, down;
  for (int e = 0; e < count; ++e) {
    const std::string expert = mlp + "experts." + std::to_string(e) + ".";
    gate_up.push_back({expert + gate + ".weight", hidden, inner});
    gate_up.push_back({expert + up + ".weight", hidden, inner});
    down.push_back({expert + back + ".weight", inner, hidden});
  }
  plans.push_back(whole(ours + "router", hidden, count, {{mlp + "gate.weight", hidden, count}}));
  if (shape_.experts->choice_bias)
    plans.push_back(whole(ours + "router.choice_bias", 1, count, {{mlp + "gate.e_score_correction_bias", 1, count}}));
  plans.push_back(whole(ours + "experts.gate_up", count * hidden, 2 * inner, std::move(gate_up)));
  plans.push_back(whole(ours + "experts.down", count * inner, hidden, std::move(down)));
  const int shared = shape_.experts->shared;
  if (shared == 0) return;
  const std::string all = mlp + "shared_experts.";
  plans.push_back(whole(ours + "shared.gate_up", hidden, 2 * shared,
                        {{all + "gate_proj.weight", hidden, shared}, {all + "up_proj.weight", hidden, shared}}));
  plans.push_back(whole(ours + "shared.down", shared, hidden, {{all + "down_proj.weight", shared, hidden}}));
}

// Experts in one tensor for all: Llama 4 and gpt-oss, which stores a gate's column beside that which it gates.
void HuggingFaceFolder::add_stacked_experts(const std::string& ours, const std::string& theirs,
                                            std::vector<Plan>& plans) const {
  const Experts& e = shape_.experts.value();
  const bool llama4 = shape_.architecture.starts_with("Llama4");
  const std::string mlp = theirs + (llama4 ? "feed_forward." : "mlp."), experts = mlp + "experts.";
  const int hidden = shape_.hidden, inner = e.intermediate;
  const Part::Pairs gates{llama4 ? 0 : 2 * inner};
  const auto stacked = [&](const std::string& name, const std::string& tensor, int in, int out, Part::Pairs pairs) {
    const int rows = e.count * in;
    plans.push_back(whole(ours + name, rows, out, {{experts + tensor, rows, out, 0, 0, false, pairs, 0, e.count}}));
  };
  plans.push_back(whole(ours + "router", hidden, e.count, {{mlp + "router.weight", hidden, e.count}}));
  stacked("experts.gate_up", "gate_up_proj", hidden, 2 * inner, gates);
  stacked("experts.down", "down_proj", inner, hidden, {});
  if (e.bias) {
    const auto biases = [&](const std::string& name, int n, Part::Pairs pairs) {
      const Part part{experts + name + "_proj_bias", e.count, n, 0, 0, false, pairs};
      plans.push_back(whole(ours + "experts." + name + "_bias", e.count, n, {part}));
    };
    plans.push_back(whole(ours + "router.bias", 1, e.count, {{mlp + "router.bias", 1, e.count}}));
    biases("gate_up", 2 * inner, gates);
    biases("down", hidden, {});
  }
  if (e.shared == 0) return;
  const std::string all = mlp + "shared_expert.";
  plans.push_back(whole(ours + "shared.gate_up", hidden, 2 * e.shared,
                        {{all + "gate_proj.weight", hidden, e.shared}, {all + "up_proj.weight", hidden, e.shared}}));
  plans.push_back(whole(ours + "shared.down", e.shared, hidden, {{all + "down_proj.weight", e.shared, hidden}}));
}

HuggingFaceFolder::HuggingFaceFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code failure;
  if (!std::filesystem::is_directory(folder_, failure)) throw InputErrors(shown(folder_) + ": no such folder");
  shape_ = read_shape(folder_ / "config.json");
  open_files();
  find_trunk();
  check_tensors();
}

// Of a network that also sees, the text tower has a name of its own: one on the hub, another since transformers 5.
void HuggingFaceFolder::find_trunk() {
  using Names = std::pair<const char*, const char*>;
  for (const auto& [trunk, head] :
       {Names{"language_model.model.", "language_model."}, Names{"model.language_model.", ""}})
    if (file_of_.contains(std::string(trunk) + kEmbedding)) trunk_ = trunk, head_ = head;
}

void HuggingFaceFolder::open_files() {
  const auto single = folder_ / "model.safetensors", index = folder_ / "model.safetensors.index.json";
  std::error_code failure;
  if (std::filesystem::exists(single, failure)) {  // where both exist, transformers prefers the single file too
    files_.emplace_back(single);
    for (const auto& [name, tensor] : files_.front().tensors()) file_of_.emplace(name, 0);
  } else if (std::filesystem::exists(index, failure)) {
    open_shards(index);
  } else {
    throw InputErrors(shown(folder_) + ": has neither model.safetensors nor model.safetensors.index.json" +
                      (std::filesystem::exists(folder_ / "pytorch_model.bin", failure)
                           ? "; weights in pytorch_model.bin are not read: save them as safetensors"
                           : ""));
  }
}

void HuggingFaceFolder::open_shards(const std::filesystem::path& index) {
  const Document document = Document::from_file(index);
  std::vector<std::string> mistakes;
  // The index of each file in files_. None: it can't be opened, which is reported once.
  std::map<std::string, std::optional<std::size_t>> number;
  for (const auto& [tensor, where] : document.root().at("weight_map").entries()) {
    const std::string file = where.text();
    if (!where.is_string()) continue;
    if (file.find_first_of("/\\") != std::string::npos || !file.ends_with(".safetensors")) {
      where.fail(shown_name(file) + " must be the name of a .safetensors file in this folder");
      continue;
    }
    const auto [it, fresh] = number.try_emplace(file);
    if (fresh && mistakes.size() < kMostMessages) {
      try {
        files_.emplace_back(folder_ / file);
        it->second = files_.size() - 1;
      } catch (const InputErrors& e) { mistakes.insert(mistakes.end(), e.messages().begin(), e.messages().end()); }
    }
    if (!it->second) continue;
    file_of_.emplace(tensor, *it->second);
    if (!files_[*it->second].tensors().contains(tensor)) where.fail("the tensor is not in " + shown_name(file));
  }
  document.finish();
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
}

void HuggingFaceFolder::check_tensors() const {
  std::vector<std::string> mistakes;
  std::set<std::string, std::less<>> used;
  const auto check_plans = [&](const std::vector<Plan>& plans) {
    for (const Plan& plan : plans)
      for (const Part& part : plan.parts) {
        const auto file = file_of_.find(part.tensor);
        if (file == file_of_.end()) {
          mistakes.push_back(shown(folder_) + ": tensor " + shown_name(part.tensor) + " is missing");
          continue;
        }
        used.insert(part.tensor);
        const SafetensorsFile& f = files_[file->second];
        const StoredTensor& t = f.tensors().find(part.tensor)->second;
        const auto wanted = part.stored_shape();
        if (t.shape != wanted)
          mistakes.push_back(f.place(part.tensor) + ": its shape is " + shape_text(t.shape) +
                             ", but config.json makes it " + shape_text(wanted));
        if (!SafetensorsFile::can_read(t))
          mistakes.push_back(f.place(part.tensor) + ": values of dtype " + t.dtype +
                             " can't be used; F32, F16 and BF16 can");
      }
  };
  check_plans(network_plans());
  // config.json may claim any number of layers and experts, so the check stops after a few mistakes.
  for (int layer = 0; layer < shape_.layers && mistakes.size() < kMostMessages; ++layer)
    check_plans(layer_plans(layer));
  if (mistakes.empty())
    for (const auto& [tensor, file] : file_of_)
      if (!used.contains(tensor) && !may_be_ignored(tensor, trunk_))
        mistakes.push_back(files_[file].place(tensor) + ": a network as config.json describes it has no such weight");
  if (mistakes.empty()) return;
  if (mistakes.size() > kMostMessages) {
    mistakes.resize(kMostMessages);
    mistakes.push_back(shown(folder_) + ": and more tensors are wrong or missing");
  }
  throw InputErrors(std::move(mistakes));
}

void HuggingFaceFolder::load(const std::string& name, int in, int out, std::span<float> to) {
  const std::string where = shown(folder_) + ": weight " + shown_name(name);
  constexpr std::string_view kLayers = "layers.";
  std::optional<int> layer;
  if (int number = 0;
      name.starts_with(kLayers) &&
      std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), number).ec == std::errc())
    layer = number;
  const bool in_layer = layer && *layer >= 0 && *layer < shape_.layers;
  const std::vector<Plan> plans = in_layer ? layer_plans(*layer) : network_plans();
  const auto plan = std::find_if(plans.begin(), plans.end(), [&](const Plan& p) { return p.name == name; });
  if (plan == plans.end()) throw InputErrors(where + " is not in the folder");
  if (plan->in != in || plan->out != out)
    throw InputErrors(where + " is [" + std::to_string(plan->in) + ", " + std::to_string(plan->out) + "], but [" +
                      std::to_string(in) + ", " + std::to_string(out) + "] was asked for");
  check(to.size() == static_cast<std::size_t>(in) * static_cast<std::size_t>(out), "room for the weight");
  for (const Part& part : plan->parts) copy(part, to, out);
}

void HuggingFaceFolder::copy(const Part& p, std::span<float> to, int columns) const {
  const SafetensorsFile& file = files_[file_of_.find(p.tensor)->second];
  if (!p.transposed || p.in == 1) {  // one contiguous run of values
    const auto first =
        static_cast<std::size_t>(p.row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(p.column);
    const auto values = to.subspan(first, static_cast<std::size_t>(p.in) * static_cast<std::size_t>(p.out));
    file.read(p.tensor, 0, values);
    if (p.plus != 0)
      for (float& v : values) v += p.plus;
    if (p.pairs.every == 0) return;
    const auto wide = static_cast<std::size_t>(p.out);
    for (std::size_t row = 0; row < values.size(); row += wide) {
      const std::vector<float> stored(values.begin() + static_cast<std::ptrdiff_t>(row),
                                      values.begin() + static_cast<std::ptrdiff_t>(row + wide));
      for (std::size_t i = 0; i < wide; ++i)
        values[row + static_cast<std::size_t>(p.column_of(static_cast<int>(i)) - p.column)] = stored[i];
    }
    return;
  }
  // Several stored rows are read at a time, so that most values are written in contiguous runs.
  constexpr int kRows = 64;
  const auto in = static_cast<std::size_t>(p.in), stride = static_cast<std::size_t>(columns);
  std::vector<float> rows;
  for (int first = 0; first < p.out; first += kRows) {
    const auto now = static_cast<std::size_t>(std::min(kRows, p.out - first));
    rows.resize(now * in);
    file.read(p.tensor, static_cast<std::uint64_t>(first) * in, rows);
    float* corner = to.data() + static_cast<std::size_t>(p.row) * stride;
    std::array<std::size_t, kRows> column;
    for (std::size_t r = 0; r < now; ++r)
      column[r] = static_cast<std::size_t>(p.column_of(first + static_cast<int>(r)));
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t r = 0; r < now; ++r) corner[i * stride + column[r]] = rows[r * in + i];
  }
}

// Training changes nearly every value, so a few of each tensor distinguish two checkpoints without reading all values.
std::uint64_t HuggingFaceFolder::fingerprint() const {
  constexpr std::uint64_t kSamples = 8, kValues = 32;
  Fingerprint sum;
  for (const auto& [name, file] : file_of_) {
    const StoredTensor& t = files_[file].tensors().find(name)->second;
    sum.add(name);
    sum.add(t.dtype);
    for (const std::uint64_t n : t.shape) sum.add(n);
    if (!SafetensorsFile::can_read(t)) continue;
    std::vector<float> values(std::min(kValues, t.elements));
    for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
      files_[file].read(name, (t.elements - values.size()) / (kSamples - 1) * sample, values);
      for (const float v : values) sum.add(static_cast<double>(v));
    }
  }
  return sum.value();
}

}  // namespace draftline
