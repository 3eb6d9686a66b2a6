// SPDX-License-Identifier: Apache-2.0
// The schema of a device's file (docs/recipes/your_gpu.md).
#include "inputs/schema/fit_schema.h"
#include "model/devices/device.h"

namespace draftline::schema {

namespace {

// Values of a key that is still read.
Json former(Json values) {
  values["deprecated"] = true;
  return values;
}

Json interval() {
  return object({needed("low", number(1e-3, 1), "lower end, over the prediction"),
                 needed("high", number(1, 1e3), "upper end, over the prediction")});
}

Json datasheet() {
  std::vector<std::string_view> formats;
  for (const Named<DType>& type : kDTypes)
    if (type.value != DType::int32) formats.push_back(type.name);
  const Json rates = map(formats, quantity<FlopsPerSecond>());
  const Keys values{optional("peak", rates, "rates of dense matrix products, by format of the operands"),
                    optional("bandwidth", quantity<BytesPerSecond>(), "of the memory"),
                    optional("memory", quantity<Bytes>(), "size of the memory"),
                    optional("l2", quantity<Bytes>(), "size of the last cache before memory"),
                    optional("multiprocessors", positive_int(100000), "number of multiprocessors"),
                    optional("power_watts", number(1, 1e5), "thermal design power")};
  Json blocks = list(object(origin_keys() + values));
  for (const char* key : {"bandwidth", "memory", "l2", "multiprocessors"})
    blocks["allOf"].push_back({{"contains", {{"required", {key}}}}, {"maxContains", 1}});
  for (const Json& peaks : {Json::array({"fp32"}), Json::array({"bf16", "fp16"})}) {
    Json any = Json::array();
    for (const Json& peak : peaks)
      any.push_back({{"contains", {{"properties", {{"peak", {{"required", {peak}}}}}}, {"required", {"peak"}}}}});
    blocks["allOf"].push_back({{"anyOf", any}});
  }
  return blocks;
}

Keys borrowed() {
  return {needed("borrowed_from", text(false), "the related device whose fits are taken"),
          needed("because", text(), "why its fits may stand for this device's")};
}

// A block that is the device's own, or a relative's.
Json own_or_borrowed(const Json& own) {
  const Keys all = borrowed() + Keys{optional("same_chip", boolean(),
                                              "the relative has the same chip and another "
                                              "memory")};
  return if_given("borrowed_from", object(all), own);
}

Json fit(const Keys& keys) { return object(keys + origin_keys()); }

Keys gemm() {
  return keys_of_fit<GemmFit>() + Keys{optional("tiles", value_in(kGemmTiles), "how a library chooses tiles")};
}

Json copy() {
  const Json ops = map(kElementOps, object(keys_of_fit<ElementwiseFit>()));
  return fit(keys_of_fit<CopyFit>() + Keys{optional("ops", ops, "ops that were timed separately")});
}

Json decode_attention() { return fit(keys_of_fit<DecodeAttentionFit>()); }

Json prefill_attention() {
  const auto with = [](Key key) { return fit(keys_of_fit<PrefillAttentionFit>() + Keys{std::move(key)}); };
  return if_given("packed", with(needed("packed", former(boolean()), "true: layout packed; false: apart")),
                  with(needed("layout", value_in(kHeadLayouts), "how a library arranges heads and rows in tiles")));
}

Json attention_fits() {
  const Json kernel = object({optional("library", text(), "the attention library, as engine profiles name it"),
                              needed("cache", value_in(kDTypes), "format of the cache"),
                              optional("form", value_in(kAttentionForms), "latent attention has forms of its own"),
                              needed("decode", decode_attention(), "one row per sequence"),
                              needed("prefill", prefill_attention(), "time of many rows per sequence")});
  Json other = object(origin_keys());
  other["required"].push_back("interval");
  return own_or_borrowed(
      object({needed("kernels", list(own_or_borrowed(kernel)), "fits of libraries' kernels"),
              optional("other_library", other, "error where another library's fit stands for one that is missing")}));
}

Json delta_net_fits() {
  const Json stream = object(keys_of_fit<StreamFit>());
  return fit({needed("rule", stream, "the rule of a decode step"), needed("convolution", stream, "of a decode step"),
              needed("prompt_convolution", stream, "of a prompt"),
              needed("prompt_rule", object(keys_of_fit<ChunkFit>()), "the rule over a prompt, in chunks")});
}

Json state_space_fits() {
  return fit({needed("convolution", object(keys_of_fit<StreamFit>()), "of a decode step"),
              needed("prompt_convolution", object(keys_of_fit<ChunkFit>()), "of a prompt, in chunks")});
}

Json residual_streams_fits() {
  const Json stream = object(keys_of_fit<StreamFit>());
  return fit({needed("join", stream, "before a sublayer"), needed("spread", stream, "after a sublayer")});
}

Json power() {
  return fit({needed("idle_watts", number(0, 1e4), "power without work"),
              needed("picojoules_per_flop", number(0, 1e3), "energy of a FLOP with operands of 16 bits"),
              needed("picojoules_per_byte", number(0, 1e5), "energy of a byte of memory")});
}

// The fits that a library of its own may have, each through `block`.
template <class Block>
Keys products_and_experts(const Block& block) {
  Keys keys{optional("experts", block(fit(keys_of_fit<ExpertFit>())), "layers of experts in 16 bits")};
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NarrowFormat f : kNarrowFormats) all.insert(all.end(), {gemm_key(f), experts_key(f)});
    return all;
  }();
  for (const std::string& name : names)
    keys.push_back(name.starts_with("gemm") ? optional(name, block(fit(gemm())), "products with narrow operands")
                                            : optional(name, block(fit(keys_of_fit<ExpertFit>())),
                                                       "layers of experts with narrow operands"));
  return keys;
}

Json libraries() {
  const auto as_it_is = [](const Json& own) { return own; };
  Json own = map(object(products_and_experts(as_it_is) +
                        Keys{optional("gemm", fit(gemm()), "products in 16 bits"),
                             optional("state_space", state_space_fits(), "convolutions of state spaces")}));
  return own_or_borrowed(own);
}

Json gpu() {
  Json s =
      object(Keys{needed("copy", own_or_borrowed(copy()), "elementwise work"),
                  needed("gemm", own_or_borrowed(fit(gemm())), "products in 16 bits"),
                  optional("attention", attention_fits(), "attention, by library and format of the cache"),
                  optional("decode_attention", former(own_or_borrowed(decode_attention())), "decode of one library"),
                  optional("prefill_attention", former(own_or_borrowed(prefill_attention())), "prefill of one library"),
                  optional("delta_net", own_or_borrowed(delta_net_fits()), "gated delta networks"),
                  optional("state_space", own_or_borrowed(state_space_fits()), "convolutions of state spaces"),
                  optional("residual_streams", own_or_borrowed(residual_streams_fits()), "several residual streams"),
                  optional("power", own_or_borrowed(power()), "power at full clock"),
                  optional("libraries", libraries(), "fits of other libraries, by name")} +
             products_and_experts(own_or_borrowed));
  s["oneOf"] = {{{"required", {"attention"}}}, {{"required", {"decode_attention", "prefill_attention"}}}};
  return s;
}

Json byte_cost() {
  Keys keys;
  for (Key& key : keys_of_fit<CpuGemmFit>())
    for (const char* name : {"l2_byte", "llc_byte", "memory_byte", "cache_share", "llc_share"})
      if (key.name == name) keys.push_back(std::move(key));
  return object(keys);
}

Json cpu_elementwise() {
  Keys ops;
  const Key fixed = needed("fixed", quantity<Seconds>(Zero::yes), meaning_of_coefficient("fixed")),
            element = needed("element", quantity<Seconds>(Zero::yes), meaning_of_coefficient("element"));
  for (const Named<ElementOp>& op : kElementOps) {
    const Keys keys = op.value == ElementOp::add ? Keys{fixed} : Keys{fixed, element};
    ops.push_back({op.name, object(keys), "cost of this op", !may_be_unprobed(op.value)});
  }
  const auto seconds = [] { return quantity<Seconds>(Zero::yes); };
  Json s = fit({needed("byte", quantity<Seconds>(), "time of a byte read or written"),
                optional("beyond_l1_byte", seconds(), "added for bytes beyond L1").formerly("beyond_first_byte"),
                needed("beyond_l2_byte", seconds(), "added for bytes beyond L2").formerly("far_byte"),
                optional("slow_for", seconds(), "how long the clock stays lower after wide vectors"),
                optional("slow_clock", number(1, 10), "higher clock over lower clock"),
                optional("lines", byte_cost(), "time of bytes that were accessed a step ago"),
                needed("ops", object(ops), "ops that were timed separately")});
  s["dependentRequired"] = {{"slow_for", {"slow_clock"}}, {"slow_clock", {"slow_for"}}};
  return s;
}

Json cpu() {
  const Keys traffic{needed("co_runner_traffic", quantity<BytesPerSecond>(), "of other programs into the last cache")
                         .formerly("inflow")};
  return object({needed("caches",
                        object({needed("l1", quantity<Bytes>(), "size of L1").formerly("first"),
                                needed("l2", quantity<Bytes>(), "size of L2").formerly("second")}),
                        "caches of a core"),
                 needed("gemm", fit(keys_of_fit<CpuGemmFit>() + traffic), "products"),
                 needed("attention", fit(keys_of_fit<CpuAttentionFit>()), "attention"),
                 needed("elementwise", cpu_elementwise(), "elementwise work")});
}

Keys link_traits() {
  const Keys between{needed("devices", integer(1, 1024), "devices of a node"),
                     needed("bandwidth", quantity<BytesPerSecond>(), "of one device's adapter, in each direction"),
                     needed("latency", quantity<Seconds>(Zero::yes), "of a message from node to node")};
  return {optional("switched", boolean(), "true: every pair of devices has NVLink; false: PCIe"),
          optional("compute_capability", text(), "the devices' CUDA compute capability, such as 9.0"),
          optional("domain", integer(2, 1024), "devices that switches join, such as those of a rack"),
          optional("between_nodes", object(between + origin_keys()), "network adapters of nodes")};
}

Json device_links() {
  const Json point = object({needed("message", quantity<Bytes>(), "bytes of the call"),
                             needed("time", quantity<Seconds>(), "time of the call")}),
             groups = list(object({needed("ranks", integer(2, 1024), "devices of the group"),
                                   needed("points", list(point, 0), "measured calls")}),
                           0);
  const Json table = object(Keys{needed("library", text(), "the library, as engine profiles name it"),
                                 needed("collective", value_in(kCollectives), "the collective operation"),
                                 needed("groups", groups, "measured calls, by number of devices")} +
                            origin_keys());
  Json tables = object(link_traits() + Keys{optional("tables", list(table, 0), "times of collective operations")});
  for (const std::string_view key :
       {std::string_view("tables"), kLinkTraits[0], kLinkTraits[1], kLinkTraits[2], kLinkTraits[3]})
    tables["anyOf"].push_back({{"required", {key}}});
  const Json of_one_library =
      object(link_traits() + Keys{needed("groups", groups, "calls of NCCL's all-reduce")} + origin_keys());
  return if_given("borrowed_from", object(borrowed() + link_traits()),
                  if_given("tables", tables, if_given("groups", of_one_library, tables)));
}

}  // namespace

Keys origin_keys() {
  Json covariance = map(list(number(), 0));
  return {needed("kind", word(kOrigins), "how the numbers came about"),
          needed("source", text(), "a key of data/sources.json, or your own name of the source"),
          needed("locator", text(), "the place in the source"),
          optional("because", text(), "the reason for a transfer or a guess"),
          optional("interval", interval(), "90 % of measured values lie between low and high times the prediction"),
          optional("covariance", covariance, "of the logarithms of the coefficients, a row for each")};
}

Json device_file() {
  return object({needed("title", text(), "name of the card, for people"),
                 optional("model", text(), "version of the program that calibrated the file"),
                 optional("input_files", map(true), "files from which it was calibrated"),
                 optional("note", text(), "for people"),
                 needed("datasheet", datasheet(), "values, each with its source"),
                 needed("fits", if_given("cpu", object({needed("cpu", cpu(), "fits of a CPU")}), gpu()),
                        "coefficients of kernels, measured or of a related device"),
                 optional("links", device_links(), "the connection to other devices").formerly("all_reduce")});
}

}  // namespace draftline::schema
