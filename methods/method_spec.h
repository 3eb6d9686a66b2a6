// SPDX-License-Identifier: Apache-2.0
// A method and its parameters as a value: what a scenario, a paper's row or a file of measurements names. The draft
// length is typed; the parameters that only the method's own file understands stay one blob, read when a decoder is
// built of it.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/reader.h"
#include "model/transformer_shape.h"

namespace draftline {

namespace methods {
struct Entry;
}

// Where a method's object says how many tokens are drafted: "draft_length", or "num_speculative_tokens" as in vLLM.
std::optional<Reader> draft_length_in(const Reader& method);

class MethodSpec {
 public:
  MethodSpec();                                // plain autoregressive decoding
  explicit MethodSpec(const methods::Entry&);  // with its defaults
  // The method's object: {"name": "medusa", "draft_length": 3, ..}. Reads the name, the draft length and whether the
  // draft network is divided; an unknown name is noted, and plain decoding is meant then. "acceptance" is another's to
  // read.
  explicit MethodSpec(const Reader& object);
  MethodSpec(const methods::Entry&, const Reader& parameters);  // whose name stands elsewhere

  const methods::Entry& entry() const { return *entry_; }
  std::string_view name() const;
  bool is_plain() const;                                             // plain decoding: no drafts at all
  std::optional<int> draft_length() const { return draft_length_; }  // none: the method's usual drafts, or a tree
  bool shards_draft() const { return shards_draft_; }  // divides the draft network among the target's ranks
  const nlohmann::json& parameters() const { return *parameters_; }  // an object: all but name and draft length
  nlohmann::json object() const;                                     // {"name", "draft_length", ..}
  std::string label() const;                                         // "draft_model draft:llama-3.2-1b"
  const Reader& in() const { return in_; }  // where its parameters are read, and their mistakes noted

  // The same method with chains of so many drafts; none where it can't draft them for that target.
  std::optional<MethodSpec> with_draft_length(int drafts, const TransformerShape& target) const;
  // The same drafter with a chain in place of what it drafts, a tree for example.
  std::optional<MethodSpec> as_chain(int drafts, const TransformerShape& target) const;
  MethodSpec with_sharded_draft() const;  // of a method with a draft network
  MethodSpec with_parameter(const std::string& key, const nlohmann::json& value) const;

  // The same network or heads, whatever is drafted with them; a network is known by its file's name.
  bool same_drafter(const MethodSpec&) const;

  // After a decoder was built of it: InputErrors with all mistakes of its document, parameters that nobody read among
  // them.
  void finish() const;

  // By name, draft length and parameters; not by where it stands.
  friend bool operator==(const MethodSpec&, const MethodSpec&);
  friend bool operator<(const MethodSpec&, const MethodSpec&);

 private:
  MethodSpec(const methods::Entry&, const nlohmann::json& parameters, const std::filesystem::path& file);
  void read_typed();

  const methods::Entry* entry_;
  Reader in_;
  std::shared_ptr<const nlohmann::json> parameters_;
  std::optional<int> draft_length_;
  bool shards_draft_ = false;
};

}  // namespace draftline
