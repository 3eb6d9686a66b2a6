// SPDX-License-Identifier: Apache-2.0
// What servers do over time, as charts of a page of `simulate`.
#include "reports/load_history.h"

#include <sstream>

#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/reports/elements.h"

namespace draftline {

namespace {

constexpr Ticks kSecond = 1'000'000'000'000;

StepRun step(Ticks start, Ticks time, int waiting, int server = 0) {
  StepRun r;
  r.start = start, r.first = time, r.steps = 1;
  r.waiting = waiting, r.sequences = 2, r.kv_blocks = 7, r.server = server;
  return r;
}

std::string page_of(const LoadHistory& h) {
  std::ostringstream out;
  const InputFiles none;
  const Output to{out, Format::html, {"simulate", "data"}};
  const auto page = new_page(to, "", none);
  h.show_on(*page);
  page->finish();
  return without_scripts(out.str());
}

// The chart with that title, from its drawing on.
std::string chart_of(const std::string& page, const std::string& title) {
  const auto from = page.find("aria-label=\"" + title + "\"");
  REQUIRE(from != std::string::npos);
  return page.substr(from, page.find("</figure>", from) - from);
}

LoadHistory started(const FleetShape& fleet = {}) {
  LoadHistory h;
  SchedulerLimits limits;
  limits.kv_blocks = 100;
  h.on_start(fleet, limits);
  return h;
}

}  // namespace

TEST_CASE("the moments of a load end with the last step, also where the first begins late") {
  LoadHistory h = started();
  // A moment is 1/64 s or shorter; the last step fills the last second alone.
  for (int i = 0; i < 10; ++i) h.on_step(step((100 + i) * kSecond + 12'345, kSecond, i));
  const std::string queue = chart_of(page_of(h), "Queue");
  const int moments = count_of(queue, "<title>");
  CHECK(moments >= 60);
  CHECK(moments <= 120);
  CHECK(count_of(queue, "in each moment: 9</title>") >= moments / 10 - 1);
  CHECK(count_of(queue, "in each moment: 9</title>") <= moments / 10 + 2);
  CHECK(contains(queue, "time: 100 s\n"));
  CHECK(!contains(queue, "time: 0 s"));
}

TEST_CASE("a long run has as many moments as a short one, each with its largest value") {
  LoadHistory h = started();
  for (int i = 0; i < 100'000; ++i) h.on_step(step(i * kSecond, kSecond / 2, i == 77'777 ? 50 : 1));
  const std::string queue = chart_of(page_of(h), "Queue");
  CHECK(count_of(queue, "<title>") >= 60);
  CHECK(count_of(queue, "<title>") <= 120);
  CHECK(count_of(queue, "in each moment: 50</title>") == 1);
}

TEST_CASE("the whole pool is that of every server, also of those that run no step") {
  FleetShape fleet;
  fleet.replicas = 3;
  LoadHistory h = started(fleet);
  for (const int server : {0, 1}) h.on_step(step(0, kSecond, 4, server));
  const std::string page = page_of(h), pool = chart_of(page, "KV pool");
  CHECK(contains(chart_of(page, "Queue"), "in each moment: 8</title>"));  // both wait at once
  CHECK(contains(pool, "in each moment: 14</title>"));
  CHECK(contains(pool, ">300</text>"));  // an axis up to three pools of 100 blocks
  CHECK(contains(pool, "all servers</li>"));
}

TEST_CASE("without a step there is nothing to show over time") { CHECK(!contains(page_of(started()), "Over time")); }

}  // namespace draftline
