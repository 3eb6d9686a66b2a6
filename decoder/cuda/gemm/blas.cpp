// SPDX-License-Identifier: Apache-2.0
// cuBLASLt thinks in columns: a row-major [r, c] is its [c, r]. So y' = w' x', and nothing is transposed.
// Sums that are split are joined in fp32 alone: by default cuBLASLt may add parts that were rounded to the output's format.
#include "decoder/cuda/gemm/blas.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/errors.h"
#include "decoder/cuda/gemm/few_rows.h"
#include "decoder/cuda/runtime/device.h"
#include "decoder/cuda/runtime/library.h"

namespace draftline::cuda {

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // NVIDIA's advice for Hopper
constexpr int kCandidates = 8, kRuns = 3;
constexpr int kMostTimedRows = 512;  // prompts come in too many lengths: theirs is the heuristics' first

// The functions that are used, by name.
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

// The largest power of two that divides an address: which kernels may serve it.
int alignment(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p) | 256U;
  return static_cast<int>(at & (~at + 1));
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
    api.must(api.Create(&handle), "cuBLASLt");
    int device = 0;
    must(cudaGetDevice(&device), "the device");
    must(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
    must(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "size of L2");
  }
  ~State() {
    for (auto& [key, p] : plans) destroy(p);
    api.Destroy(handle);
  }

  struct Plan {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    int few_rows_splits = 0;  // above 0: our own kernel, with so many parts
    int launches = 1;
  };
  static ProductChoice choice_of(const Plan& p) {
    if (p.few_rows_splits > 0) return {{}, p.few_rows_splits};
    ProductChoice c;
    std::copy_n(p.algorithm.data, c.algorithm.size(), c.algorithm.begin());
    return c;
  }
  void destroy(Plan& p) {
    if (p.product) api.MatmulDescDestroy(p.product);
    for (const auto layout : {p.w, p.x, p.y})
      if (layout) api.MatrixLayoutDestroy(layout);
  }

  void describe(Plan& p, const GemmShape& s) {
    const auto type = s.bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const auto n = [](int v) { return static_cast<std::uint64_t>(v); };
    api.must(api.MatmulDescCreate(&p.product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
    if (s.bias) {
      const cublasLtEpilogue_t with_bias = CUBLASLT_EPILOGUE_BIAS;
      api.must(api.MatmulDescSetAttribute(p.product, CUBLASLT_MATMUL_DESC_EPILOGUE, &with_bias, sizeof with_bias),
               "a bias");
    }
    api.must(api.MatrixLayoutCreate(&p.w, type, n(s.out), n(s.in), s.out), "weights");
    api.must(api.MatrixLayoutCreate(&p.x, type, n(s.in), n(s.rows), s.x_stride), "inputs");
    api.must(api.MatrixLayoutCreate(&p.y, type, n(s.out), n(s.rows), s.y_stride), "outputs");
  }

  cublasStatus_t matmul(const Plan& p, const GemmOperands& o) {
    const float one = 1, zero = 0;
    if (o.bias != nullptr)
      api.must(api.MatmulDescSetAttribute(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o.bias, sizeof o.bias),
               "a bias");
    return api.Matmul(handle, p.product, &one, o.w, p.w, o.x, p.x, &zero, o.y, p.y, o.y, p.y, &p.algorithm,
                      workspace.data(), workspace.bytes(), stream);
  }

  // False: the algorithm won't have that product after all.
  bool call(const Plan& p, const GemmShape& s, const GemmOperands& o) {
    if (p.few_rows_splits == 0) {
      const cublasStatus_t status = matmul(p, o);
      if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
      api.must(status, "a matrix product");
      return true;
    }
    if (counters.data() == nullptr) {
      counters = Buffer(kCounterBytes, "counters of products");
      must(cudaMemsetAsync(counters.data(), 0, kCounterBytes, stream), "filling memory");
    }
    few_rows({static_cast<const bf16*>(o.x), s.rows, s.in, s.x_stride}, static_cast<const bf16*>(o.w),
             static_cast<const bf16*>(o.bias), p.few_rows_splits, reinterpret_cast<unsigned*>(counters.data()),
             reinterpret_cast<float*>(workspace.data()), {static_cast<bf16*>(o.y), s.rows, s.out, s.y_stride}, stream);
    return true;
  }

  // In a step all weights are read before one is read again: L2 holds none of a large network's.
  void forget(const GemmShape& s) {
    constexpr int kLarge = 64;  // of L2: what is smaller is bound by other things than where its weights lie
    const auto bytes = static_cast<std::size_t>(s.in) * static_cast<std::size_t>(s.out) * (s.bf16 ? 2 : 4);
    if (bytes < static_cast<std::size_t>(l2 / kLarge)) return;
    if (others.data() == nullptr) {
      std::size_t free = 0, total = 0;
      must(cudaMemGetInfo(&free, &total), "free memory");
      if (free < 16 * static_cast<std::size_t>(l2)) return;  // what is left is wanted by others
      others = Buffer(2 * static_cast<std::size_t>(l2), "what clears L2");
    }
    read_through(others.data(), others.bytes(), reinterpret_cast<unsigned*>(workspace.data()), sms, stream);
  }

  double time(const Plan& p, const GemmShape& s, const GemmOperands& o) {  // infinite: it can't
    double best = std::numeric_limits<double>::infinity();
    if (!call(p, s, o)) return best;  // loads its code too
    for (int i = 0; i < kRuns; ++i) {
      forget(s);  // and while that runs the host gets ahead
      begin.record(stream);
      static_cast<void>(call(p, s, o));
      end.record(stream);
      end.wait();
      best = std::min(best, end.seconds_since(begin));
    }
    return best;
  }

  int count_launches(const Plan& p, const GemmShape& s, const GemmOperands& o) {
    cudaGraph_t graph = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture of a product");
    std::exception_ptr failed;
    try {
      static_cast<void>(call(p, s, o));
    } catch (...) { failed = std::current_exception(); }
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    std::size_t nodes = 0;
    if (ended == cudaSuccess) static_cast<void>(cudaGraphGetNodes(graph, nullptr, &nodes));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    if (failed) std::rethrow_exception(failed);
    must(ended, "capture of a product");
    return static_cast<int>(nodes);
  }

  Plan first_that_can(const std::vector<Plan>& candidates, const GemmShape& s, const GemmOperands& o) {
    for (const Plan& p : candidates)
      if (call(p, s, o)) return p;
    throw DeviceError("cuBLASLt has no algorithm for a product of this shape");
  }

  // The one kept is taken only where it is still offered: no file makes a kernel run that doesn't serve the product.
  Plan kept_or_fastest(const Plan& described, std::vector<Plan> candidates, const ProductKey& key,
                       const GemmOperands& o) {
    const GemmShape& s = key.shape;
    const FewRowsShape few{s.rows, s.in, s.out};
    if (s.bf16 && alignment(o.w) >= static_cast<int>(sizeof(uint4)))
      for (const int splits : few_rows_splits(few, sms)) {
        if (few_rows_parts(few, splits) > workspace.bytes()) continue;
        candidates.push_back(described);
        candidates.back().few_rows_splits = splits;
      }
    if (const auto before = here.find(key); before != here.end())
      for (const Plan& p : candidates)
        if (choice_of(p) == before->second && call(p, s, o)) return p;
    double best = std::numeric_limits<double>::infinity();
    const Plan* chosen = nullptr;
    for (const Plan& p : candidates)
      if (const double seconds = time(p, s, o); seconds < best) best = seconds, chosen = &p;
    others = Buffer();
    if (chosen == nullptr) throw DeviceError("cuBLASLt has no algorithm for a product of this shape");
    here[key] = choice_of(*chosen);
    ++kept->timed;
    return *chosen;
  }

  Plan make(const ProductKey& key, const GemmOperands& o) {
    const GemmShape& s = key.shape;
    Plan p;
    cublasLtMatmulPreference_t preference = nullptr;
    try {
      describe(p, s);
      if (o.bias != nullptr)
        api.must(api.MatmulDescSetAttribute(p.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o.bias, sizeof o.bias),
                 "a bias");
      api.must(api.MatmulPreferenceCreate(&preference), "a preference");
      const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& v) {
        api.must(api.MatmulPreferenceSetAttribute(preference, what, &v, sizeof v), "a preference");
      };
      const auto aligned = [&](std::size_t i) { return static_cast<std::uint32_t>(key.aligned[i]); };
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
      api.must(api.MatmulAlgoGetHeuristic(handle, p.product, p.w, p.x, p.y, p.y, preference, kCandidates,
                                          results.data(), &found),
               "choosing an algorithm for a matrix product");
      std::vector<Plan> candidates;
      for (int i = 0; i < found; ++i) {
        const auto& r = results[static_cast<std::size_t>(i)];
        if (r.state != CUBLAS_STATUS_SUCCESS) continue;
        candidates.push_back(p);
        candidates.back().algorithm = r.algo;
      }
      p = s.rows > kMostTimedRows || choice == Choice::first ? first_that_can(candidates, s, o)
                                                             : kept_or_fastest(p, candidates, key, o);
      p.launches = count_launches(p, s, o);
    } catch (...) {
      if (preference) api.MatmulPreferenceDestroy(preference);
      destroy(p);
      throw;
    }
    api.MatmulPreferenceDestroy(preference);
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
  std::map<ProductKey, ProductChoice>& here;  // of them
  cublasLtHandle_t handle = nullptr;
  int sms = 1, l2 = 0;
  Buffer workspace, counters, others;
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
  if (!state_->call(state_->plan(s, o), s, o)) throw DeviceError("cuBLASLt refuses a product that it took before");
}
int Blas::launches(const GemmShape& s, const GemmOperands& o) const { return state_->plan(s, o).launches; }

}  // namespace draftline::cuda
