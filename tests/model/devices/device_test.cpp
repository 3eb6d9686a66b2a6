// SPDX-License-Identifier: Apache-2.0
#include "model/devices/device.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/errors.h"
#include "core/text_file.h"
#include "model/engines/engine.h"
#include "model/kernels/cpu_time.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

const std::filesystem::path kDevices = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/devices";

std::string device_text(const std::string& name) {
  std::ifstream in(kDevices / (name + ".json"));
  return {std::istreambuf_iterator<char>(in), {}};
}

// The mistakes in a device's file after `from` became `to`; it borrows from its true neighbours.
std::string mistakes_of_edited(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = device_text(name);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const auto document = Document::from_text(text, kDevices / (name + ".json"));
  read_device(document.root());
  return mistake_of([&] { document.finish(); });
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every device that is promised is there, whole, with an origin for each group of its numbers") {
  const auto name = GENERATE(as<std::string>{}, "a100-sxm", "a100-pcie", "a800-pcie", "a10g", "rtx-3060", "rtx-4090",
                             "l40s", "h100-sxm", "h200", "b200", "l4", "a10", "rtx-3090", "rtx-5090", "rtx-pro-6000",
                             "h20", "gb200", "gh200", "h20-3e", "gb10", "rtx-a6000", "a100-sxm-40gb");
  const Device d = known_device(name);
  CHECK(d.name == name);
  CHECK_FALSE(d.title.empty());
  for (const Origin& o : d.datasheet) CHECK(o.kind == "quoted");
  CHECK(d.peak_of(DType::bf16).value > d.peak_of(DType::fp32).value);
  CHECK(d.peak_of(DType::int8).value >= 2 * d.peak_of(DType::bf16).value - 2e13);
  CHECK(d.bandwidth.value >= 2.5e11);
  const AttentionFit& attention = d.gpu().attention.fits.front();
  for (const Origin* o :
       {&d.gpu().gemm.origin, &attention.decode.origin, &attention.prefill.origin, &d.gpu().copy.origin}) {
    CHECK_FALSE(o->source.empty());
    CHECK_FALSE(o->locator.empty());
    if (!o->borrowed_from.empty()) CHECK_FALSE(o->because.empty());
  }
  for (const LinkTable& t : d.links.tables) CHECK_FALSE(t.origin.source.empty());
}

TEST_CASE("devices of other vendors and older ones have a datasheet with sources and the fits of a relative") {
  const auto name = GENERATE(as<std::string>{}, "v100-sxm", "t4", "mi300x", "mi325x", "mi355x", "arc-pro-b60",
                             "m3-ultra", "m4-max", "ryzen-ai-max");
  const Device d = known_device(name);
  CAPTURE(name);
  for (const Origin& o : d.datasheet) CHECK((o.kind == "guess") == (o.source == "draftline-estimate"));
  CHECK(d.gpu().has_transferred_fits());
  const auto& gemm = d.gpu().gemm.origin.interval;
  REQUIRE(gemm);
  CHECK(gemm->low < 0.85);  // of a card of another architecture
  CHECK(matrix_rate(d, DType::bf16, DType::bf16) >= d.peak_of(DType::fp32));
  CHECK_FALSE(has_capability("9.0", d.links.compute_capability));
}

TEST_CASE("the same chip with a slower memory reaches a larger share of it, up to that of copies") {
  const Device fast = known_device("a100-sxm"), slow = known_device("a100-sxm-40gb");
  const double share = fast.gpu().gemm.bandwidth_share, most = slow.gpu().copy.bandwidth_share;
  CHECK(share * (fast.bandwidth / slow.bandwidth) > most);
  CHECK(slow.gpu().gemm.bandwidth_share == most);
  CHECK(known_device("a100-pcie").gpu().gemm.bandwidth_share == share);  // which does not state it
  CHECK(slow.gpu().experts->bandwidth_share >= fast.gpu().experts->bandwidth_share);
  CHECK(known_device("h20").gpu().gemm.bandwidth_share == known_device("h200").gpu().gemm.bandwidth_share);
}

TEST_CASE("a device needs a rate in bf16, or in fp16 if it has no bf16") {
  CHECK(known_device("t4").peak_of(DType::bf16).value == 0);
  CHECK(matrix_rate(known_device("t4"), DType::bf16, DType::bf16) == known_device("t4").peak_of(DType::fp16));
  CHECK(holds(mistakes_of_edited("t4", "\"fp16\"", "\"fp8\""), "no block gives the peak of bf16, or of fp16"));
}

TEST_CASE("the A100's datasheet balances 153.02 FLOP per byte") {
  const Device d = known_device("a100-sxm");
  CHECK(d.peak_of(DType::bf16) / d.bandwidth / FlopsPerByte{1} == Approx(153.02).margin(0.005));
}

TEST_CASE("a device is priced as a CPU or as a GPU, by what its file has") {
  const Device cpu = known_device("cpu"), gpu = known_device("a100-sxm");
  REQUIRE(cpu.cpu() != nullptr);
  CHECK(gpu.cpu() == nullptr);
  CHECK(cpu.cpu()->caches[2] == cpu.l2);
  CHECK(cpu.cpu()->gemm.origin.interval.has_value());
  CHECK(launch_time(gpu) == gpu.gpu().copy.fixed);
  CHECK(copy_bandwidth(*cpu.cpu()).value == Approx(1 / cpu.cpu()->elements.byte.value));
  CHECK(copy_bandwidth(gpu) < gpu.bandwidth);
}

TEST_CASE("borrowed coefficients are the relative's own, and the device says whose") {
  const Device lender = known_device("l40s"), borrower = known_device("a10g");
  CHECK(borrower.gpu().has_transferred_fits());
  CHECK_FALSE(lender.gpu().has_transferred_fits());
  CHECK(borrower.gpu().gemm.origin.borrowed_from == "l40s");
  CHECK(borrower.gpu().gemm.k_loop == lender.gpu().gemm.k_loop);
  CHECK(borrower.gpu().attention.fits.front().decode.per_unit == lender.gpu().attention.fits.front().decode.per_unit);
  CHECK(borrower.bandwidth != lender.bandwidth);
}

TEST_CASE(
    "a device file may have fits of narrow operands, its own or a relative's, and how their library takes tiles") {
  std::string text = device_text("a10g");
  const std::string gemm = R"("gemm_fp8": {"kind": "guess", "source": "me", "locator": "here", "fixed": "3 us",
      "peak_share": 0.7, "bandwidth_share": 0.8, "blend": 3, "k_loop": "1 us", "l2_speed": 2, "l2_share": 0.5,
      "split": "1 us", "tile_half": 10, "output_cost": 1, "latency": "0.1 us", "wave_softness": 0.5,
      "tiles": "by_rows_256"}, "gemm_fp8_block": {"borrowed_from": "h100-sxm", "because": "a test"}, )";
  text.insert(text.find("\"gemm\""), gemm);
  const auto document = Document::from_text(text, kDevices / "mine.json");
  const Device d = read_device(document.root());
  document.finish();
  const auto& own = d.gpu().narrow_gemm[NarrowFormat::fp8];
  REQUIRE(own);
  CHECK(own->fixed.value == Approx(3e-6));
  CHECK(own->tiles == GemmTiles::by_rows_256);
  CHECK(own->origin.source == "me");
  REQUIRE(d.gpu().narrow_gemm[NarrowFormat::fp8_block]);
  CHECK(d.gpu().narrow_gemm[NarrowFormat::fp8_block]->origin.borrowed_from == "h100-sxm");
  CHECK_FALSE(d.gpu().narrow_gemm[NarrowFormat::nvfp4]);
  CHECK_FALSE(d.gpu().narrow_experts[NarrowFormat::fp8]);
  CHECK(holds(mistakes_of_edited("a10g", "\"gemm\": {",
                                 R"("gemm_nvfp4": {"borrowed_from": "l40s", "because": "x"}, "gemm": {)"),
              "has no gemm_nvfp4 to lend"));
  CHECK(holds(
      mistakes_of_edited("a10g", "\"gemm\": {", R"("gemm_fp9": {"borrowed_from": "l40s", "because": "x"}, "gemm": {)"),
      "unknown key"));
  CHECK(holds(
      mistakes_of_edited("a10g", "\"gemm\": {", gemm.substr(0, gemm.find("by_rows_256")) + "wide\"}, \"gemm\": {"),
      "by_rows_256"));
}

TEST_CASE("a device file may say what elementwise ops take one by one") {
  const std::string own = R"("l2_share": 0.5, "ops": {"rms_norm": {"fixed": "1.4 us", "l2_speed": 2}}, )";
  std::string text = device_text("a100-sxm");
  const std::size_t copy = text.find("\"copy\": {");
  text.insert(text.find("\"fixed\"", copy), own);
  const auto document = Document::from_text(text, kDevices / "mine.json");
  const Device d = read_device(document.root()), before = known_device("a100-sxm");
  document.finish();
  Copy norm{.read = Bytes{1e6}, .written = Bytes{1e6}, .op = ElementOp::rms_norm}, gate = norm;
  gate.op = ElementOp::silu_mul;
  CHECK(kernel_time(d, gate) == kernel_time(before, gate));
  CHECK(kernel_time(d, norm).value == Approx(1.4e-6 + 2e6 / (2 * d.bandwidth.value)).epsilon(1e-3));  // in L2
  norm.read = Bytes{1e9};
  const double share = before.gpu().copy.bandwidth_share;
  CHECK(kernel_time(d, norm).value == Approx(1.4e-6 + 1.001e9 / (share * d.bandwidth.value)).epsilon(1e-3));
  text.replace(text.find("rms_norm"), 8, "layernrm");
  const auto wrong = Document::from_text(text, kDevices / "mine.json");
  read_device(wrong.root());
  CHECK(holds(mistake_of([&] { wrong.finish(); }), "/ops/layernrm: is no elementwise op that is timed"));
}

TEST_CASE("a device file with a mistake says where it is") {
  CHECK(mistakes_of_edited("a100-sxm", "\"2039 GB/s\"", "\"2039 GB\"").find("#/datasheet/0/bandwidth") !=
        std::string::npos);
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"l2\"", "\"l3\""), "no block gives the l2"));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"k_loop\": \"", "\"k_lop\": \""), "did you mean \"k_loop\""));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"multiprocessors\": 108", "\"multiprocessors\": 0"), "at least 1"));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"kind\": \"quoted\"", "\"kind\": \"qoted\""), "quoted"));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"locator\"", "\"page\""), "locator"));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"fp32\"", "\"fp31\""), "unknown number format"));
  CHECK(mistakes_of_edited("a100-sxm", "\"quoted\"", "\"measured\"") == "none");
}

TEST_CASE("a file names attention's fits by library and cache; files of before have one fit without a name") {
  const std::string kernel = "\"library\": \"flash_attention_2\"";
  CHECK(mistakes_of_edited("a100-sxm", kernel, "\"library\": \"flashinfer\"") == "none");
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"layout\": \"swapped\"", "\"layout\": \"swaped\""),
              "#/fits/attention/kernels/0/prefill/layout"));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"cache\": \"bf16\"", "\"cache\": \"bf61\""),
              "#/fits/attention/kernels/0/cache"));
  CHECK(holds(mistakes_of_edited("h100-sxm", "\"cache\": \"fp8\"", "\"cache\": \"bf16\""),
              "#/fits/attention/kernels/1: this library over a cache of this format is given twice"));
  CHECK(holds(mistakes_of_edited("a100-sxm", "\"other_library\"", "\"other_libary\""), "unknown key"));
  const auto fits = known_device("h100-sxm").gpu().attention.fits;
  CHECK(std::count_if(fits.begin(), fits.end(), [](const auto& f) { return f.form == AttentionForm::ordinary; }) == 4);

  // A file of before: the relative's names are not its own, and `packed` said what its layout is.
  std::string text = read_text_file(kDevices / "a10g.json");
  const auto at = text.find("\"attention\": ");
  REQUIRE(at != std::string::npos);
  const auto end = text.find('}', at);
  const std::string lent = R"({"borrowed_from": "h100-sxm", "because": "so"})";
  text.replace(at, end + 1 - at, "\"decode_attention\": " + lent + ", \"prefill_attention\": " + lent);
  const auto document = Document::from_text(text, kDevices / "a10g.json");
  const Device old = read_device(document.root());
  document.finish();
  REQUIRE(old.gpu().attention.fits.size() == 1);
  const AttentionFit& fit = old.gpu().attention.fits[0];
  CHECK(fit.library.empty());
  CHECK(fit.decode.per_unit == known_device("h100-sxm").gpu().attention.fits[0].decode.per_unit);
  CHECK(fit.prefill.layout == HeadLayout::packed);
  CHECK(fit.prefill.origin.borrowed_from == "h100-sxm");
}

TEST_CASE("the coefficients that only a layout has are read where a file names them, and else cost nothing") {
  std::string text = device_text("h100-sxm");
  const std::string packed = R"("layout": "packed")";
  REQUIRE(text.find(packed) != std::string::npos);
  text.replace(text.find(packed), packed.size(),
               R"("layout": "stacked", "per_stage": "2 us", "per_tile_row": "100 ns", "per_part": "40 ns")");
  const auto document = Document::from_text(text, kDevices / "mine.json");
  const PrefillAttentionFit fit = read_device(document.root()).gpu().attention.fits.at(0).prefill;
  document.finish();
  CHECK(fit.layout == HeadLayout::stacked);
  CHECK(fit.per_stage.value == Approx(2e-6));
  CHECK(fit.per_tile_row.value == Approx(100e-9));
  CHECK(fit.per_part.value == Approx(40e-9));
  CHECK(fit.per_part_row.value == 0);
  CHECK(fit.per_key.value == 0);
}

TEST_CASE("links are lent without what the lender's devices are, and beside them a file says what its own are") {
  const Links lender = known_device("h100-sxm").links;
  REQUIRE(lender.compute_capability == "9.0");
  REQUIRE(lender.switched);
  const auto with_links = [](const std::string& more) {
    std::string text = device_text("rtx-3060");
    const std::string own = R"("compute_capability": "8.6")";
    REQUIRE(text.find(own) != std::string::npos);
    text.replace(text.find(own), own.size(), R"("borrowed_from": "h100-sxm", "because": "so")" + more);
    const auto document = Document::from_text(text, kDevices / "mine.json");
    const Device d = read_device(document.root());
    document.finish();
    return d.links;
  };
  const Links lent = with_links("");
  CHECK(lent.compute_capability.empty());
  CHECK(lent.switched);
  REQUIRE(lent.tables.size() == lender.tables.size());
  CHECK(lent.tables[0].origin.borrowed_from == "h100-sxm");
  const Links own = with_links(R"(, "switched": false, "compute_capability": "8.9")");
  CHECK(own.compute_capability == "8.9");
  CHECK_FALSE(own.switched);
  CHECK(own.tables.size() == lender.tables.size());
  CHECK(known_device("h20").links.compute_capability == "9.0");
  CHECK(known_device("gb200").links.compute_capability == "10.0");
}

TEST_CASE("borrowing from nobody, from elsewhere or in a ring is a mistake, not a crash") {
  CHECK(
      holds(mistakes_of_edited("a10g", "\"borrowed_from\": \"l40s\"", "\"borrowed_from\": \"l41s\""), "can't be read"));
  CHECK(holds(mistakes_of_edited("a10g", "\"borrowed_from\": \"l40s\"", "\"borrowed_from\": \"../l40s\""),
              "must be the name of a device"));
  CHECK(holds(mistakes_of_edited("a10g", "\"borrowed_from\": \"l40s\"", "\"borrowed_from\": \"cpu\""),
              "is a CPU, which has no GPU kernels to lend"));
  const FreshFolder folder;
  std::string text = device_text("a10g");
  for (auto at = text.find("\"l40s\""); at != std::string::npos; at = text.find("\"l40s\""))
    text.replace(at, 6, "\"ring\"");
  std::ofstream(folder.path() / "ring.json") << text;
  const auto document = Document::from_file(folder.path() / "ring.json");
  read_device(document.root());
  CHECK_THROWS_AS(document.finish(), InputErrors);
}

TEST_CASE(
    "a device's links: in every library's table more bytes or more ranks never cost less; no link is the user's "
    "mistake") {
  const auto name = GENERATE(as<std::string>{}, "a100-sxm", "h100-sxm", "l40s", "h200", "b200", "rtx-4090");
  const Device d = known_device(name);
  REQUIRE(d.links.connects(8));
  CHECK(d.links.connects(16) == d.links.between_nodes.has_value());
  for (const LinkTable& t : d.links.tables) {
    CAPTURE(name, t.library);
    for (const int ranks : {2, 3, 4, 8}) {
      if (!t.knows(ranks)) continue;
      Seconds before{};
      for (Bytes bytes{16}; bytes.value < 1e11; bytes = 1.7 * bytes) {
        const Seconds time = t.time(ranks, bytes);
        CHECK(time >= before);
        CHECK(time < bytes / BytesPerSecond{5e8} + Seconds{1e-3});
        before = time;
      }
    }
  }
  CHECK_FALSE(known_device("rtx-3060").links.connects(2));
}

TEST_CASE(
    "what vLLM calls on an H100: one shot, two shots and symmetric memory by size; NCCL over PCIe with four cards") {
  const Device h100 = known_device("h100-sxm"), l40s = known_device("l40s"), a100 = known_device("a100-sxm");
  const Engine now = known_engine("vllm-0.19"), old = known_engine("vllm-0.10");
  const auto takes = [](const Device& d, const Engine& e, int ranks, double kib, const char* library) {
    EngineLinks rules = e.links;
    rules.rank_skew = {};
    const Bytes message{1024 * kib};
    const LinkTable* t = d.links.find(library, Collective::all_reduce, ranks);
    return t != nullptr &&
           collective_time(d.links, rules, {Collective::all_reduce, message, ranks}, d.name) == t->time(ranks, message);
  };
  CHECK(takes(h100, now, 2, 4096, "one_shot"));
  CHECK(takes(h100, now, 4, 256, "one_shot"));
  CHECK(takes(h100, now, 4, 512, "two_shot"));
  CHECK(takes(h100, now, 8, 128, "one_shot"));
  CHECK(takes(h100, now, 8, 256, "symmetric_memory"));
  CHECK(takes(h100, old, 8, 256, "two_shot"));
  CHECK(takes(h100, now, 8, 64 * 1024, "symmetric_memory"));
  CHECK(takes(h100, now, 8, 65 * 1024, "nccl"));
  CHECK(takes(a100, now, 8, 4096, "two_shot"));
  CHECK(takes(a100, now, 4, 8192, "nccl"));
  CHECK(takes(l40s, now, 2, 64, "one_shot"));
  CHECK(takes(l40s, now, 4, 64, "nccl"));
  CHECK(takes(a100, known_engine("tgi-1.1"), 4, 64, "nccl"));
}

TEST_CASE("a device file may give the points of one library alone, as a probe writes them: NCCL's") {
  std::string text = device_text("m4-max");
  text.insert(text.find("\"fits\""),
              R"("all_reduce": {"kind": "measured", "source": "draftline-probe", "locator": "here", "groups": [
                   {"ranks": 2, "points": [{"message": "1 KiB", "time": "9 us"}]}]}, )");
  const auto document = Document::from_text(text, kDevices / "mine.json");
  const Device d = read_device(document.root());
  document.finish();
  REQUIRE(d.links.find("nccl", Collective::all_reduce, 2));
  CHECK(d.links.tables[0].time(2, Bytes{8}).value == Approx(9e-6));
}
