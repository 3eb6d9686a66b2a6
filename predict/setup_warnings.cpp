// SPDX-License-Identifier: Apache-2.0
#include "predict/setup_warnings.h"

#include <algorithm>

#include "methods/table.h"
#include "model/kernels/kernel_time.h"
#include "model/kernels/operand_fits.h"
#include "predict/prefix_reuse.h"

namespace draftline {

namespace {

std::string not_measured(const AttentionChoice& attention) {
  if (attention.measured) return "";
  return "the engine's attention library was not measured on the device with such a cache: the nearest measured "
         "library is used instead";
}

// Engines refuse a checkpoint whose blocks of one scale would lie on two ranks.
std::string divided_blocks(const Setup& s) {
  const LinearFormat& format = s.precision.experts;
  const Experts* experts = s.transformer->experts();
  if (experts == nullptr || s.parallel.expert_ranks() == 1 || format.scaling() != Scaling::blocks) return "";
  const int columns = experts->intermediate, ranks = s.parallel.expert_ranks(), block = format.scales.outputs;
  if (columns % (ranks * block) == 0) return "";
  return "engines can't load this: the " + std::to_string(columns) + " columns of an expert over " +
         std::to_string(ranks) + " ranks are not multiples of the " + std::to_string(block) +
         " that share a scale; use \"expert_parallel\": true or fewer ranks";
}

// Warns if the fits of the target's formats, or of the drafter's if there is one, are guesses.
std::string guessed_formats(const Setup& s, const MethodSpec& m, const ChosenFits& fits) {
  const bool gemms = std::any_of(fits.target.begin(), fits.target.end(), [](const auto& f) { return f.guess; }) ||
                     (!m.is_plain() && fits.draft && fits.draft->guess);
  const bool experts = s.transformer->experts() != nullptr && fits.experts && fits.experts->guess;
  if (!gemms && !experts) return "";
  return std::string(gemms && experts ? "GEMMs and experts"
                     : gemms          ? "GEMMs"
                                      : "experts") +
         " in these formats were not measured on the device: the fit of another format is used, and the interval is "
         "unknown";
}

// Warns if experts are slower than in 16 bits for a few sequences, where the reading of the weights should decide, and
// by more than fits differ from measurements.
std::string slow_experts(const Setup& s) {
  if (s.transformer->experts() == nullptr) return "";
  const Experts& e = *s.transformer->experts();
  const auto time_in = [&](const Operands& o) {
    return kernel_time(*s.device, ExpertMlp{.rows = 8,
                                            .hidden = s.transformer->hidden,
                                            .intermediate = e.intermediate,
                                            .experts = e.count,
                                            .per_token = e.per_token,
                                            .weights = o.weights,
                                            .activations = o.activations,
                                            .scale_bits = o.scale_bits,
                                            .scaling = o.scaling});
  };
  const DType wide = s.precision.activations;
  if (time_in(operands_of(s.precision.experts, wide)) <= 1.1 * time_in({wide, wide})) return "";
  return "experts are slower in this format than in 16 bits: so are the measured kernels, but another library's may "
         "not be (docs/explanation/kernel_model.md, \"Experts\")";
}

constexpr std::string_view kUnknownLinks = "; their error is unknown and not included in the intervals";

std::string others_links(const Setup& s) {
  if (s.parallel.devices == 1 || s.device->links.tables.empty()) return "";
  const Origin& o = s.device->links.tables.front().origin;
  const std::string unknown(kUnknownLinks);
  if (!o.borrowed_from.empty())
    return "the times of communication are those of " + o.borrowed_from + " (" + o.because + ")" + unknown;
  return o.kind == "guess" ? "the times of communication are a guess (" + o.locator + ")" + unknown : "";
}

// Warns of groups of more devices than were measured.
std::string extended_links(const Setup& s) {
  const Links& links = s.device->links;
  const int ranks = s.parallel.devices, inside = links.in_node(ranks);
  if (ranks == 1) return "";
  if (links.nodes(ranks) > 1) {
    const Origin& adapters = links.between_nodes->origin;
    const std::string those_of = adapters.borrowed_from.empty() ? "" : "those of " + adapters.borrowed_from + ": ";
    return "times between nodes of " + std::to_string(links.between_nodes->devices) +
           " were not measured: they are computed from the rate of a device's network adapter and a guessed latency (" +
           those_of + adapters.locator + ")" + std::string(kUnknownLinks);
  }
  for (const Collective c : collectives_of(s))
    if (const LinkTable* table = links.any(c, ranks); table != nullptr && !table->knows(inside))
      return std::string(name_of(kCollectives, c)) + " among " + std::to_string(inside) +
             " devices was not measured: the times of " + std::to_string(table->most_ranks()) +
             " devices are extended to more" + std::string(kUnknownLinks);
  return "";
}

// What transfers cost was measured among cards that have a CUDA compute capability.
std::string another_vendors(const Setup& s) {
  const Device& d = *s.device;
  if (d.cpu() != nullptr || !d.has_transferred_fits() || !d.links.compute_capability.empty()) return "";
  return "the kernels are those of " + d.gpu().transferred_from() +
         ": the cost of the transfer was measured among CUDA cards, and the intervals may be too narrow for " + d.name +
         " (docs/explanation/accuracy.md, \"Transferred fits\")";
}

// Engines are asked for FP16 on devices without BF16.
std::string no_bf16(const Setup& s) {
  if (s.precision.activations != DType::bf16 || s.device->peak_of(DType::bf16).value > 0) return "";
  return s.device->name + " has no arithmetic in BF16: priced in FP16, for which vLLM needs --dtype half";
}

std::string no_module(const Setup& s, const MethodSpec& m) {
  if (m.entry().checkpoint != DrafterKind::mtp || s.transformer->mtp_modules > 0 || m.checkpoint()) return "";
  return s.transformer->name + " has no MTP module in its config.json: the method is priced with an assumed module";
}

// Warns of attention that chooses, or compresses, what it reads.
std::string unmeasured_choice(const Setup& s) {
  const std::string what = unmeasured_attention(*s.transformer);
  if (what.empty()) return "";
  if (s.device->cpu() != nullptr)
    return what +
           " is priced with the loops of other attention: the decoder's loops take about twice as long, and the "
           "interval is unknown";
  return what +
         " was not measured: the choice of tokens is priced by the roofline, with the arithmetic and the "
         "bandwidth of the engine's attention, and the interval is unknown";
}

std::string ungated_experts(const Setup& s) {
  if (!has_ungated_experts(*s.transformer)) return "";
  return "experts without a gate were not measured: they take the fit of gated ones with their own bytes and FLOP, and "
         "their error is unknown";
}

// Warns of recurrences that are priced by another's measurements.
std::string no_recurrence_times(const Setup& s) {
  const std::string what = unmeasured_recurrence(*s.transformer);
  if (what.empty()) return "";
  const bool fits = s.device->cpu() == nullptr && s.device->gpu().delta_net.has_value();
  return what + " was not measured: it is priced by its bytes" +
         (fits ? ", at the speed of gated delta networks, and the interval is unknown"
               : ", and the interval is unknown");
}

// Warns where the simulator shares no prefixes (SchedulerLimits::shares_prefixes), or whole units alone.
std::string coarse_prefixes(const Setup& s, const MethodSpec& m) {
  if (s.shared_prefix.tokens == 0 || shares_prefixes(*s.transformer)) return "";
  if (const auto reuse = prefix_reuse(s, m); reuse && reuse->unit > 1)
    return s.engine->name + " caches prefixes of networks with recurrent states only if it is asked to " +
           "(--enable-prefix-caching), in units of " + std::to_string(reuse->unit) + " tokens" +
           (reuse->dropped > 0 ? "; this drafter needs the last unit again" : "");
  return "\"shared_prefix\" is applied, but engines and simulated loads share no prefixes if all layers have windows "
         "or if there are recurrent states that the engine does not cache";
}

std::string borrowed_acceptance(const Setup& s, const Acceptance& acceptance) {
  if (!acceptance.other_target(*s.transformer)) return "";
  return "the acceptance is borrowed: it was measured on " + acceptance.trace()->header().target + ", not on " +
         s.transformer->name + ", and its error is not included in the intervals (docs/explanation/traces.md)";
}

}  // namespace

std::string unmeasured_attention(const TransformerShape& s) {
  for (const LayerShape& layer : s.kinds) {
    if (layer.compressed() != nullptr) return "compressed attention";
    if (layer.heads() != nullptr && layer.heads()->blocks) return "attention to chosen blocks";
    if (layer.latent() != nullptr && layer.latent()->dims.indexer) return "sparse attention";
  }
  return "";
}

std::string unmeasured_recurrence(const TransformerShape& s) {
  for (const LayerShape& layer : s.kinds) {
    if (std::holds_alternative<Mamba1>(layer.attention)) return "the scan of state spaces (Mamba-1)";
    if (std::holds_alternative<LinearAttention>(layer.attention)) return "linear attention";
    if (layer.mamba() != nullptr) return "the scan of state spaces (Mamba-2)";
    if (const DeltaNet* d = layer.delta_net(); d != nullptr && d->column_gates)
      return "the delta rule with a decay for each column of keys (KDA)";
  }
  return "";
}

std::vector<Collective> collectives_of(const Setup& s) {
  if (s.parallel.attention_replicas == 1) return {Collective::all_reduce};
  if (s.parallel.all_to_all) return {Collective::all_reduce, Collective::all_to_all};
  return {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter};
}

bool has_extended_links(const Setup& s) { return !extended_links(s).empty(); }

bool has_ungated_experts(const TransformerShape& s) {
  const Experts* e = s.experts();
  return e != nullptr && !is_gated(e->kind);
}

std::vector<std::string> setup_warnings(const Setup& s, const MethodChoice& choice, const AttentionChoice& attention,
                                        const ChosenFits& fits) {
  const MethodSpec& m = choice.spec;
  std::vector<std::string> all{not_measured(attention), guessed_formats(s, m, fits),
                               slow_experts(s),         divided_blocks(s),
                               others_links(s),         extended_links(s),
                               another_vendors(s),      no_bf16(s),
                               no_module(s, m),         unmeasured_choice(s),
                               no_recurrence_times(s),  ungated_experts(s),
                               coarse_prefixes(s, m),   borrowed_acceptance(s, choice.acceptance)};
  std::erase(all, "");
  return all;
}

}  // namespace draftline
