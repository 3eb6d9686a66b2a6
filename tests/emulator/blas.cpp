// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's stand-in. Algorithm 1 takes two launches, as a split and joined one does; 2 is
// offered and then refused; 3 rounds what it adds to the output's format, and is offered first to who doesn't rule it
// out.
#include <cublasLt.h>
#include <cuda_bf16.h>

#include "tests/emulator/emulator.h"
#include "tests/emulator/libraries.h"

namespace {

float value(const void* data, std::int64_t i, cudaDataType_t type) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[i];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
}
void put(void* data, std::int64_t i, cudaDataType_t type, float v) {
  if (type == CUDA_R_32F) static_cast<float*>(data)[i] = v;
  else static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(v);
}

}  // namespace

std::size_t cublasLtGetVersion() { return 130000; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
  *h = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "the stand-in of cuBLASLt failed"; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t, cudaDataType_t) {
  *d = new EmulatedProduct;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  delete d;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what,
                                              const void* v, std::size_t) {
  if (what == CUBLASLT_MATMUL_DESC_EPILOGUE)
    d->bias = *static_cast<const cublasLtEpilogue_t*>(v) == CUBLASLT_EPILOGUE_BIAS;
  else d->bias_data = *static_cast<const void* const*>(v);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t ld) {
  *l = new EmulatedLayout{type, rows, cols, ld};
  return ld >= static_cast<std::int64_t>(rows) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  delete l;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  *p = new std::uint32_t(CUBLASLT_REDUCTION_SCHEME_MASK);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  delete p;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void* v,
                                                    std::size_t) {
  if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) *p = *static_cast<const std::uint32_t*>(v);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t allowed, int,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  const auto offer = [&](std::uint64_t algorithm) {
    results[(*found)++] = {{{algorithm}}, 0, CUBLAS_STATUS_SUCCESS, 1, {}};
  };
  if ((*allowed & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) != 0) offer(3);
  for (const unsigned algorithm : {2U, 0U, 1U}) offer(algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

// d = a b (+ bias), in columns: a [m, k], b [k, n], d [m, n].
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void*, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void*,
                              const void*, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algorithm, void*, std::size_t, cudaStream_t stream) {
  if (la->cols != lb->rows || la->rows != ld->rows || lb->cols != ld->cols) return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm->data[0] == 2) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool rounds = algorithm->data[0] == 3;
  const auto run = [=, a_at = *la, b_at = *lb, d_at = *ld, bias = product->bias ? product->bias_data : nullptr] {
    const auto m = static_cast<std::int64_t>(d_at.rows), n = static_cast<std::int64_t>(d_at.cols),
               k = static_cast<std::int64_t>(a_at.cols);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        float sum = 0;
        for (std::int64_t e = 0; e < k; ++e) {
          sum += value(b, j * b_at.ld + e, b_at.type) * value(a, e * a_at.ld + i, a_at.type);
          if (rounds && d_at.type == CUDA_R_16BF) sum = __bfloat162float(__float2bfloat16(sum));
        }
        put(d, j * d_at.ld + i, d_at.type, sum + (bias ? value(bias, i, d_at.type) : 0.0F));
      }
  };
  if (algorithm->data[0] == 1) emulator::enqueue(stream, cudaGraphNodeTypeKernel, [] {});
  return emulator::enqueue(stream, cudaGraphNodeTypeKernel, run) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

const emulator::Functions& emulator::cublas() {
#define KNOWN(f) \
  { #f, reinterpret_cast < void*>(&f) }
  static const Functions known{KNOWN(cublasLtGetVersion),
                               KNOWN(cublasLtCreate),
                               KNOWN(cublasLtDestroy),
                               KNOWN(cublasLtGetStatusString),
                               KNOWN(cublasLtMatmulDescCreate),
                               KNOWN(cublasLtMatmulDescDestroy),
                               KNOWN(cublasLtMatmulDescSetAttribute),
                               KNOWN(cublasLtMatrixLayoutCreate),
                               KNOWN(cublasLtMatrixLayoutDestroy),
                               KNOWN(cublasLtMatmulPreferenceCreate),
                               KNOWN(cublasLtMatmulPreferenceDestroy),
                               KNOWN(cublasLtMatmulPreferenceSetAttribute),
                               KNOWN(cublasLtMatmulAlgoGetHeuristic),
                               KNOWN(cublasLtMatmul)};
#undef KNOWN
  return known;
}
