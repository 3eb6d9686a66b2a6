// SPDX-License-Identifier: Apache-2.0
// Reads data/devices/*.json: blocks of datasheet values, each with its source; fits, each its own or transferred from a
// relative.
#include "model/devices/device.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "core/int_indexed.h"
#include "model/devices/datasheet.h"
#include "model/devices/fit_fields.h"
#include "model/devices/transfer_spread.h"

namespace draftline {
namespace {

constexpr int kMostTransfers = 4;  // from a to b to c: no longer chain, and no ring

GemmFit read_gemm(Reader in) {
  GemmFit f = read_fields<GemmFit>(in);
  if (const auto tiles = in.find("tiles")) f.tiles = tiles->value_in(kGemmTiles);
  return f;
}
std::optional<GemmFit> read_gemm_if_any(Reader in) { return read_gemm(in); }
CopyFit read_copy(Reader in) {
  CopyFit f = read_fields<CopyFit>(in);
  const auto ops = in.find("ops");
  if (!ops) return f;
  for (const auto& [name, of_op] : ops->entries()) {
    const auto op = value_named(kElementOps, name);
    if (!op) {
      of_op.fail("is no elementwise op that is timed");
      continue;
    }
    f.of[*op] = read_fields<ElementwiseFit>(of_op);
    of_op.done();
  }
  return f;
}
std::optional<PowerFit> read_power(Reader in) {
  constexpr double kPico = 1e-12;
  return PowerFit{.idle_watts = in.at("idle_watts").number(0, 1e4),
                  .joules_per_flop = kPico * in.at("picojoules_per_flop").number(0, 1e3),
                  .joules_per_byte = kPico * in.at("picojoules_per_byte").number(0, 1e5)};
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

std::optional<StateSpaceFit> read_state_space(Reader in) {
  return StateSpaceFit{.convolution = read_part<StreamFit>(in.at("convolution")),
                       .prompt_convolution = read_part<ChunkFit>(in.at("prompt_convolution"))};
}

std::optional<ResidualStreamsFit> read_residual_streams(Reader in) {
  return ResidualStreamsFit{.join = read_part<StreamFit>(in.at("join")),
                            .spread = read_part<StreamFit>(in.at("spread"))};
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

Device read_device(Reader in, const std::filesystem::path& shipped, int depth);

// The devices whose coefficients a file takes. Each is kept, so that four transferred fits read its file once.
class Relatives {
 public:
  // `shipped`: where those are that don't stand beside the file. `depth`: of files between it and the first.
  // `here`: the device that is read, with its datasheet. `compute_capability`: its own, if it is known.
  Relatives(const std::filesystem::path& shipped, int depth, const Device& here, std::string compute_capability)
      : shipped_(shipped), depth_(depth), here_(here), compute_capability_(std::move(compute_capability)) {}

  // The device that a block names; none, with the mistake noted.
  const std::optional<Device>& named(const Reader& at) {
    const std::string name = at.text();
    const auto [known, fresh] = known_.try_emplace(name);
    if (!fresh) return known->second;
    const auto beside = at.file().parent_path() / (name + ".json"), shipped = shipped_ / beside.filename();
    const auto& file = at.files().exists(beside) || shipped_.empty() ? beside : shipped;
    if (name.empty() || name.find_first_of("/\\") != std::string::npos) {
      at.fail("must be the name of a device, known or in the same folder");
    } else if (depth_ >= kMostTransfers) {
      at.fail("borrows from a device that borrows, too many times over");
    } else {
      try {
        known->second =
            read_file_below(at, file, [&](const Reader& in) { return read_device(in, shipped_, depth_ + 1); });
      } catch (const std::runtime_error& e) { at.fail(std::string("can't be read: ") + e.what()); }
    }
    return known->second;
  }

  // Returns whether a block is transferred, and then calls use(relative's GPU, mark), unless there is none, which is
  // noted. mark(origin, kernel) writes the transfer into an origin, with the error of the kernel's fit here, and
  // mark.suit(share) suits a share of the bandwidth to another memory of the same chip.
  template <class Use>
  bool transfers(const Reader& in, Use use) {
    const auto from = in.find("borrowed_from");
    if (!from) return false;
    const auto because = in.at("because").text();
    const auto& relative = named(*from);
    const auto* gpu = relative ? std::get_if<GpuModel>(&relative->model) : nullptr;
    const bool same_chip = in.has("same_chip") && in.at("same_chip").boolean();
    if (gpu != nullptr) use(*gpu, Mark{*this, *from, because, *relative, same_chip});
    else if (relative) from->fail("is a CPU, which has no GPU kernels to lend");
    in.done();
    return true;
  }

 private:
  struct Mark {
    Relatives& all;
    const Reader& from;
    const std::string& because;
    const Device& relative;
    bool same_chip;

    void operator()(Origin& o, std::optional<TransferredKernel> kernel) const {
      o.borrowed_from = from.text();
      o.because = because;
      const TransferSpread* spread = kernel && o.interval ? all.spread_from(relative, from) : nullptr;
      o.interval = spread == nullptr ? std::nullopt : std::optional(product(*o.interval, (*spread)[*kernel]));
    }
    // A multiprocessor keeps as many loads in flight whatever the memory: from a slower one it moves as many bytes a
    // second, up to the share that streaming copies reach.
    void suit(double& share) const {
      const Device& here = all.here_;
      const double flow = relative.bandwidth / here.bandwidth * here.multiprocessors / relative.multiprocessors;
      if (same_chip) share = std::max(share, std::min(here.gpu().copy.bandwidth_share, share * flow));
    }
  };

  // What the transfer of a relative's fits costs, which stands in the folder above the devices; null: not known.
  const TransferSpread* spread_from(const Device& relative, const Reader& at) {
    const auto file = (shipped_.empty() ? at.file().parent_path() : shipped_).parent_path() / "transfer.json";
    if (!spreads_ && at.files().exists(file))
      spreads_ = read_file_below(at, file, [](const Reader& in) { return read_transfer_spreads(in); });
    if (!spreads_) return nullptr;
    const bool same = !compute_capability_.empty() && relative.links.compute_capability == compute_capability_;
    return same ? &spreads_->same_architecture : &spreads_->other_architecture;
  }

  std::filesystem::path shipped_;
  int depth_;
  const Device& here_;
  std::string compute_capability_;
  std::optional<TransferSpreads> spreads_ = {};
  std::map<std::string, std::optional<Device>> known_ = {};
};

// Only of products and experts, whose bytes are the weights'.
template <class Fit, class Mark>
void suit_memory(Fit& fit, const Mark& mark) {
  if constexpr (requires { fit.has_value(); }) {
    if (fit) suit_memory(*fit, mark);
  } else if constexpr (requires { fit.tile_half; }) {
    mark.suit(fit.bandwidth_share);
  }
}

// `which`: the member of a GpuModel, or what returns it.
template <class Fit, class Which>
void read_fit(const Reader& fits, const std::string& key, Fit (*read)(Reader), Which which, GpuModel& to,
              Relatives& relatives) {
  const Reader in = fits.at(key);
  Fit& fit = std::invoke(which, to);
  const auto take = [&](const GpuModel& gpu, const auto& mark) {
    const Fit& theirs = std::invoke(which, gpu);
    if (!has(theirs)) return in.at("borrowed_from").fail("has no " + key + " to lend");
    fit = theirs;
    mark(origin_of(fit), transferred_kernel(key));
    suit_memory(fit, mark);
  };
  if (relatives.transfers(in, take)) return;
  fit = read(in);
  origin_of(fit) = read_origin(in);
  in.done();
}

// `key`: of a block that a file of fits need not have.
template <class Fit>
void read_own_fit(const Reader& fits, const std::string& key, std::optional<Fit> (*read)(Reader),
                  std::optional<Fit>& to) {
  const auto in = fits.find(key);
  if (!in) return;
  to = read(*in);
  to->origin = read_origin(*in);
  in->done();
}

LibraryFits read_library(const std::string& library, const Reader& in) {
  LibraryFits fits{.library = library};
  read_own_fit(in, "gemm", read_gemm_if_any, fits.gemm);
  read_own_fit(in, "experts", read_experts, fits.experts);
  read_own_fit(in, "state_space", read_state_space, fits.state_space);
  for (const NarrowFormat format : kNarrowFormats) {
    read_own_fit(in, gemm_key(format), read_gemm_if_any, fits.narrow_gemm[format]);
    read_own_fit(in, experts_key(format), read_experts, fits.narrow_experts[format]);
  }
  in.done();
  return fits;
}

// The fits of other libraries: a file's own, or all of a relative's.
void read_libraries(const Reader& in, GpuModel& to, Relatives& relatives) {
  const auto take = [&](const GpuModel& gpu, const auto& mark) {
    to.libraries = gpu.libraries;
    const auto mark_if = [&](auto& fit, std::optional<TransferredKernel> kernel) {
      if (fit) mark(fit->origin, kernel);
      suit_memory(fit, mark);
    };
    for (LibraryFits& l : to.libraries) {
      mark_if(l.gemm, TransferredKernel::gemm);
      mark_if(l.experts, TransferredKernel::experts);
      mark_if(l.state_space, std::nullopt);
      for (const NarrowFormat format : kNarrowFormats) {
        mark_if(l.narrow_gemm[format], TransferredKernel::narrow_gemm);
        mark_if(l.narrow_experts[format], TransferredKernel::experts);
      }
    }
  };
  if (relatives.transfers(in, take)) return;
  for (const auto& [library, fits] : in.entries()) to.libraries.push_back(read_library(library, fits));
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

template <class Mark>
void mark_attention(AttentionFit& f, const Mark& mark) {
  mark(f.decode.origin, TransferredKernel::decode_attention);
  mark(f.prefill.origin, TransferredKernel::prefill_attention);
}

// One fit of each library and format of the cache that was measured. A kernel that is transferred stands for a
// relative's kernels of latent attention.
void read_attention(const Reader& in, AttentionModel& to, Relatives& relatives) {
  const auto take = [&](const GpuModel& gpu, const auto& mark) {
    to = gpu.attention;
    for (AttentionFit& f : to.fits) mark_attention(f, mark);
  };
  if (relatives.transfers(in, take)) return;
  std::vector<AttentionFit> fits;
  std::set<std::tuple<std::string, DType, AttentionForm>> seen;
  const Reader kernels = in.at("kernels");
  const auto take_latent = [&](const GpuModel& gpu, const auto& mark) {
    for (const AttentionFit& f : gpu.attention.fits)
      if (f.form != AttentionForm::ordinary) {
        fits.push_back(f);
        mark_attention(fits.back(), mark);
      }
  };
  for (const Reader& kernel : kernels.items()) {
    if (relatives.transfers(kernel, take_latent)) continue;
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
void read_unnamed_attention(const Reader& fits, AttentionFit& to, Relatives& relatives) {
  const Reader decode = fits.at("decode_attention"), prefill = fits.at("prefill_attention");
  const auto take_decode = [&](const GpuModel& gpu, const auto& mark) {
    to.decode = gpu.attention.fits.front().decode;
    mark(to.decode.origin, TransferredKernel::decode_attention);
  };
  const auto take_prefill = [&](const GpuModel& gpu, const auto& mark) {
    to.prefill = gpu.attention.fits.front().prefill;
    mark(to.prefill.origin, TransferredKernel::prefill_attention);
  };
  if (!relatives.transfers(decode, take_decode)) to.decode = read_decode(decode);
  if (!relatives.transfers(prefill, take_prefill)) to.prefill = read_prefill(prefill);
}

// Links of a file's own, a relative's, or, as probes of one library write them, the points of all-reduce alone. A
// relative tells how its devices are connected but never what they are: by that an engine chooses its kernels.
Links read_own_or_transferred_links(const Reader& in, Relatives& relatives) {
  if (const auto from = in.find("borrowed_from")) {
    const auto because = in.at("because").text();
    const auto& relative = relatives.named(*from);
    Links links = relative ? relative->links : Links{};
    links.compute_capability.clear();
    if (links.between_nodes) {
      links.between_nodes->origin.borrowed_from = from->text();
      links.between_nodes->origin.because = because;
    }
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
  const auto links = in.find("links", "all_reduce");
  const auto capability = links ? links->find("compute_capability") : std::nullopt;
  Relatives relatives(shipped, depth, d, capability ? capability->text() : std::string());
  if (const auto cpu = fits.find("cpu")) {
    d.model = read_cpu_model(*cpu, d.l2);
    fits.done();
    in.done();
    return d;
  }
  GpuModel& gpu = d.gpu();
  read_fit(fits, "copy", read_copy, &GpuModel::copy, gpu, relatives);
  read_fit(fits, "gemm", read_gemm, &GpuModel::gemm, gpu, relatives);
  if (fits.has("attention")) {
    read_attention(fits.at("attention"), gpu.attention, relatives);
  } else {
    read_unnamed_attention(fits, gpu.attention.fits.front(), relatives);
  }
  if (fits.has("experts")) read_fit(fits, "experts", read_experts, &GpuModel::experts, gpu, relatives);
  if (fits.has("delta_net")) read_fit(fits, "delta_net", read_delta_net, &GpuModel::delta_net, gpu, relatives);
  if (fits.has("state_space")) read_fit(fits, "state_space", read_state_space, &GpuModel::state_space, gpu, relatives);
  if (fits.has("residual_streams"))
    read_fit(fits, "residual_streams", read_residual_streams, &GpuModel::residual_streams, gpu, relatives);
  if (fits.has("power")) {
    read_fit(fits, "power", read_power, &GpuModel::power, gpu, relatives);
    if (!d.power_watts || gpu.power->idle_watts >= *d.power_watts)
      fits.at("power").fail("needs a datasheet with \"power_watts\" above \"idle_watts\"");
  }
  for (const NarrowFormat format : kNarrowFormats) {
    const auto gemm = [format](auto& g) -> auto& { return g.narrow_gemm[format]; };
    const auto experts = [format](auto& g) -> auto& { return g.narrow_experts[format]; };
    if (const std::string key = gemm_key(format); fits.has(key))
      read_fit(fits, key, read_gemm_if_any, gemm, gpu, relatives);
    if (const std::string key = experts_key(format); fits.has(key))
      read_fit(fits, key, read_experts, experts, gpu, relatives);
  }
  if (const auto libraries = fits.find("libraries")) read_libraries(*libraries, gpu, relatives);
  fits.done();
  if (links) d.links = read_own_or_transferred_links(*links, relatives);
  in.done();
  return d;
}

}  // namespace

Device read_device(Reader in, const std::filesystem::path& shipped) { return read_device(std::move(in), shipped, 0); }

}  // namespace draftline
