// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/acceptance_table.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

AcceptanceTable read(const std::string& rows) {
  const Document text = Document::from_text(rows, "table.json");
  const auto table = read_acceptance_table(text.root());
  text.finish();
  return table;
}
std::string mistakes_of_rows(const std::string& rows) {
  return mistake_of([&] { read(rows); });
}

}  // namespace

TEST_CASE("rates lie on a line between measured draft lengths, and beyond them are the nearest's") {
  // vLLM pull request 48892: the first position is accepted with 83.4 % of one draft, with 76.2 % of eight.
  const auto table = read(R"([{"draft_length": 1, "rates": [0.834]},
                              {"draft_length": 3, "rates": [0.8, 0.6, 0.4]}])");
  CHECK(table.by_length());
  CHECK(!table.by_context());
  CHECK(table.longest() == 3);
  CHECK(table.rates(1000, 1) == std::vector<double>{0.834});
  CHECK(table.rates(1000, 3) == std::vector<double>{0.8, 0.6, 0.4});
  CHECK(table.rates(1000, 2).front() == Approx(0.817));
  CHECK(table.rates(1000, 2).back() == Approx(0.6));  // one draft says nothing of a second
  CHECK(!table.extrapolated(1, 1e6, 2));
  const auto longer = read(R"([{"draft_length": 3, "rates": [0.8, 0.6, 0.4]}])");
  CHECK(longer.rates(1, 1) == std::vector<double>{0.8});
  CHECK(*longer.extrapolated(1, 1e6, 1) ==
        "the acceptance of 1 draft is that of the first of 3, the shortest chain measured");
}

TEST_CASE("rates lie on a line in the logarithm of the context, and beyond measured ones are the nearest's") {
  const auto table = read(R"([{"context": 1000, "rates": [0.8, 0.6]}, {"context": 100000, "rates": [0.4, 0.2]}])");
  CHECK(table.by_context());
  CHECK(table.rates(10000, 2).front() == Approx(0.6));
  CHECK(table.rates(10000, 2).back() == Approx(0.4));
  CHECK(table.rates(10, 2) == std::vector<double>{0.8, 0.6});
  CHECK(table.rates(1e6, 1) == std::vector<double>{0.4});
  CHECK(!table.extrapolated(1000, 100000, 2));
  CHECK(*table.extrapolated(500, 2000, 2) ==
        "the acceptance at a context of 500 tokens is that at 1000, the shortest measured");
  CHECK(*table.extrapolated(2000, 200000, 2) ==
        "the acceptance at a context of 200000 tokens is that at 100000, the longest measured");
  const AcceptanceTable ragged = read(R"([{"context": 2000, "draft_length": 1, "rates": [0.8]},
      {"context": 2000, "draft_length": 4, "rates": [0.8, 0.7, 0.6, 0.5]},
      {"context": 32000, "draft_length": 4, "rates": [0.6, 0.5, 0.4, 0.3]}])");
  CHECK(!ragged.extrapolated(2000, 30000, 4));
  CHECK(*ragged.extrapolated(2000, 30000, 2) ==  // between chains of 1, of which only one context is known, and of 4
        "the acceptance at a context of 30000 tokens is that at 2000, the longest measured with 1 draft");
}

TEST_CASE("a row's rates may be given in each form that a chain's acceptance has") {
  const auto table = read(R"([{"context": 1, "draft_length": 2, "per_position": [0.8, 0.4]},
                              {"context": 2, "draft_length": 2, "rate": 0.5},
                              {"context": 4, "draft_length": 2, "mean_length": 1.75}])");
  CHECK(table.rates(1, 2) == std::vector<double>{0.8, 0.5});
  CHECK(table.rates(2, 2) == std::vector<double>{0.5, 0.5});
  CHECK(table.rates(4, 2).front() == Approx(0.5));
}

TEST_CASE("tables that say nothing, too much or something else in each row are refused with the row") {
  CHECK(mistakes_of_rows("[]") == "table.json#: at least one row is needed");
  CHECK(mistakes_of_rows(R"([{"context": 1}])").find("#/0: give one of") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"rates": [0.5], "rate": 0.5}])").find("#/0: give one of") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"rates": []}])").find("#/0/rates: at least one") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"rates": [1.5]}])").find("#/0/rates/0") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"rate": 0.5}])").find("#/0: \"rate\", \"accepted_share\" and \"mean_length\" need") !=
        std::string::npos);
  CHECK(mistakes_of_rows(R"([{"draft_length": 2, "rates": [0.5]}])").find("#/0: 1 rates of 2 drafts") !=
        std::string::npos);
  CHECK(mistakes_of_rows(R"([{"draft_length": 2, "mean_length": 3.5}])").find("#/0/mean_length") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"rates": [0.5]}, {"context": 9, "rates": [0.5]}])").find("#/1: \"context\" stands") !=
        std::string::npos);
  CHECK(mistakes_of_rows(R"([{"rates": [0.5]}, {"draft_length": 1, "rates": [0.5]}])")
            .find("#/1: \"draft_length\" stands") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"context": 1, "rates": [0.5]}, {"context": 2, "rates": [0.5, 0.5]}])")
            .find("#/1: rows of different lengths") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"context": 1, "rates": [0.5]}, {"context": 1, "rates": [0.6]}])")
            .find("#/1: another row") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"context": 0, "rates": [0.5]}])").find("#/0/context") != std::string::npos);
  CHECK(mistakes_of_rows(R"([{"contexts": 1, "rates": [0.5]}])").find("did you mean \"context\"?") !=
        std::string::npos);
}
