// SPDX-License-Identifier: Apache-2.0
#include "methods/method_spec.h"

#include <nlohmann/json.hpp>

#include "methods/table.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

constexpr const char *kShardDraft = "shard_draft", *kDraftLength = "draft_length", *kDrafterDevice = "drafter_device";
constexpr const char* kNumSpeculativeTokens = "num_speculative_tokens";  // vLLM's name of the draft length
constexpr const char* kTree = "tree";

Json parameters_in(const Reader& object) {
  Json all = Json::object();
  for (const auto& [key, value] : object.look())
    if (key != "name" && key != "acceptance" && key != kDraftLength && key != kNumSpeculativeTokens)
      all[key] = value.chosen();
  return all;
}

// Parameters as text: {"draft": "llama-3.2-1b"} is "draft:llama-3.2-1b"; an inner object with one member is a path,
// "tree.optimal.budget:4".
std::string plain(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text += text.empty() ? key : "," + key;
    if (value.is_object() && value.size() == 1) text += "." + plain(value);
    else text += ":" + value.dump();
  }
  return text;
}

// A drafter's own device: "l40s (vllm, 50 us)".
std::string place(const Json& own) {
  std::string text, more;
  for (const auto& [key, value] : own.items())
    if (key == "device") text = value.dump();
    else more += (more.empty() ? "" : ", ") + value.dump();
  std::erase_if(text, [](char c) { return c == '"'; });
  std::erase_if(more, [](char c) { return c == '"'; });
  return more.empty() ? text : text + " (" + more + ")";
}

const methods::Entry& entry_named(const Reader& name) {
  const methods::Entry* entry = methods::named(name);
  return entry != nullptr ? *entry : methods::all().front();
}

// The last name of a path, of a folder too: "drafter" of "./drafter/".
std::string last_name(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// The parameters without those of the drafts.
Json of_drafter(const methods::Entry& entry, Json parameters) {
  parameters.erase(kTree);
  for (const std::string_view key : entry.of_drafts) parameters.erase(std::string(key));
  return parameters;
}

// The parameters that a token can depend on.
Json of_decoding(const methods::Entry& entry, Json parameters) {
  parameters.erase(kDrafterDevice);
  parameters.erase(kShardDraft);
  for (const std::string_view key : entry.of_prices) parameters.erase(std::string(key));
  return parameters;
}

// Whether this is a sweep without alternatives, a mistake that inputs/axes notes.
bool is_empty_list(const Reader& in) { return in.is_array() && in.items().empty(); }

}  // namespace

MethodSpec::MethodSpec() : MethodSpec(methods::all().front()) {}
MethodSpec::MethodSpec(const methods::Entry& entry) : MethodSpec(entry, Json::object(), std::string(entry.name)) {}
MethodSpec::MethodSpec(const Reader& object) : MethodSpec(entry_named(object.at("name")), object) {}
MethodSpec::MethodSpec(const methods::Entry& entry, const Reader& parameters)
    : entry_(&entry), in_(parameters), parameters_(std::make_shared<const Json>(parameters_in(parameters))) {
  read_typed();
}
MethodSpec::MethodSpec(const methods::Entry& entry, const Json& parameters, const std::filesystem::path& file)
    : entry_(&entry),
      in_(Document::from_text(parameters.dump(), file).root()),
      parameters_(std::make_shared<const Json>(parameters)) {
  read_typed();
}

std::optional<Reader> draft_length_in(const Reader& method) {
  return method.find_either(kDraftLength, kNumSpeculativeTokens);
}

void MethodSpec::read_typed() {
  if (entry_->lengths.most > 0)
    if (const auto length = draft_length_in(in_); length && !is_empty_list(*length))
      draft_length_ = length->integer(1, entry_->lengths.most);
  if (entry_->draft_network)
    if (const auto divided = in_.find(kShardDraft)) shards_draft_ = divided->boolean();
}

std::string_view MethodSpec::name() const { return entry_->name; }

bool MethodSpec::is_plain() const { return entry_ == &methods::all().front(); }

Json MethodSpec::object() const {
  Json all = *parameters_;
  all["name"] = entry_->name;
  if (draft_length_) all[kDraftLength] = *draft_length_;
  return all;
}

std::string MethodSpec::label() const {
  Json shown = *parameters_;
  if (shards_if_possible_) shown.erase(kShardDraft);  // the engine's default, which nobody wrote
  if (shown.empty()) return std::string(entry_->name);
  if (const auto draft = shown.find("draft"); draft != shown.end() && draft->is_object() && draft->contains("name"))
    shown["draft"] = draft->at("name");  // of a network that is described
  if (const auto own = shown.find(kDrafterDevice); own != shown.end() && own->is_object()) *own = place(*own);
  std::string label = std::string(entry_->name) + " " + plain(shown);
  std::erase(label, '"');
  return label;
}

std::optional<MethodSpec> MethodSpec::with_draft_length(int drafts, const TransformerShape& target) const {
  if (drafts < 1 || drafts > entry_->lengths.most) return std::nullopt;
  MethodSpec other = *this;
  other.draft_length_ = drafts;
  if (entry_->lengths.fit != nullptr && !entry_->lengths.fit(other, target)) return std::nullopt;
  return other;
}

std::optional<MethodSpec> MethodSpec::as_chain(int drafts, const TransformerShape& target) const {
  return MethodSpec(*entry_, of_drafter(*entry_, *parameters_), in_.file()).with_draft_length(drafts, target);
}

bool MethodSpec::says_drafts() const { return of_drafter(*entry_, *parameters_).size() != parameters_->size(); }

bool MethodSpec::drafts_default_tree() const {
  return entry_->lengths.tree_by_default && !draft_length_ && !says_drafts();
}

bool MethodSpec::says_shard_draft() const { return parameters_->contains(kShardDraft); }

MethodSpec MethodSpec::with_draft_sharded_if_possible() const {
  check(entry_->draft_network, "a method without a draft network has none to divide");
  MethodSpec other = *this;
  Json parameters = *parameters_;
  parameters[kShardDraft] = "if possible";
  other.parameters_ = std::make_shared<const Json>(std::move(parameters));
  other.shards_if_possible_ = true;
  return other;
}

MethodSpec MethodSpec::with_sharded_draft() const {
  check(entry_->draft_network, "a method without a draft network has none to divide");
  MethodSpec other = *this;
  Json parameters = *parameters_;
  parameters[kShardDraft] = true;
  other.parameters_ = std::make_shared<const Json>(std::move(parameters));
  other.shards_draft_ = true;
  other.shards_if_possible_ = false;
  return other;
}

MethodSpec MethodSpec::with_parameter(const std::string& key, const Json& value) const {
  Json parameters = *parameters_;
  parameters[key] = value;
  MethodSpec other(*entry_, parameters, in_.file());
  other.draft_length_ = draft_length_;
  return other;
}

MethodSpec MethodSpec::without_drafter_device() const {
  MethodSpec other = *this;
  if (!parameters_->contains(kDrafterDevice)) return other;
  Json parameters = *parameters_;
  parameters.erase(kDrafterDevice);
  other.parameters_ = std::make_shared<const Json>(std::move(parameters));
  return other;
}

MethodSpec MethodSpec::as_decoded() const {
  MethodSpec other = *this;
  other.parameters_ = std::make_shared<const Json>(of_decoding(*entry_, *parameters_));
  other.shards_draft_ = other.shards_if_possible_ = false;
  return other;
}

bool MethodSpec::same_drafter(const MethodSpec& other) const {
  const auto drafter = [this](const Json& all) {
    Json parameters = of_decoding(*entry_, of_drafter(*entry_, all));
    for (const char* network : {"draft", "checkpoint"})
      if (const auto named = parameters.find(network); named != parameters.end() && named->is_string())
        *named = last_name(named->get<std::string>());
    return parameters;
  };
  return entry_ == other.entry_ && drafter(*parameters_) == drafter(*other.parameters_);
}

void MethodSpec::finish() const {
  in_.done();
  in_.finish();
}

bool operator==(const MethodSpec& a, const MethodSpec& b) {
  return a.entry_ == b.entry_ && a.draft_length_ == b.draft_length_ &&
         (a.parameters_ == b.parameters_ || *a.parameters_ == *b.parameters_);
}

bool operator<(const MethodSpec& a, const MethodSpec& b) {
  if (a.entry_ != b.entry_) return a.entry_->name < b.entry_->name;
  if (a.draft_length_ != b.draft_length_) return a.draft_length_ < b.draft_length_;
  return a.parameters_ != b.parameters_ && *a.parameters_ < *b.parameters_;
}

}  // namespace draftline
