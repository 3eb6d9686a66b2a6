// SPDX-License-Identifier: Apache-2.0
// Reads data/devices/*.json. Every part names its source; "borrowed_from" says that a fit is a relative's.
#include "model/device.h"

namespace draftline {

namespace {

void read_origin(const Reader& in) {
  in.at("source").text();
  in.at("locator").text();
  if (const auto note = in.find("note")) note->text();
  if (const auto kind = in.find("kind")) kind->text();
}
Seconds seconds(const Reader& in, std::string_view key) { return in.at(key).quantity<Seconds>(0.0); }
double positive(const Reader& in, std::string_view key, double most = 1e6) { return in.at(key).number(1e-9, most); }

GemmFit read_gemm(const Reader& in) {
  GemmFit f;
  f.fixed = seconds(in, "fixed");
  f.peak_share = positive(in, "peak_share", 2);
  f.bandwidth_share = positive(in, "bandwidth_share", 2);
  f.blend = positive(in, "blend");
  f.k_loop = seconds(in, "k_loop");
  f.l2_speed = positive(in, "l2_speed");
  f.l2_share = positive(in, "l2_share");
  f.split = seconds(in, "split");
  f.tile_half = in.at("tile_half").number(0, 1e6);
  f.output_cost = in.at("output_cost").number(0, 100);
  f.latency = seconds(in, "latency");
  f.wave_softness = in.at("wave_softness").number(0, 1);
  return f;
}

DecodeAttentionFit read_decode(const Reader& in) {
  DecodeAttentionFit f;
  f.fixed = seconds(in, "fixed");
  f.per_unit = seconds(in, "per_unit");
  f.bandwidth_share = positive(in, "bandwidth_share", 2);
  f.ramp = in.at("ramp").number(0, 1e6);
  f.l2_speed = positive(in, "l2_speed");
  f.l2_share = positive(in, "l2_share");
  f.blend = positive(in, "blend");
  return f;
}

PrefillAttentionFit read_prefill(const Reader& in) {
  PrefillAttentionFit f;
  f.fixed = seconds(in, "fixed");
  f.peak_share = positive(in, "peak_share", 2);
  f.bandwidth_share = positive(in, "bandwidth_share", 2);
  f.per_wave = seconds(in, "per_wave");
  f.blend = positive(in, "blend");
  f.wave_softness = in.at("wave_softness").number(0, 1);
  return f;
}

}  // namespace

Device read_device(Reader in) {
  Device d;
  d.name = in.file().stem().string();
  d.title = in.at("title").text();

  const Reader sheet = in.at("datasheet");
  read_origin(sheet);
  d.source = sheet.at("source").text();
  for (const auto& [key, rate] : sheet.at("peak").entries()) {
    if (const auto t = dtype_named(key)) d.peak[static_cast<std::size_t>(*t)] = rate.quantity<FlopsPerSecond>();
    else rate.fail("unknown number format \"" + key + "\"");
  }
  if (!in.failed() && d.peak_of(DType::bf16).value == 0 && d.peak_of(DType::fp16).value == 0)
    sheet.at("peak").fail("at least \"bf16\" or \"fp16\" is needed");
  d.bandwidth = sheet.at("bandwidth").quantity<BytesPerSecond>();
  d.memory = sheet.at("memory").quantity<Bytes>();
  d.l2 = sheet.at("l2").quantity<Bytes>();
  d.multiprocessors = sheet.at("multiprocessors").positive_int(100000);
  sheet.done();

  const Reader fits = in.at("fits");
  read_origin(fits);
  d.fits.source = fits.at("source").text();
  if (const auto from = fits.find("borrowed_from")) {
    from->text();
    d.fits.borrowed = true;
  }
  const Reader gemm = fits.at("gemm"), decode = fits.at("decode_attention"), prefill = fits.at("prefill_attention"),
               copy = fits.at("copy");
  d.fits.gemm = read_gemm(gemm);
  gemm.done();
  d.fits.decode = read_decode(decode);
  decode.done();
  d.fits.prefill = read_prefill(prefill);
  prefill.done();
  read_origin(copy);
  d.fits.copy = {seconds(copy, "fixed"), positive(copy, "bandwidth_share", 2)};
  copy.done();
  fits.done();

  if (const auto link = in.find("all_reduce")) {
    read_origin(*link);
    for (const Reader& point : link->at("points").items()) {
      d.all_reduce.push_back({point.at("ranks").integer(2, 1024), point.at("message").quantity<Bytes>(), seconds(point, "time")});
      point.done();
    }
    link->done();
  }
  in.done();
  return d;
}

}  // namespace draftline
