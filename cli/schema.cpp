// SPDX-License-Identifier: Apache-2.0
// `draftline schema KIND`: the JSON Schema of a kind of file, for editors (docs/recipes/editor.md).
#include <iostream>

#include "cli/command.h"
#include "inputs/schema/file_schema.h"

namespace draftline::cli {

void add_schema(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("schema", "print the JSON Schema of a kind of file, with which editors complete and check");
  auto kind = std::make_shared<std::string>();
  verb->add_option("kind", *kind, "kind of file; acceptance: the value of a method's \"acceptance\"")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kSchemaKinds.begin(), kSchemaKinds.end())));
  verb->callback([kind, &chosen] {
    chosen = {AcrossRanks::first_alone, [kind](const Common& common) {
                std::cout << file_schema(*kind, Catalogue(common.data)).dump(1) << "\n";
                return kFine;
              }};
  });
}

}  // namespace draftline::cli
