// SPDX-License-Identifier: Apache-2.0
#include "inputs/drafter_identity.h"

#include "core/fingerprint.h"
#include "decoder/checkpoint/drafter_folder.h"
#include "methods/table.h"

namespace draftline {

namespace {

// A key of the method's object, which stays unread: the method itself reads it.
std::optional<Reader> looked_up(const MethodSpec& m, std::string_view key) {
  if (!m.in().is_object()) return std::nullopt;
  for (const auto& [name, value] : m.in().look())
    if (name == key) return value;
  return std::nullopt;
}

DrafterIdentity of_network(const Reader& draft, Catalogue& catalogue) {
  const auto shape = catalogue.transformer(draft);
  if (!shape) return {};
  return {catalogue.weights(shape.get()).value_or(""), shape_fingerprint(*shape)};
}

DrafterIdentity of_folder(const Reader& checkpoint, DrafterKind kind) {
  if (!checkpoint.is_string()) return {};
  const std::filesystem::path folder = checkpoint.file().parent_path() / checkpoint.text();
  DrafterIdentity d;
  try {
    d.config = to_hex(Document::from_file(folder / "config.json").root().input_files().begin()->second);
    d.weights = weights_name(drafter_fingerprint(folder, kind));
  } catch (const InputErrors&) {}  // who reads the folder says what is wrong there
  return d;
}

}  // namespace

DrafterIdentity identity_of_drafter(const MethodSpec& m, Catalogue& catalogue) {
  if (m.entry().draft_network)
    if (const auto draft = looked_up(m, "draft")) return of_network(*draft, catalogue);
  if (m.entry().checkpoint)
    if (const auto checkpoint = looked_up(m, "checkpoint")) return of_folder(*checkpoint, *m.entry().checkpoint);
  return {};
}

}  // namespace draftline
