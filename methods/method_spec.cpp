// SPDX-License-Identifier: Apache-2.0
#include "methods/method_spec.h"

#include <nlohmann/json.hpp>

#include "methods/table.h"

namespace draftline {

using Json = nlohmann::json;
using methods::Decides;

namespace {

constexpr const char *kShardDraft = "shard_draft", *kDraftLength = "draft_length", *kDrafterDevice = "drafter_device",
                     *kTree = "tree", *kDraft = "draft", *kCheckpoint = "checkpoint";
constexpr const char* kNumSpeculativeTokens = "num_speculative_tokens";  // vLLM's name of the draft length

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
std::string place_of(const Json& own) {
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

Json json_of(ShardDraft s) { return s == ShardDraft::if_possible ? Json("if possible") : Json(s == ShardDraft::yes); }

// Whether this is a sweep without alternatives, a mistake that inputs/axes notes.
bool is_empty_list(const Reader& in) { return in.is_array() && in.size() == 0; }

}  // namespace

MethodSpec::Values MethodSpec::read(const methods::Entry& e, const Reader& in) {
  Values v;
  if (e.lengths.most > 0)
    if (const auto length = in.find_either(kDraftLength, kNumSpeculativeTokens); length && !is_empty_list(*length))
      v.draft_length = length->integer(1, e.lengths.most);
  if (e.lengths.trees != TreeKind::none && in.has(kTree)) v.tree = read_draft_tree(in, e.lengths.trees, e.lengths.most);
  if (e.draft_network) {
    if (const Reader draft = in.at(kDraft); in.has(kDraft)) v.draft = read_named_network(draft);
    if (const auto divided = in.find(kShardDraft))
      v.shard_draft = divided->boolean() ? ShardDraft::yes : ShardDraft::no;
  }
  if (e.checkpoint)
    if (const auto folder = in.find(kCheckpoint)) v.checkpoint = read_named_file(*folder);
  if (const auto device = in.find(kDrafterDevice)) v.drafter_device = device->chosen().dump();
  v.own = e.parameters.read(in);
  v.place = in.place();
  return v;
}

MethodSpec::MethodSpec() : MethodSpec(methods::all().front()) {}
MethodSpec::MethodSpec(const methods::Entry& entry)
    : MethodSpec(entry, Values{.own = entry.parameters.defaults(), .place = std::string(entry.name) + "#"}) {}
MethodSpec::MethodSpec(const Reader& object) : MethodSpec(entry_named(object.at("name")), object) {}
MethodSpec::MethodSpec(const methods::Entry& entry, const Reader& parameters)
    : MethodSpec(entry, read(entry, parameters)) {
  if (const auto wrong = mistake(); wrong && !parameters.failed()) note(parameters, *wrong);
}
MethodSpec::MethodSpec(const methods::Entry& entry, Values values)
    : entry_(&entry), values_(std::make_shared<const Values>(std::move(values))) {
  key_ = parameters().dump();
}

MethodSpec read_method(const Reader& object) {
  MethodSpec m(object);
  object.done();
  return m;
}
MethodSpec read_method(const Document& document) {
  return read_whole(document, [](const Reader& in) { return read_method(in); });
}

template <class Change>
MethodSpec MethodSpec::with(Change change) const {
  Values other = *values_;
  change(other);
  return MethodSpec(*entry_, std::move(other));
}

std::string_view MethodSpec::name() const { return entry_->name; }

int MethodSpec::drafts() const { return draft_length().value_or(entry_->lengths.usual); }

bool MethodSpec::is_plain() const { return entry_ == &methods::all().front(); }

Json MethodSpec::value(std::string_view key) const { return entry_->parameters.value(*values_->own, key); }

Json MethodSpec::parameters() const {
  Json all = Json::object();
  if (values_->tree) all[kTree] = values_->tree->json();
  if (values_->draft) all[kDraft] = values_->draft->json();
  if (values_->checkpoint) all[kCheckpoint] = values_->checkpoint->name;
  if (values_->shard_draft) all[kShardDraft] = json_of(*values_->shard_draft);
  if (!values_->drafter_device.empty()) all[kDrafterDevice] = Json::parse(values_->drafter_device);
  entry_->parameters.write(*values_->own, all);
  return all;
}

Json MethodSpec::object() const {
  Json all = parameters();
  all["name"] = entry_->name;
  if (values_->draft_length) all[kDraftLength] = *values_->draft_length;
  return all;
}

std::string MethodSpec::label() const {
  Json shown = parameters();
  if (shards_draft_if_possible()) shown.erase(kShardDraft);  // the engine's default, which nobody wrote
  if (shown.empty()) return std::string(entry_->name);
  if (values_->draft && !values_->draft->description.empty() && shown[kDraft].contains("name"))
    shown[kDraft] = values_->draft->name;
  if (const auto own = shown.find(kDrafterDevice); own != shown.end() && own->is_object()) *own = place_of(*own);
  std::string label = std::string(entry_->name) + " " + plain(shown);
  std::erase(label, '"');
  return label;
}

std::optional<Mistake> MethodSpec::mistake() const {
  if (values_->draft_length && values_->tree)
    return Mistake{"", "give \"draft_length\" (a chain) or \"tree\", not both"};
  if (values_->checkpoint)
    if (auto wrong = entry_->parameters.beside_checkpoint(*values_->own)) return wrong;
  return entry_->consistent != nullptr ? entry_->consistent(*this) : std::nullopt;
}

std::optional<MethodSpec> MethodSpec::with_draft_length(int drafts, const TransformerShape& target) const {
  const auto& lengths = entry_->lengths;
  if (drafts < 1 || drafts > lengths.most) return std::nullopt;
  MethodSpec other = with([&](Values& v) { v.draft_length = drafts; });
  if (entry_->consistent != nullptr && entry_->consistent(other)) return std::nullopt;
  if (lengths.fit != nullptr && lengths.fit(other, target)) return std::nullopt;
  return other;
}

std::optional<MethodSpec> MethodSpec::as_chain(int drafts, const TransformerShape& target) const {
  return with([&](Values& v) {
           v.tree.reset();
           v.own = entry_->parameters.without(*v.own, Decides::drafts);
         })
      .with_draft_length(drafts, target);
}

bool MethodSpec::says_drafts() const {
  return values_->tree || entry_->parameters.gives(*values_->own, Decides::drafts);
}

bool MethodSpec::drafts_default_tree() const {
  return entry_->lengths.tree_by_default && !draft_length() && !says_drafts();
}

MethodSpec MethodSpec::with_shard_draft(ShardDraft how) const {
  check(entry_->draft_network, "a method without a draft network has none to divide");
  return with([&](Values& v) { v.shard_draft = how; });
}

MethodSpec MethodSpec::with_draft(NamedNetwork draft) const {
  return with([&](Values& v) { v.draft = std::move(draft); });
}

MethodSpec MethodSpec::with_drafter_of(const MethodSpec& other) const {
  return with([&](Values& v) {
    if (other.draft()) v.draft = other.draft();
    if (other.checkpoint()) v.checkpoint = other.checkpoint();
  });
}

MethodSpec MethodSpec::without_drafter() const {
  if (!entry_->draft_network && !entry_->checkpoint) return *this;
  return with([&](Values& v) {
    v.draft.reset();
    v.checkpoint.reset();
    v.own = entry_->parameters.without(*v.own, Decides::drafter);
  });
}

MethodSpec MethodSpec::without_drafter_device() const {
  return with([](Values& v) { v.drafter_device.clear(); });
}

MethodSpec MethodSpec::as_decoded() const {
  return with([&](Values& v) {
    v.drafter_device.clear();
    v.shard_draft.reset();
    v.own = entry_->parameters.without(*v.own, Decides::price);
  });
}

bool MethodSpec::same_drafter(const MethodSpec& other) const {
  if (entry_ != other.entry_) return false;
  const auto drafter = [](const MethodSpec& m) {
    return m.as_decoded().with([&](Values& v) {
      v.tree.reset();
      v.draft_length.reset();
      v.own = m.entry_->parameters.without(*v.own, Decides::drafts);
      if (v.draft) v.draft->name = v.draft->last_name();
      if (v.checkpoint) v.checkpoint->name = v.checkpoint->last_name();
    });
  };
  return drafter(*this) == drafter(other);
}

bool operator==(const MethodSpec& a, const MethodSpec& b) {
  return a.entry_ == b.entry_ && a.draft_length() == b.draft_length() && a.key_ == b.key_;
}

bool operator<(const MethodSpec& a, const MethodSpec& b) {
  if (a.entry_ != b.entry_) return a.entry_->name < b.entry_->name;
  if (a.draft_length() != b.draft_length()) return a.draft_length() < b.draft_length();
  return a.key_ < b.key_;
}

}  // namespace draftline
