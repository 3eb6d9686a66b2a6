// SPDX-License-Identifier: Apache-2.0
#include "core/csv.h"

#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

using namespace draftline;

static Csv csv(std::string text) { return Csv::from_text(std::move(text), "t.csv"); }

TEST_CASE("cells are found by row and column name") {
  const Csv t = csv("name,m,time_s\ngemm,16,1.5e-3\nattention,-3,\n");
  CHECK(t.rows() == 2);
  CHECK(t.columns() == std::vector<std::string>{"name", "m", "time_s"});
  CHECK(t.text(0, "name") == "gemm");
  CHECK(t.integer(1, "m") == -3);
  CHECK(t.number(0, "time_s") == 0.0015);
  CHECK(t.numbers("m") == std::vector<double>{16, -3});
  CHECK(t.has("m"));
  CHECK_FALSE(t.has("M"));
}

TEST_CASE("quotes, commas and line breaks within cells, and every line ending, are understood") {
  const Csv t =
      csv("\xEF\xBB\xBF"
          "a,b\r\n\"x,\"\"y\"\"\",\"two\nlines\"\r\n\r\n\"\",last");
  REQUIRE(t.rows() == 2);
  CHECK(t.columns()[0] == "a");
  CHECK(t.text(0, "a") == "x,\"y\"");
  CHECK(t.text(0, "b") == "two\nlines");
  CHECK(t.text(1, "a") == "");
  CHECK(t.text(1, "b") == "last");
  CHECK(csv("a,b\n1,").text(0, "b") == "");
  CHECK(csv("a,b").rows() == 0);
}

TEST_CASE("a mistake names file and line") {
  CHECK(mistake_of([] { csv("a,b\n1,2\n3\n"); }) == "t.csv:3: 1 cells, but the header has 2");
  CHECK(mistake_of([] { csv("a\n1\n").number(0, "b"); }) == "t.csv: no column \"b\"");
  CHECK(mistake_of([] { csv("time_s\n1\n").column("time"); }) == "t.csv: no column \"time\"; is it \"time_s\"?");
  CHECK(mistake_of([] { csv("a,b\n\"x\ny\",1\nz,2x\n").numbers("b"); }) == "t.csv:4: b must be a number, got \"2x\"");
  for (const auto* cell : {"nan", "inf", "1e999", " 1", "1 ", "0x10", "+1", "--1", "1,5"})
    CHECK(starts_with(mistake_of([&] { csv("a\n\"" + std::string(cell) + "\"\n").number(0, "a"); }),
                      "t.csv:2: a must be a number"));
  CHECK(contains(mistake_of([] { csv("a\n1.5\n").integer(0, "a"); }), "whole number"));
  CHECK(mistake_of([] { csv(""); }) == "t.csv: is empty, not even a header");
  CHECK(mistake_of([] { csv("a,a\n"); }) == "t.csv:1: the column \"a\" stands twice");
  CHECK(mistake_of([] { csv("a\n\"x\n"); }) == "t.csv:2: a quoted cell has no end");
  CHECK(mistake_of([] { csv("a\nx\"y\"\n"); }) == "t.csv:2: a quote within a cell");
  CHECK(mistake_of([] { csv("a\n\"x\"y\n"); }) == "t.csv:2: a quote within a cell");
  const std::string parquet = mistake_of([] { csv(std::string("PAR1\0\x15", 6)); });
  CHECK(starts_with(parquet, "t.csv: is a Parquet file, of which draftline reads none; convert it to CSV:"));
  CHECK(contains(parquet, "duckdb -c \"COPY (FROM 'TABLE.parquet') TO 'TABLE.csv'\""));
}

TEST_CASE("a packed table reads like a plain one") {
  const FreshFolder folder;
  write_text_file(folder.path() / "t.csv.gz", "a\n7\n");
  CHECK(Csv::from_file(folder.path() / "t.csv.gz").integer(0, "a") == 7);
}
