// SPDX-License-Identifier: Apache-2.0
// A method and its parameters as a value, for scenarios, rows of papers and files of measurements. The draft length is
// typed; the other parameters remain JSON, which the method itself reads when a decoder is built.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/reader.h"
#include "model/engines/speculation.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

namespace methods {
struct Entry;
}

// The draft length in a method's object, under "draft_length" or "num_speculative_tokens" (vLLM); none if it is
// missing.
std::optional<Reader> draft_length_in(const Reader& method);

class MethodSpec {
 public:
  MethodSpec();                                // plain decoding
  explicit MethodSpec(const methods::Entry&);  // with default parameters
  // Makes the spec of a method's object: {"name": "medusa", "draft_length": 3, ..}. Reads the name, the draft length
  // and "shard_draft". An unknown name is noted as a mistake and gives plain decoding. "acceptance" is no parameter.
  explicit MethodSpec(const Reader& object);
  MethodSpec(const methods::Entry&, const Reader& parameters);  // from an object without a name

  const methods::Entry& entry() const { return *entry_; }
  std::string_view name() const;
  bool is_plain() const;  // whether this is plain decoding
  Speculation speculation() const { return is_plain() ? Speculation::off : Speculation::on; }
  std::optional<int> draft_length() const { return draft_length_; }  // none: the method's default, or a tree
  bool shards_draft() const { return shards_draft_; }  // divides the draft network among the target's ranks
  const nlohmann::json& parameters() const { return *parameters_; }  // object without name and draft length
  nlohmann::json object() const;                                     // {"name", "draft_length", ..}
  std::string label() const;                                         // "draft_model draft:llama-3.2-1b"
  const Reader& in() const { return in_; }  // from which parameters are read and at which mistakes are noted

  // This method with chains of `drafts` tokens; none if it can't draft them for that target.
  std::optional<MethodSpec> with_draft_length(int drafts, const TransformerShape& target) const;
  // This method's drafter with chains of `drafts` tokens instead of its own drafts, a tree for example; none as above.
  std::optional<MethodSpec> as_chain(int drafts, const TransformerShape& target) const;
  // Whether its parameters set the shape of drafts besides the length: a tree, widths.
  bool says_drafts() const;
  // Whether its parameters do not set the shape of drafts, and the default is a tree.
  bool drafts_default_tree() const;
  bool says_shard_draft() const;  // whether its parameters have "shard_draft"
  // Divides its draft network where the ranks divide its heads. Bug unless the method has one.
  MethodSpec with_draft_sharded_if_possible() const;
  bool shards_draft_if_possible() const { return shards_if_possible_; }
  MethodSpec with_sharded_draft() const;  // Bug unless the method has a draft network
  MethodSpec with_parameter(const std::string& key, const nlohmann::json& value) const;

  // Whether both have the same network or heads, regardless of draft length and tree. Networks are compared by file
  // name.
  bool same_drafter(const MethodSpec&) const;
  // This method on the target's device, without "drafter_device" (inputs/drafter_device).
  MethodSpec without_drafter_device() const;
  // This method without the parameters that change no token: where its drafter runs, whether its network is divided,
  // and what only its price depends on.
  MethodSpec as_decoded() const;

  // To be called after a decoder was built. Throws InputErrors with all mistakes of the document; parameters that were
  // not read are mistakes.
  void finish() const;

  // Compares name, draft length and parameters, not the document.
  friend bool operator==(const MethodSpec&, const MethodSpec&);
  friend bool operator<(const MethodSpec&, const MethodSpec&);

 private:
  MethodSpec(const methods::Entry&, const nlohmann::json& parameters, const std::filesystem::path& file);
  void read_typed();

  const methods::Entry* entry_;
  Reader in_;
  std::shared_ptr<const nlohmann::json> parameters_;
  std::optional<int> draft_length_;
  bool shards_draft_ = false, shards_if_possible_ = false;
};

}  // namespace draftline
