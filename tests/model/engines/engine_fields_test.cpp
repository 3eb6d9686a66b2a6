// SPDX-License-Identifier: Apache-2.0
#include "model/engines/engine_fields.h"

#include <set>

#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

template <class Fields>
void check_rows(const Fields& fields) {
  std::set<std::string_view> keys;
  for (const auto& f : fields) {
    INFO(f.key);
    CHECK(keys.insert(f.key).second);
    CHECK_FALSE(f.meaning.empty());
    CHECK_FALSE(f.meaning.ends_with("."));
    CHECK_FALSE(unit_of(f).empty());
  }
}

Engine engine_with(const std::string& terms) {
  const std::string profile = R"({"name": "a", "version": "1", "source": "s", "locator": "l", "ops": {})" + terms + "}";
  return read_whole(Document::from_text(profile, "engine.json"), read_engine);
}

}  // namespace

TEST_CASE("every value of a profile has a key of its own and a meaning") {
  check_rows(engine_fields());
  check_rows(op_fields());
  check_rows(card_fields());
  check_rows(link_rule_fields());
  check_rows(padding_fields());
}

TEST_CASE("a profile without terms has the defaults, which are within the ranges") {
  const Engine plain, read = engine_with("");
  for (const EngineField& f : engine_fields()) {
    INFO(f.key);
    CHECK(is_default<Engine>(f, read));
    CHECK(text_of<Engine>(f, read) == text_of<Engine>(f, plain));
  }
}

TEST_CASE("a term is read by its row, and may be a guess with an interval") {
  const Engine e = engine_with(R"(,
    "draft_pass": {"value": "0.25 ms", "low": "0.1 ms", "high": "0.4 ms", "kind": "guess", "because": "why"})");
  const EngineField& field = engine_field("draft_pass");
  CHECK(&field == &engine_field(&Engine::draft_pass));
  CHECK(text_of<Engine>(field, e) == "250 us");
  CHECK(unit_of<Engine>(field) == "time");
  CHECK(e.guesses == std::vector<std::string>{"draft_pass"});
}

TEST_CASE("a term whose prior is of what it adds to another one is fitted as that") {
  const EngineField &step = engine_field("step"), &speculating = engine_field("step_speculating");
  CHECK(speculating.adds_to(step));
  CHECK_FALSE(step.adds_to(speculating));
  CHECK(speculating.title() == "host, each speculating step, beyond `step`");
  Engine e;
  e.step = Seconds{2}, e.step_speculating = Seconds{5};
  CHECK(speculating.fitted_value(e) == 3);
  speculating.set_fitted_value(e, 1);
  CHECK(e.step_speculating == Seconds{3});
  CHECK(step.fitted_value(e) == 2);
  CHECK_THROWS_AS(engine_field("graphs").fitted_value(e), Bug);
  CHECK_THROWS_AS(engine_field("grahps"), Bug);
}

TEST_CASE("lists of counts are shown by their ends") {
  Engine e;
  const EngineField& sizes = engine_field("graph_sizes");
  CHECK(text_of<Engine>(sizes, e) == "none");
  e.graph_sizes = {1, 2, 4};
  CHECK(text_of<Engine>(sizes, e) == "1, 2, 4");
  e.graph_sizes = {1, 2, 4, 8, 16, 32};
  CHECK(text_of<Engine>(sizes, e) == "1, 2, 4, ..., 32");
}
