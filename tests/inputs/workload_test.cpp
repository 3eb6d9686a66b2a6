// SPDX-License-Identifier: Apache-2.0
#include "inputs/workload.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "core/gzip.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

WorkloadTrace read(const std::string& name, const std::string& text) {
  const FreshFolder folder;
  std::ofstream(folder.path() / name, std::ios::binary) << text;
  return read_workload_trace(folder.path() / name);
}
std::string refusal(const std::string& name, const std::string& text) {
  try {
    read(name, text);
  } catch (const InputErrors& e) {
    const std::string what = e.what();
    return what.substr(what.find(name));
  }
  return "none";
}
std::string shown(const WorkloadTrace& t) {
  std::string all;
  for (const RecordedRequest& r : t.requests) {
    const double tenths = std::round(10 * r.arrival);
    all += std::to_string(static_cast<int>(tenths)) + "/" + std::to_string(r.prompt) + "/" + std::to_string(r.output) +
           " ";
  }
  return all;
}

const std::string kPlain = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.3,396,109\n";

}  // namespace

TEST_CASE("the formats that others publish are read, times from the first arrival") {
  CHECK(shown(read("a.csv", kPlain)) == "0/374/44 43/396/109 ");
  CHECK(shown(read("a.csv.gz", gzip(kPlain))) == "0/374/44 43/396/109 ");
  CHECK(shown(read("a.csv",
                   "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.5000000,374,44\n"
                   "2023-11-17 00:00:01.0000000,396,109\n")) == "0/374/44 15/396/109 ");
  CHECK(shown(read("a.csv",
                   "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-28 23:59:59.000000+00:00,1,2\n"
                   "2024-03-01 00:00:00.000000+00:00,3,4\n")) == "0/1/2 864010/3/4 ");  // a leap year
  CHECK(shown(read("a.csv",
                   "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                   "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,Conversation log\n")) ==
        "0/472/18 400/1087/230 ");
  CHECK(shown(read("a.jsonl", R"({"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]})"
                              "\n"
                              R"({"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": []})")) ==
        "0/6955/52 31/6472/26 ");
  CHECK(shown(read("a.jsonl", R"({"arrival_time": 1787267980.08, "input_toks": 2358, "output_toks": 531})")) ==
        "0/2358/531 ");
  const WorkloadTrace benchmark = read("a.json", R"({"input_lens": [10, 20], "output_lens": [1, 2], "rest": 0})");
  CHECK(shown(benchmark) == "0/10/1 0/20/2 ");
  CHECK_FALSE(benchmark.has_arrivals);
  CHECK(shown(read("a.json", R"({"input_lens": [10, 20], "output_lens": [1, 2], "start_times": [5, 7.5]})")) ==
        "0/10/1 25/20/2 ");
  CHECK_FALSE(read("a.csv", "num_prefill_tokens,num_decode_tokens\n4,5\n").has_arrivals);
}

TEST_CASE("a line whose parsed form would fill the memory is refused, however small its file is packed") {
  std::string ids = "46";
  while (ids.size() < (std::size_t{4} << 20)) ids += ",46";
  const std::string line = R"({"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [)" + ids + "]}";
  CHECK(refusal("a.jsonl.gz", gzip(line)) == "a.jsonl.gz:1: a line of more than 4194304 bytes");
}

TEST_CASE("names of prefix blocks have 32 bits, and those of one prompt differ") {
  const auto line = [](const std::string& ids) {
    return R"({"timestamp": 1, "input_length": 1600, "output_length": 2, "hash_ids": [)" + ids + "]}\n";
  };
  CHECK(read("a.jsonl", line("7, 2147483647, -2147483648") + line("7, 9")).prefix_hashes ==
        std::vector<std::vector<int>>{{7, 2147483647, std::numeric_limits<int>::min()}, {7, 9}});
  CHECK(refusal("a.jsonl", line("7, 8") + line("9, 7, 8, 7")) ==
        "a.jsonl:2: \"hash_ids\" contains 7 twice: a hash identifies a block and all blocks before it");
  for (const char* id : {"18446744073709551615", "18446744073709551616", "9223372036854775808", "2147483648",
                         "-2147483649", "7.5", "true", "\"7\"", "null", "[7]"}) {
    INFO(id);
    CHECK(refusal("a.jsonl", line("1, " + std::string(id))) == "a.jsonl:1: \"hash_ids\" must be 32-bit integers");
  }
}

TEST_CASE("requests that failed in BurstGPT are left out, and those of other traces are mistakes") {
  const std::string head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
                    failed = "118,GPT-4,417,0,417,Conversation log\n";
  CHECK(shown(read("b.csv", head + "5,ChatGPT,472,18,490,Conversation log\n" + failed +
                                "120,GPT-4,11,7,18,API log\n")) == "0/472/18 1150/11/7 ");
  CHECK(refusal("b.csv", head + failed) == "b.csv: contains no requests");
}

TEST_CASE("hostile traces are refused with file and line") {
  const std::string head = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  CHECK(refusal("a.csv", head + "0,1,1\n1,5,0\n") == "a.csv:3: has an output of 0 tokens");
  CHECK(refusal("a.csv", head + "0,1,1\n1,-5,3\n") == "a.csv:3: has a prompt of -5 tokens");
  CHECK(refusal("a.csv", head + "-1,1,1\n") == "a.csv:2: has a negative arrival time");
  CHECK(refusal("a.csv", head + "5,1,1\n4,1,1\n") == "a.csv:3: arrives before the preceding request");
  CHECK(refusal("a.csv", head + "nan,1,1\n").starts_with("a.csv:2: "));
  CHECK(refusal("a.csv", head + "1e999,1,1\n").starts_with("a.csv:2: "));
  CHECK(refusal("a.csv", head + "1,99999999999,1\n") == "a.csv:2: has more than 16 million tokens");
  CHECK(refusal("a.csv", head) == "a.csv: contains no requests");
  CHECK(refusal("a.csv", "when,what\n1,2\n").starts_with("a.csv:1: has no known columns"));
  CHECK(refusal("a.csv", "arrived_at,num_prefill_tokens\n1,2\n").starts_with("a.csv: "));
  CHECK(
      refusal("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:46,1,1\n").starts_with("a.csv:2: "));
  CHECK(refusal("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n")
            .starts_with("a.csv:2: \"yesterday\" is not a time"));
  const std::string packed = gzip(kPlain);
  CHECK(refusal("a.csv.gz", packed.substr(0, packed.size() - 9)) != "none");
  CHECK(refusal("a.jsonl", "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 1}\n{\"timest") ==
        "a.jsonl:2: is not a JSON object");
  CHECK(refusal("a.jsonl", "\n{\"timestamp\": 1, \"input_length\": 5}").starts_with("a.jsonl:2: \"output_length\""));
  CHECK(refusal("a.jsonl", R"({"timestamp": 1, "input_length": 5.5, "output_length": 1})") ==
        "a.jsonl:1: \"input_length\" is not a whole number");
  CHECK(refusal("a.jsonl", R"({"when": 1})").starts_with("a.jsonl:1: has none of"));
  CHECK(refusal("a.json", R"({"input_lens": [1], "output_lens": [1, 2]})").find("equal lengths") != std::string::npos);
  CHECK(
      refusal("a.json", R"({"input_lens": [1, 1, 1], "output_lens": [1, 1, 1], "start_times": [5, -2, 6]})") ==
      "a.json#/output_lens/1: has a negative arrival time");  // noted once: what follows is compared with the row above
  CHECK(refusal("a.doc", "x").starts_with("a.doc: must be a .csv"));
}

TEST_CASE("arrival processes have the rate and the variation they promise") {
  const auto gaps = [](const ArrivalProcess& a) {
    Workload w;
    w.arrivals = a;
    w.requests = 200'000;
    w.prompt = w.output = FixedLength{1};
    Requests requests(w, 7);
    double last = 0, squares = 0;
    while (const auto r = requests.next()) {
      const double t = to_seconds(r->arrival).value;
      squares += (t - last) * (t - last);
      last = t;
    }
    const double mean = last / 200'000;
    return std::pair(1 / mean, std::sqrt(squares / 200'000 / (mean * mean) - 1));
  };
  using Kind = ArrivalProcess::Kind;
  const auto [rate, variation] = gaps({Kind::poisson, 6});
  CHECK(rate == Approx(6).epsilon(0.01));
  CHECK(variation == Approx(1).epsilon(0.01));
  const auto [gamma_rate, gamma_variation] = gaps({Kind::gamma, 6, 2.5});
  CHECK(gamma_rate == Approx(6).epsilon(0.02));
  CHECK(gamma_variation == Approx(2.5).epsilon(0.02));
  const auto [bursts, burst_variation] = gaps({Kind::on_off, 20, 1, 0.5, 1.5});
  CHECK(bursts == Approx(5).epsilon(0.02));  // on a quarter of the time
  CHECK(burst_variation > 2);
  // It begins on; each phase that passes without an arrival, the first too, is followed by one that is off: half of
  // them at 1 arrival a phase, so one phase of 100 s and one of 1 s on average, before the first.
  Workload rare;
  rare.arrivals = {Kind::on_off, 1, 1, 1, 100};
  rare.requests = 1;
  rare.prompt = rare.output = FixedLength{1};
  double first = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed)
    first += to_seconds(Requests(rare, seed).next()->arrival).value / 20'000;
  CHECK(first == Approx(101).epsilon(0.04));  // deviates by 173 s: 1.2 s of the mean
}

TEST_CASE("one by one, requests keep the lengths of a trace and not its arrivals") {
  Workload w;
  w.arrivals.kind = ArrivalProcess::Kind::trace;
  w.arrival_trace = w.length_trace = std::make_shared<const WorkloadTrace>(read("t.csv", kPlain));
  w.prompt = w.output = RecordedLength{};
  w.requests = 2;
  const Workload alone = one_by_one(w);
  CHECK(alone.arrivals.kind == ArrivalProcess::Kind::closed);
  Requests requests(alone, 7), recorded(w, 7);
  for (int i = 0; i < 2; ++i) {
    const auto now = requests.next(), then = recorded.next();
    CHECK(now->arrival == 0);
    CHECK(now->prompt == then->prompt);
    CHECK(now->output == then->output);
  }
}

TEST_CASE("where one side of a trace's lengths is replaced, the other stays as recorded") {
  const FreshFolder folder;
  std::ofstream(folder.path() / "t.csv") << "num_prefill_tokens,num_decode_tokens\n100,20\n50,30\n";
  const auto workload = [&](const std::string& lengths) {
    const auto document = Document::from_text(
        R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 4, "lengths": {"trace": "t.csv")" +
            lengths + "}}",
        folder.path() / "s.json");
    Catalogue catalogue(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data");
    Workload w = read_workload(document.root(), catalogue);
    document.finish();
    return w;
  };
  const auto columns = [](const Workload& w) {
    std::string prompts, outputs;
    for (Requests requests(w, 7); const auto r = requests.next();)
      prompts += std::to_string(r->prompt) + " ", outputs += std::to_string(r->output) + " ";
    return std::pair(prompts, outputs);
  };
  CHECK(columns(workload("")) == std::pair<std::string, std::string>("100 50 100 50 ", "20 30 20 30 "));
  CHECK(columns(workload(R"(, "prompt": 7)")) == std::pair<std::string, std::string>("7 7 7 7 ", "20 30 20 30 "));
  CHECK(columns(workload(R"(, "output": 7)")) == std::pair<std::string, std::string>("100 50 100 50 ", "7 7 7 7 "));
  const Workload drawn = workload(R"(, "prompt": {"distribution": "lognormal"})");
  CHECK(std::get<LognormalLength>(drawn.prompt).log_mean == Approx(std::log(100.0 * 50) / 2));
  CHECK(columns(drawn).second == "20 30 20 30 ");
  CHECK(mean_output(drawn) == Approx(25));
  CHECK_FALSE(workload(R"(, "prompt": 7, "order": "random")").lengths_in_order);
  CHECK(contains(mistake_of([&] { workload(R"(, "prompt": 7, "output": 7, "order": "random")"); }),
                 "s.json#/lengths/order: has no meaning beside the other keys here"));
}

TEST_CASE("a prefix that prompts share is a number of tokens, or those of several groups") {
  const FreshFolder folder;
  std::ofstream(folder.path() / "azure.csv") << kPlain;
  std::ofstream(folder.path() / "mooncake.jsonl")
      << R"({"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [7]})";
  const auto workload = [&](const std::string& lengths, const std::string& arrivals = R"("process": "poisson",
                                                                                         "rate": "1 /s")") {
    const auto document =
        Document::from_text(R"({"arrivals": {)" + arrivals + R"(}, "requests": 1, "lengths": {)" + lengths + "}}",
                            folder.path() / "s.json");
    Catalogue catalogue(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data");
    Workload w = read_workload(document.root(), catalogue);
    document.finish();
    return w;
  };
  const Workload one = workload(R"("shared_prefix": 1800)");
  REQUIRE(one.shared_prefix);
  CHECK(one.shared_prefix->tokens == 1800);
  CHECK(one.shared_prefix->groups == 1);
  CHECK(std::holds_alternative<ScenarioLength>(one.prompt));
  const Workload ten = workload(R"("prompt": 7, "output": 3, "shared_prefix": {"tokens": 20, "groups": 10})");
  CHECK(ten.shared_prefix->groups == 10);
  CHECK(std::get<FixedLength>(ten.prompt).tokens == 7);
  CHECK_FALSE(workload(R"("prompt": 7, "output": 3, "shared_prefix": 0)").shared_prefix);
  CHECK(workload(R"("trace": "azure.csv", "shared_prefix": 9)").shared_prefix);
  CHECK(workload(R"("trace": "mooncake.jsonl", "prompt": 7, "shared_prefix": 9)").shared_prefix);
  const Workload recorded = workload(R"("shared_prefix": 9)", R"("trace": "azure.csv")");
  CHECK(Requests(recorded, 1).next()->prompt == 374);

  const auto mistake = [&](const std::string& lengths, const std::string& arrivals) {
    const std::string all = mistake_of([&] { workload(lengths, arrivals); });
    return all.substr(std::min(all.size(), all.find("s.json#")));
  };
  const std::string poisson = R"("process": "poisson", "rate": "1 /s")";
  const std::string at = "s.json#/lengths/shared_prefix";
  CHECK(mistake(R"("shared_prefix": -1)", poisson) == at + ": must be at least 0, got -1");
  CHECK(mistake(R"("shared_prefix": {"groups": 2})", poisson).starts_with(at));
  CHECK(contains(mistake(R"("shared_prefix": {"tokens": 2, "group": 2})", poisson), at + "/group: unknown key"));
  CHECK(mistake(R"("shared_prefix": {"tokens": 16777216, "groups": 17})", poisson) ==
        at + ": all groups together must have at most 268435456 tokens");
  for (const auto& [lengths, arrivals] :
       {std::pair<std::string, std::string>{R"("trace": "mooncake.jsonl", )", poisson},
        {"", R"("trace": "mooncake.jsonl")"}}) {
    const std::string all = mistake(lengths + R"("shared_prefix": 9)", arrivals);
    CHECK(contains(all, at + ": the prompts of "));
    CHECK(contains(all, "mooncake.jsonl already have prefix blocks"));
  }
}

TEST_CASE("lengths are drawn from the distribution asked for") {
  const auto moments = [](const Lengths& l) {
    Rng rng(3, "lengths");
    double sum = 0, squares = 0;
    constexpr int kDraws = 200'000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_length(l, rng);
      sum += x / kDraws;
      squares += x * x / kDraws;
    }
    return std::pair(sum, std::sqrt(squares - sum * sum));
  };
  CHECK(moments(FixedLength{7}).first == Approx(7));
  CHECK(moments(UniformLength{10, 20}).first == Approx(15).epsilon(0.01));
  CHECK(moments(ExponentialLength{500}).second == Approx(500).epsilon(0.02));
  const auto [mean, deviation] = moments(GammaLength{400, 200});
  CHECK(mean == Approx(400).epsilon(0.01));
  CHECK(deviation == Approx(200).epsilon(0.01));
  const double s2 = std::log1p(0.25);
  const auto [log_mean, log_deviation] = moments(LognormalLength{std::log(400) - s2 / 2, std::sqrt(s2)});
  CHECK(log_mean == Approx(400).epsilon(0.01));
  CHECK(log_deviation == Approx(200).epsilon(0.02));
}

}  // namespace draftline
