// SPDX-License-Identifier: Apache-2.0
#include "core/nearest_word.h"

#include <vector>

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("a slip of the pen finds the word that was meant") {
  const std::vector<std::string> known{"draft_length", "batch_size", "engine", "eagle3", "name"};
  CHECK(nearest_word("draft_lenght", known) == "draft_length");
  CHECK(nearest_word("batchsize", known) == "batch_size");
  CHECK(nearest_word("Engine", known) == "engine");
  CHECK(nearest_word("eagle", known) == "eagle3");
  CHECK(nearest_word("mane", known) == std::nullopt);  // two letters of four are no slip
  CHECK(nearest_word("temperature", known) == std::nullopt);
  CHECK(nearest_word("", known) == std::nullopt);
  CHECK(nearest_word(std::string(100000, 'a'), known) == std::nullopt);
}

TEST_CASE("among words equally near the first wins") {
  const std::vector<std::string> known{"bf16", "fp16"};
  CHECK(nearest_word("f16", known) == "bf16");
  CHECK(nearest_word("fb16", known) == "bf16");  // swapped neighbours are one slip
}

TEST_CASE("an engine's option is answered with our key, where that may stand") {
  const std::vector<std::string_view> known{"tensor_parallel", "batch_size", "to"};
  CHECK(did_you_mean("tp", known) == "; did you mean \"tensor_parallel\"?");  // not "to"
  CHECK(did_you_mean("tensor_parallel_size", known) == "; did you mean \"tensor_parallel\"?");
  CHECK(did_you_mean("num_speculative_tokens", known) == "");
  CHECK(did_you_mean("batchsize", known) == "; did you mean \"batch_size\"?");
}
