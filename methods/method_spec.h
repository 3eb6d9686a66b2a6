// SPDX-License-Identifier: Apache-2.0
// A method and its parameters as a value, for scenarios, rows of papers and files of measurements.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/mistake.h"
#include "core/reader.h"
#include "methods/draft_tree.h"
#include "methods/named_file.h"
#include "model/engines/speculation.h"

namespace draftline {

namespace methods {
struct Entry;
struct Parameters;
}  // namespace methods

// Whether a draft network is divided among the target's ranks; `if_possible` where the ranks divide its heads.
enum class ShardDraft { no, yes, if_possible };

class MethodSpec {
 public:
  MethodSpec();                                // plain decoding
  explicit MethodSpec(const methods::Entry&);  // with default parameters
  // Makes the spec of a method's object: {"name": "medusa", "draft_length": 3, ..}. Mistakes are noted, but for unknown
  // keys, which are known once the "acceptance" of a scenario is read. An unknown name gives plain decoding.
  explicit MethodSpec(const Reader& object);
  MethodSpec(const methods::Entry&, const Reader& parameters);  // from an object without a name

  const methods::Entry& entry() const { return *entry_; }
  std::string_view name() const;
  bool is_plain() const;  // whether this is plain decoding
  Speculation speculation() const { return is_plain() ? Speculation::off : Speculation::on; }
  std::optional<int> draft_length() const { return values_->draft_length; }  // none: the method's default, or a tree
  int drafts() const;  // the draft length, given or the method's default; 0: a tree, or it depends on other parameters
  const std::optional<DraftTree>& tree() const { return values_->tree; }
  const std::optional<NamedNetwork>& draft() const { return values_->draft; }         // the draft network
  const std::optional<NamedFile>& checkpoint() const { return values_->checkpoint; }  // the trained drafter's folder
  std::optional<ShardDraft> shard_draft() const { return values_->shard_draft; }      // none: nothing is said
  bool shards_draft() const { return shard_draft() == ShardDraft::yes; }
  bool shards_draft_if_possible() const { return shard_draft() == ShardDraft::if_possible; }
  template <class P>
  const P& own() const {  // the parameters that its file declares
    return static_cast<const P&>(*values_->own);
  }
  nlohmann::json value(std::string_view key) const;  // of one of these, given or by default; null if there is none

  nlohmann::json parameters() const;                           // those that are given, without name and draft length
  nlohmann::json object() const;                               // {"name", "draft_length", ..}
  std::string label() const;                                   // "draft_model draft:llama-3.2-1b"
  const std::string& place() const { return values_->place; }  // file and pointer of its object, for messages

  // A mistake that parameters make together, whatever the target.
  std::optional<Mistake> mistake() const;

  // This method with chains of `drafts` tokens; none if it can't draft them for that target.
  std::optional<MethodSpec> with_draft_length(int drafts, const TransformerShape& target) const;
  // This method's drafter with chains of `drafts` tokens instead of its own drafts, a tree for example; none as above.
  std::optional<MethodSpec> as_chain(int drafts, const TransformerShape& target) const;
  // Whether its parameters set the shape of drafts besides the length: a tree, widths.
  bool says_drafts() const;
  // Whether its parameters do not set the shape of drafts, and the default is a tree.
  bool drafts_default_tree() const;
  MethodSpec with_shard_draft(ShardDraft) const;  // Bug unless the method has a draft network
  MethodSpec with_draft(NamedNetwork) const;
  MethodSpec with_drafter_of(const MethodSpec&) const;  // with its names of draft network and checkpoint
  // This method without what names or shapes its trained network or heads.
  MethodSpec without_drafter() const;

  // Whether both have the same network or heads, regardless of draft length and tree. Networks are compared by file
  // name.
  bool same_drafter(const MethodSpec&) const;
  bool has_drafter_device() const { return !values_->drafter_device.empty(); }
  // This method on the target's device, without "drafter_device" (inputs/drafter_device).
  MethodSpec without_drafter_device() const;
  // This method without the parameters that change no token: where its drafter runs, whether its network is divided,
  // and what only its price depends on.
  MethodSpec as_decoded() const;

  // Compares name, draft length and parameters, not the place.
  friend bool operator==(const MethodSpec&, const MethodSpec&);
  friend bool operator<(const MethodSpec&, const MethodSpec&);

 private:
  struct Values {
    std::optional<int> draft_length = {};
    std::optional<DraftTree> tree = {};
    std::optional<NamedNetwork> draft = {};
    std::optional<NamedFile> checkpoint = {};
    std::optional<ShardDraft> shard_draft = {};
    std::string drafter_device = {};  // as JSON, which inputs/drafter_device reads; "": the target's
    std::shared_ptr<const methods::Parameters> own;
    std::string place;
  };
  MethodSpec(const methods::Entry&, Values);
  static Values read(const methods::Entry&, const Reader&);
  template <class Change>
  MethodSpec with(Change) const;

  const methods::Entry* entry_;
  std::shared_ptr<const Values> values_;
  std::string key_;  // parameters() as text
};

// Reads a method whose unknown keys are mistakes too; of a whole document, throws InputErrors with all of them.
MethodSpec read_method(const Reader& object);
MethodSpec read_method(const Document&);

// A mistake in a method's parameters that its target or drafter shows. The message has its place; who has the reader
// of the method's object notes it there.
class MethodMistake : public InputErrors {
 public:
  MethodMistake(const MethodSpec& m, Mistake mistake)
      : InputErrors(m.place() + mistake.pointer + ": " + mistake.text), mistake_(std::move(mistake)) {}
  const Mistake& mistake() const { return mistake_; }

 private:
  Mistake mistake_;
};

}  // namespace draftline
