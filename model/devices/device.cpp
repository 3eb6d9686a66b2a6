// SPDX-License-Identifier: Apache-2.0
// Reads data/devices/*.json: blocks of datasheet values, each with its source; fits, each its own or borrowed.
#include "model/devices/device.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "model/devices/fit_fields.h"

namespace draftline {
namespace {

constexpr int kMostLenders = 4;  // a lends to b lends to c: no longer chain, and no ring

void read_peaks(Reader in, Device& d, std::set<std::string>& seen) {
  for (const auto& [key, value] : in.entries()) {
    const auto type = dtype_named(key);
    if (!type || *type == DType::int32) {
      value.fail("unknown number format; a peak is given for fp32, bf16, fp16, fp8, int8, int4 or fp4");
      continue;
    }
    if (!seen.insert("peak of " + key).second) value.fail("given twice in this datasheet");
    d.peak[static_cast<std::size_t>(*type)] = value.quantity<FlopsPerSecond>();
  }
}

// Every value once, whichever block it stands in.
void read_datasheet(Reader blocks, Device& d) {
  std::set<std::string> seen;
  for (const Reader& block : blocks.items()) {
    d.datasheet.push_back(read_origin(block));
    const auto once = [&](const char* key) -> std::optional<Reader> {
      const auto found = block.find(key);
      if (found && !seen.insert(key).second) found->fail("given twice in this datasheet");
      return found;
    };
    if (const auto v = once("bandwidth")) d.bandwidth = v->quantity<BytesPerSecond>();
    if (const auto v = once("memory")) d.memory = v->quantity<Bytes>();
    if (const auto v = once("l2")) d.l2 = v->quantity<Bytes>();
    if (const auto v = once("multiprocessors")) d.multiprocessors = v->positive_int(100000);
    if (const auto v = once("power_watts")) d.power_watts = v->number(1, 1e5);
    if (const auto v = block.find("peak")) read_peaks(*v, d, seen);
    block.done();
  }
  if (!d.datasheet.empty()) d.source = d.datasheet.front().source;
  for (const char* key : {"bandwidth", "memory", "l2", "multiprocessors", "peak of bf16", "peak of fp32"})
    if (!seen.contains(key)) blocks.fail("no block gives the " + std::string(key));
}

GemmFit read_gemm(Reader in) {
  GemmFit f = read_fields<GemmFit>(in);
  if (const auto tiles = in.find("tiles")) f.tiles = tiles->value_in(kGemmTiles);
  return f;
}
std::optional<GemmFit> read_narrow_gemm(Reader in) { return read_gemm(in); }
CopyFit read_copy(Reader in) {
  CopyFit f = read_fields<CopyFit>(in);
  const auto ops = in.find("ops");
  if (!ops) return f;
  for (const auto& [name, of_op] : ops->entries()) {
    const auto known = std::find(kElementOpNames.begin(), kElementOpNames.end(), name);
    if (known == kElementOpNames.end()) {
      of_op.fail("is no elementwise op that is timed");
      continue;
    }
    f.of[static_cast<std::size_t>(known - kElementOpNames.begin())] = read_fields<ElementwiseFit>(of_op);
    of_op.done();
  }
  return f;
}
std::optional<ExpertFit> read_experts(Reader in) { return read_fields<ExpertFit>(in); }

template <class Fit>
Fit read_part(const Reader& in) {
  Fit fit = read_fields<Fit>(in);
  in.done();
  return fit;
}
std::optional<DeltaNetFit> read_delta_net(Reader in) {
  return DeltaNetFit{.rule = read_part<StreamFit>(in.at("rule")),
                     .convolution = read_part<StreamFit>(in.at("convolution")),
                     .prompt_convolution = read_part<StreamFit>(in.at("prompt_convolution")),
                     .prompt_rule = read_part<ChunkFit>(in.at("prompt_rule"))};
}

template <class Fit>
constexpr bool kOptional = false;
template <class Fit>
constexpr bool kOptional<std::optional<Fit>> = true;

template <class Fit>
bool has(const Fit& fit) {
  if constexpr (kOptional<Fit>) return fit.has_value();
  else return true;
}
template <class Fit>
Origin& origin_of(Fit& fit) {
  if constexpr (kOptional<Fit>) return fit->origin;
  else return fit.origin;
}

// A relative's device, or nullopt with the mistake noted. Kept, so that four borrowed fits read its file once.
struct Lenders {
  std::filesystem::path shipped;  // where those are that don't stand beside the borrower
  std::map<std::string, std::optional<Device>> known;
};
Device read_device(Reader in, const std::filesystem::path& shipped, int depth);

const std::optional<Device>& lender(const Reader& at, Lenders& lenders, int depth) {
  const std::string name = at.text();
  const auto found = lenders.known.find(name);
  if (found != lenders.known.end()) return found->second;
  std::optional<Device>& device = lenders.known[name];
  const auto beside = at.file().parent_path() / (name + ".json"), shipped = lenders.shipped / beside.filename();
  const auto& file = at.files().exists(beside) || lenders.shipped.empty() ? beside : shipped;
  if (name.empty() || name.find_first_of("/\\") != std::string::npos) {
    at.fail("must be the name of a device, known or in the same folder");
  } else if (depth >= kMostLenders) {
    at.fail("borrows from a device that borrows, too many times over");
  } else {
    try {
      device = read_file_below(at, file, [&](const Reader& in) { return read_device(in, lenders.shipped, depth + 1); });
    } catch (const std::runtime_error& e) { at.fail(std::string("can't be read: ") + e.what()); }
  }
  return device;
}

// The GPU from which a block borrows. Null if there is none, which is noted.
const GpuModel* gpu_lender(const Reader& from, Lenders& lenders, int depth) {
  const auto& relative = lender(from, lenders, depth);
  if (!relative) return nullptr;
  const auto* gpu = std::get_if<GpuModel>(&relative->model);
  if (gpu == nullptr) from.fail("is a CPU, which has no GPU kernels to lend");
  return gpu;
}

// `which`: the member of a GpuModel, or what returns it.
template <class Fit, class Which>
void read_fit(const Reader& fits, const std::string& key, Fit (*read)(Reader), Which which, GpuModel& to,
              Lenders& lenders, int depth) {
  const Reader in = fits.at(key);
  Fit& fit = std::invoke(which, to);
  if (!in.is_object()) return;  // noted by at()
  if (const auto from = in.find("borrowed_from")) {
    const auto because = in.at("because").text();
    if (const GpuModel* gpu = gpu_lender(*from, lenders, depth); gpu != nullptr && !has(std::invoke(which, *gpu))) {
      from->fail("has no " + key + " to lend");
    } else if (gpu != nullptr) {
      fit = std::invoke(which, *gpu);
      Origin& o = origin_of(fit);
      o.borrowed_from = from->text();
      o.because = because;
    }
  } else {
    fit = read(in);
    origin_of(fit) = read_origin(in);
  }
  in.done();
}

// Calls use(relative, mark) if a block borrows from a relative that has GPU kernels; mark(origin) says so in an origin.
// Does it borrow?
template <class Use>
bool borrows(const Reader& in, Lenders& lenders, int depth, Use use) {
  const auto from = in.find("borrowed_from");
  if (!from) return false;
  const auto because = in.at("because").text();
  if (const GpuModel* gpu = gpu_lender(*from, lenders, depth))
    use(gpu->attention, [&](Origin& o) { o.borrowed_from = from->text(), o.because = because; });
  in.done();
  return true;
}

DecodeAttentionFit read_decode(const Reader& in) {
  DecodeAttentionFit f = read_fields<DecodeAttentionFit>(in);
  f.origin = read_origin(in);
  in.done();
  return f;
}
PrefillAttentionFit read_prefill(const Reader& in) {
  PrefillAttentionFit f = read_fields<PrefillAttentionFit>(in);
  if (in.has("packed")) f.layout = in.at("packed").boolean() ? HeadLayout::packed : HeadLayout::apart;  // of before
  else f.layout = in.at("layout").value_in(kHeadLayouts);
  f.origin = read_origin(in);
  in.done();
  return f;
}

AttentionFit read_kernel(const Reader& in) {
  AttentionFit f;
  if (const auto library = in.find("library")) f.library = library->text();
  f.cache = in.at("cache").value_in(kDTypes);
  if (const auto form = in.find("form")) f.form = form->value_in(kAttentionForms);
  f.decode = read_decode(in.at("decode"));
  f.prefill = read_prefill(in.at("prefill"));
  in.done();
  return f;
}

// One fit of each library and format of the cache that was measured. A kernel that is borrowed stands for a relative's
// kernels of latent attention.
void read_attention(const Reader& in, AttentionModel& to, Lenders& lenders, int depth) {
  const auto take = [&](const AttentionModel& lent, const auto& mark) {
    to = lent;
    for (AttentionFit& f : to.fits) mark(f.decode.origin), mark(f.prefill.origin);
  };
  if (borrows(in, lenders, depth, take)) return;
  std::vector<AttentionFit> fits;
  std::set<std::tuple<std::string, DType, AttentionForm>> seen;
  const Reader kernels = in.at("kernels");
  const auto take_latent = [&](const AttentionModel& lent, const auto& mark) {
    for (const AttentionFit& f : lent.fits)
      if (f.form != AttentionForm::ordinary) {
        fits.push_back(f);
        mark(fits.back().decode.origin), mark(fits.back().prefill.origin);
      }
  };
  for (const Reader& kernel : kernels.items()) {
    if (borrows(kernel, lenders, depth, take_latent)) continue;
    fits.push_back(read_kernel(kernel));
    if (!seen.emplace(fits.back().library, fits.back().cache, fits.back().form).second)
      kernel.fail("this library over a cache of this format is given twice");
  }
  if (fits.empty()) kernels.fail("needs at least one library's kernels");
  else to.fits = std::move(fits);
  if (const auto other = in.find("other_library")) {
    to.other_library = read_origin(*other).interval;
    if (!to.other_library) other->fail("needs an \"interval\"");
    other->done();
  }
  in.done();
}

// Reads the one fit that files had before libraries had names.
void read_unnamed_attention(const Reader& fits, AttentionFit& to, Lenders& lenders, int depth) {
  const Reader decode = fits.at("decode_attention"), prefill = fits.at("prefill_attention");
  const auto lent_decode = [&](const AttentionModel& lent, const auto& mark) {
    to.decode = lent.fits.front().decode;
    mark(to.decode.origin);
  };
  const auto lent_prefill = [&](const AttentionModel& lent, const auto& mark) {
    to.prefill = lent.fits.front().prefill;
    mark(to.prefill.origin);
  };
  if (decode.is_object() && !borrows(decode, lenders, depth, lent_decode)) to.decode = read_decode(decode);
  if (prefill.is_object() && !borrows(prefill, lenders, depth, lent_prefill)) to.prefill = read_prefill(prefill);
}

// Links of a file's own, a relative's, or, as probes of one library write them, the points of all-reduce alone. A
// relative lends how its devices are connected but never what they are: by that an engine chooses its kernels.
Links read_own_or_lent_links(const Reader& in, Lenders& lenders, int depth) {
  if (const auto from = in.find("borrowed_from")) {
    const auto because = in.at("because").text();
    const auto& relative = lender(*from, lenders, depth);
    Links links = relative ? relative->links : Links{};
    links.compute_capability.clear();
    read_link_traits(in, links);
    in.done();
    for (LinkTable& t : links.tables) {
      t.origin.borrowed_from = from->text();
      t.origin.because = because;
    }
    return links;
  }
  if (in.has("tables") || !in.has("groups")) return read_links(in);
  LinkTable nccl{"nccl", Collective::all_reduce, read_link_points(in.at("groups")), read_origin(in)};
  Links links;
  read_link_traits(in, links);
  in.done();
  links.tables.push_back(std::move(nccl));
  return links;
}

Device read_device(Reader in, const std::filesystem::path& shipped, int depth) {
  Device d;
  d.name = in.file().stem().string();
  d.title = in.at("title").text();
  if (const auto model = in.find("model")) model->text();  // of the draftline that calibrated it, and from what
  if (const auto files = in.find("input_files")) files->entries();
  if (const auto note = in.find("note")) (void)note->text();
  read_datasheet(in.at("datasheet"), d);
  const Reader fits = in.at("fits");
  Lenders lenders{shipped, {}};
  if (const auto cpu = fits.find("cpu")) {
    d.model = read_cpu_model(*cpu, d.l2);
    fits.done();
    in.done();
    return d;
  }
  GpuModel& gpu = d.gpu();
  read_fit(fits, "gemm", read_gemm, &GpuModel::gemm, gpu, lenders, depth);
  if (fits.has("attention")) {
    read_attention(fits.at("attention"), gpu.attention, lenders, depth);
  } else {
    read_unnamed_attention(fits, gpu.attention.fits.front(), lenders, depth);
  }
  read_fit(fits, "copy", read_copy, &GpuModel::copy, gpu, lenders, depth);
  if (fits.has("experts")) read_fit(fits, "experts", read_experts, &GpuModel::experts, gpu, lenders, depth);
  if (fits.has("delta_net")) read_fit(fits, "delta_net", read_delta_net, &GpuModel::delta_net, gpu, lenders, depth);
  for (const NarrowFormat format : kNarrowFormats) {
    const auto gemm = [format](auto& g) -> auto& { return g.narrow_gemm[format]; };
    const auto experts = [format](auto& g) -> auto& { return g.narrow_experts[format]; };
    if (const std::string key = gemm_key(format); fits.has(key))
      read_fit(fits, key, read_narrow_gemm, gemm, gpu, lenders, depth);
    if (const std::string key = experts_key(format); fits.has(key))
      read_fit(fits, key, read_experts, experts, gpu, lenders, depth);
  }
  fits.done();
  if (const auto links = in.find("links", "all_reduce")) d.links = read_own_or_lent_links(*links, lenders, depth);
  in.done();
  return d;
}

}  // namespace

Device read_device(Reader in, const std::filesystem::path& shipped) { return read_device(std::move(in), shipped, 0); }

}  // namespace draftline
