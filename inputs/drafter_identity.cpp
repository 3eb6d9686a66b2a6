// SPDX-License-Identifier: Apache-2.0
#include "inputs/drafter_identity.h"

#include "core/fingerprint.h"
#include "decoder/checkpoint/drafter_folder.h"
#include "methods/table.h"

namespace draftline {

namespace {

DrafterIdentity of_network(const NamedNetwork& draft, Catalogue& catalogue) try {
  const auto shape = catalogue.transformer(draft);
  return {catalogue.weights(shape.get()).value_or(""), shape_fingerprint(*shape)};
} catch (const InputErrors&) { return {}; }  // who reads the network says what is wrong there

DrafterIdentity of_folder(const NamedFile& checkpoint, DrafterKind kind) {
  const std::filesystem::path folder = checkpoint.path();
  DrafterIdentity d;
  try {
    d.config = to_hex(
        Document::from_file(folder / "config.json", disk(), JsonDialect::python).root().input_files().begin()->second);
    d.weights = weights_name(drafter_fingerprint(folder, kind));
  } catch (const InputErrors&) {}  // who reads the folder says what is wrong there
  return d;
}

}  // namespace

DrafterIdentity identity_of_drafter(const MethodSpec& m, Catalogue& catalogue) {
  if (m.draft()) return of_network(*m.draft(), catalogue);
  if (m.checkpoint()) return of_folder(*m.checkpoint(), *m.entry().checkpoint);
  return {};
}

}  // namespace draftline
