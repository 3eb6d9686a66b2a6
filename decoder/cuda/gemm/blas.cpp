// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's matrices are column-major: a row-major [r, c] is its [c, r]. It is asked for y' = w' x', so that nothing
// is transposed. Partial sums of a split-K product are added in fp32: by default cuBLASLt may round them to the
// output's format.
#include "decoder/cuda/gemm/blas.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "decoder/cuda/gemm/few_rows.h"
#include "decoder/cuda/runtime/device.h"
#include "decoder/cuda/runtime/idle.h"
#include "decoder/cuda/runtime/library.h"

namespace draftline::cuda {

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // NVIDIA's advice for Hopper
constexpr int kCandidates = 8, kRuns = 3;
// Shorter products are lost in the interval between two events, which is off by a microsecond or so. They run kTogether
// times between them or, where that would leave weights in L2, are timed kColdRuns times; the median counts.
constexpr double kShort = 20e-6;  // seconds
constexpr int kTogether = 16, kRunsTogether = 5, kColdRuns = 15;
constexpr int kMostTimedRows = 512;  // prompts come in too many lengths to time: they get the heuristics' first choice

// The functions of cuBLASLt that are used, found by name in the library.
struct Api {
  Library library{{"libcublasLt.so.13", "libcublasLt.so.12"}};
#define FUNCTION(f) decltype(cublasLt##f)* f = load<decltype(cublasLt##f)>("cublasLt" #f)
  FUNCTION(GetVersion);
  FUNCTION(Create);
  FUNCTION(Destroy);
  FUNCTION(MatmulDescCreate);
  FUNCTION(MatmulDescDestroy);
  FUNCTION(MatmulDescSetAttribute);
  FUNCTION(MatrixLayoutCreate);
  FUNCTION(MatrixLayoutDestroy);
  FUNCTION(MatmulPreferenceCreate);
  FUNCTION(MatmulPreferenceDestroy);
  FUNCTION(MatmulPreferenceSetAttribute);
  FUNCTION(MatmulAlgoGetHeuristic);
  FUNCTION(Matmul);
  FUNCTION(GetStatusString);
#undef FUNCTION
  void must(cublasStatus_t s, const char* what) const {
    if (s == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(std::string("out of device memory: ") + what);
    if (s != CUBLAS_STATUS_SUCCESS)
      throw DeviceError(std::string("the CUDA device failed: ") + what + ": " + GetStatusString(s));
  }

 private:
  template <class F>
  F* load(const char* name) const {
    if (!library.here())
      throw DeviceError(
          "libcublasLt.so.13 or .12 can't be opened: --device cuda needs NVIDIA's cuBLASLt of CUDA 13 or 12 "
          "where the loader finds it (LD_LIBRARY_PATH, or the folder of the CUDA toolkit in ld.so.conf)");
    F* f = nullptr;
    if (!library.find(name, f))
      throw DeviceError(std::string("cuBLASLt has no ") + name + ": it is another version than CUDA 12 or 13");
    return f;
  }
};

// The largest power of two, up to 256, that divides an address. It decides which kernels can be used.
int alignment(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p) | 256U;
  return static_cast<int>(at & (~at + 1));
}

// Owns a handle or descriptor of cuBLASLt, which a function of the opened library frees.
template <class Raw>
using Owned = std::unique_ptr<std::remove_pointer_t<Raw>, cublasStatus_t (*)(Raw)>;
template <class Raw>
Owned<Raw> owned(Raw raw, cublasStatus_t (*destroy)(Raw)) {
  return {raw, destroy};
}

ProductKey key_of(const GemmShape& s, const GemmOperands& o) {
  return {s, {alignment(o.w), alignment(o.x), alignment(o.y), alignment(o.bias)}};
}

}  // namespace

struct Blas::State {
  State(cudaStream_t s, Choice c, std::shared_ptr<ProductChoices> k, const std::string& device_name)
      : choice(c),
        stream(s),
        kept(k ? std::move(k) : std::make_shared<ProductChoices>()),
        here(kept->all[{device_name, static_cast<std::int64_t>(api.GetVersion())}]),
        workspace(kWorkspace, "cuBLASLt's workspace") {
    cublasLtHandle_t raw = nullptr;
    api.must(api.Create(&raw), "cuBLASLt");
    handle = owned(raw, api.Destroy);
    int device = 0;
    must(cudaGetDevice(&device), "the device");
    must(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
    must(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "size of L2");
  }

  // What a product is: its type and the layouts of its matrices.
  struct Description {
    Owned<cublasLtMatmulDesc_t> product;
    Owned<cublasLtMatrixLayout_t> w, x, y;
  };
  // How it is computed: by an algorithm of cuBLASLt, or by our own kernel for few rows with so many splits.
  struct Algorithm {
    cublasLtMatmulAlgo_t of_library{};
    std::optional<int> few_rows_splits = {};
  };
  struct Plan {
    Description description;
    Algorithm algorithm;
    int launches = 1;
  };
  static ProductChoice choice_of(const Algorithm& a) {
    if (a.few_rows_splits) return {.few_rows_splits = a.few_rows_splits};
    ProductChoice c;
    std::copy_n(a.of_library.data, c.algorithm.size(), c.algorithm.begin());
    return c;
  }

  Owned<cublasLtMatrixLayout_t> layout(cudaDataType_t type, int rows, int columns, int stride, const char* what) const {
    cublasLtMatrixLayout_t raw = nullptr;
    api.must(api.MatrixLayoutCreate(&raw, type, rows, columns, stride), what);
    return owned(raw, api.MatrixLayoutDestroy);
  }
  Description describe(const GemmShape& s) const {
    const auto type = s.bf16 ? CUDA_R_16BF : CUDA_R_32F;
    cublasLtMatmulDesc_t raw = nullptr;
    api.must(api.MatmulDescCreate(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
    auto product = owned(raw, api.MatmulDescDestroy);
    if (s.bias) {
      const cublasLtEpilogue_t with_bias = CUBLASLT_EPILOGUE_BIAS;
      api.must(api.MatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_EPILOGUE, &with_bias, sizeof with_bias), "a bias");
    }
    return {.product = std::move(product),
            .w = layout(type, s.out, s.in, s.out, "weights"),
            .x = layout(type, s.in, s.rows, s.x_stride, "inputs"),
            .y = layout(type, s.out, s.rows, s.y_stride, "outputs")};
  }
  void set_bias(const Description& d, const GemmOperands& o) const {
    if (o.bias == nullptr) return;
    api.must(api.MatmulDescSetAttribute(d.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o.bias, sizeof o.bias),
             "a bias");
  }

  cublasStatus_t matmul(const Description& d, const cublasLtMatmulAlgo_t& algorithm, const GemmOperands& o) {
    const float one = 1, zero = 0;
    set_bias(d, o);
    return api.Matmul(handle.get(), d.product.get(), &one, o.w, d.w.get(), o.x, d.x.get(), &zero, o.y, d.y.get(), o.y,
                      d.y.get(), &algorithm, workspace.data(), workspace.bytes(), stream);
  }

  // Computes a product. Returns false if the algorithm does not support it after all.
  bool call(const Description& d, const Algorithm& a, const GemmShape& s, const GemmOperands& o) {
    if (!a.few_rows_splits) {
      const cublasStatus_t status = matmul(d, a.of_library, o);
      if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
      api.must(status, "a matrix product");
      return true;
    }
    if (counters.data() == nullptr) {
      counters = Buffer(kCounterBytes, "counters of products");
      must(cudaMemsetAsync(counters.data(), 0, kCounterBytes, stream), "filling memory");
    }
    few_rows({.x = {static_cast<const bf16*>(o.x), s.rows, s.in, s.x_stride},
              .w = static_cast<const bf16*>(o.w),
              .bias = static_cast<const bf16*>(o.bias),
              .splits = *a.few_rows_splits,
              .counters = reinterpret_cast<unsigned*>(counters.data()),
              .parts = reinterpret_cast<float*>(workspace.data()),
              .y = {static_cast<bf16*>(o.y), s.rows, s.out, s.y_stride}},
             stream);
    return true;
  }

  // Keeps the device busy while the host launches what is timed. Weights are evicted from L2, where a step never finds
  // those of a large network: it reads all others in between.
  void keep_busy(const GemmShape& s, int launches) {
    constexpr int kAdditions = 20000, kOfLaunch = 2500;  // some 45 us, and 6 us a launch
    if (bounded_by_weights(s) && may_evict())
      read_through(evicting.data(), evicting.bytes(), reinterpret_cast<unsigned*>(workspace.data()), sms, stream);
    else idle(kAdditions + kOfLaunch * launches, stream);
  }
  bool bounded_by_weights(const GemmShape& s) const {
    constexpr int kLarge = 64;  // weights below this part of L2 do not bound their product, wherever they are
    const auto bytes = at(s.in) * at(s.out) * (s.bf16 ? 2 : 4);
    return bytes >= at(l2 / kLarge);
  }
  bool may_evict() {
    if (evicting.data() != nullptr) return true;
    std::size_t free = 0, total = 0;
    must(cudaMemGetInfo(&free, &total), "free memory");
    if (free < 16 * at(l2)) return false;  // the little memory that is left has other uses
    evicting = Buffer(2 * at(l2), "data that evict L2");
    return true;
  }

  // Seconds of a run, of so many `together` between two events; `times` of them, sorted.
  std::vector<double> runs(int times, int together, const Description& d, const Algorithm& a, const GemmShape& s,
                           const GemmOperands& o) {
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
      keep_busy(s, together);
      begin.record(stream);
      for (int j = 0; j < together; ++j) std::ignore = call(d, a, s, o);
      end.record(stream);
      end.wait();
      took.push_back(end.seconds_since(begin) / together);
    }
    std::sort(took.begin(), took.end());
    return took;
  }
  // The fastest of some runs, or the median of a short product's, in seconds; infinite if the algorithm does not
  // support the product.
  double time(const Description& d, const Algorithm& a, const GemmShape& s, const GemmOperands& o) {
    if (!call(d, a, s, o)) return std::numeric_limits<double>::infinity();  // this run also loads the kernel's code
    const double fastest = runs(kRuns, 1, d, a, s, o).front();
    if (fastest >= kShort) return fastest;
    const bool evicts = bounded_by_weights(s) && may_evict();
    const auto took = evicts ? runs(kColdRuns, 1, d, a, s, o) : runs(kRunsTogether, kTogether, d, a, s, o);
    return took[took.size() / 2];
  }

  int count_launches(const Description& d, const Algorithm& a, const GemmShape& s, const GemmOperands& o) {
    Capture capture(stream);
    std::ignore = call(d, a, s, o);
    return static_cast<int>(nodes_of(capture.end()));
  }

  Algorithm first_that_can(const Description& d, const std::vector<Algorithm>& candidates, const GemmShape& s,
                           const GemmOperands& o) {
    for (const Algorithm& a : candidates)
      if (call(d, a, s, o)) return a;
    throw DeviceError("cuBLASLt has no algorithm for a product of this shape");
  }

  // An algorithm from a file is used only if it is among today's candidates, so that no file makes an unsuitable kernel
  // run.
  Algorithm kept_or_fastest(const Description& d, std::vector<Algorithm> candidates, const ProductKey& key,
                            const GemmOperands& o) {
    const GemmShape& s = key.shape;
    const FewRowsShape few{s.rows, s.in, s.out};
    if (s.bf16 && at(alignment(o.w)) >= sizeof(uint4))
      for (const int splits : few_rows_splits(few, sms))
        if (few_rows_parts(few, splits) <= workspace.bytes()) candidates.push_back({.few_rows_splits = splits});
    if (const auto before = here.find(key); before != here.end())
      for (const Algorithm& a : candidates)
        if (choice_of(a) == before->second && call(d, a, s, o)) return a;
    double best = std::numeric_limits<double>::infinity();
    const Algorithm* chosen = nullptr;
    for (const Algorithm& a : candidates)
      if (const double seconds = time(d, a, s, o); seconds < best) best = seconds, chosen = &a;
    evicting = Buffer();
    if (chosen == nullptr) throw DeviceError("cuBLASLt has no algorithm for a product of this shape");
    here[key] = choice_of(*chosen);
    ++kept->timed;
    return *chosen;
  }

  std::vector<Algorithm> candidates_of_library(const Description& d, const ProductKey& key) const {
    cublasLtMatmulPreference_t raw = nullptr;
    api.must(api.MatmulPreferenceCreate(&raw), "a preference");
    const auto preference = owned(raw, api.MatmulPreferenceDestroy);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& v) {
      api.must(api.MatmulPreferenceSetAttribute(raw, what, &v, sizeof v), "a preference");
    };
    const auto aligned = [&](std::size_t i) -> std::uint32_t { return key.aligned[i]; };
    const std::uint64_t bytes = workspace.bytes();
    const std::uint32_t joined = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, joined);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned(0));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned(1));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned(2));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned(2));
    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
    int found = 0;
    const cublasStatus_t status =
        api.MatmulAlgoGetHeuristic(handle.get(), d.product.get(), d.w.get(), d.x.get(), d.y.get(), d.y.get(), raw,
                                   kCandidates, results.data(), &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};  // a kernel of our own may do
    api.must(status, "choosing an algorithm for a matrix product");
    std::vector<Algorithm> candidates;
    for (int i = 0; i < found; ++i) {
      const auto& r = results[at(i)];
      if (r.state == CUBLAS_STATUS_SUCCESS) candidates.push_back({.of_library = r.algo});
    }
    return candidates;
  }

  Plan make(const ProductKey& key, const GemmOperands& o) {
    const GemmShape& s = key.shape;
    Plan p{.description = describe(s), .algorithm = {}};
    set_bias(p.description, o);
    auto candidates = candidates_of_library(p.description, key);
    p.algorithm = s.rows > kMostTimedRows || choice == Choice::first
                      ? first_that_can(p.description, candidates, s, o)
                      : kept_or_fastest(p.description, std::move(candidates), key, o);
    p.launches = count_launches(p.description, p.algorithm, s, o);
    return p;
  }

  const Plan& plan(const GemmShape& s, const GemmOperands& o) const {
    const auto it = plans.find(key_of(s, o));
    check(it != plans.end(), "a product whose algorithm was not chosen");
    return it->second;
  }

  Api api;
  Choice choice;
  cudaStream_t stream;
  std::shared_ptr<ProductChoices> kept;
  std::map<ProductKey, ProductChoice>& here;  // those of this device and library
  Owned<cublasLtHandle_t> handle{nullptr, nullptr};
  int sms = 1, l2 = 0;
  Buffer workspace, counters, evicting;
  Event begin, end;
  std::map<ProductKey, Plan> plans;
};

Blas::Blas(cudaStream_t stream, Choice choice, std::shared_ptr<ProductChoices> kept, const std::string& device)
    : state_(std::make_unique<State>(stream, choice, std::move(kept), device)) {}
Blas::~Blas() = default;

void Blas::prepare(const GemmShape& s, const GemmOperands& o) {
  const ProductKey key = key_of(s, o);
  if (!state_->plans.contains(key)) state_->plans.emplace(key, state_->make(key, o));
}
void Blas::run(const GemmShape& s, const GemmOperands& o) {
  const State::Plan& p = state_->plan(s, o);
  if (!state_->call(p.description, p.algorithm, s, o))
    throw DeviceError("cuBLASLt refuses a product that it computed before");
}
int Blas::launches(const GemmShape& s, const GemmOperands& o) const { return state_->plan(s, o).launches; }

}  // namespace draftline::cuda
