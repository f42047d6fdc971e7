// SPDX-License-Identifier: Apache-2.0
#include "gpu/words.h"

#include <algorithm>
#include <vector>

#include "driver.h"

namespace rondo::gpu {
namespace {

constexpr size_t kMaxAtOnce = 255;  // CUDA's limit: fewer than 256

CUstreamBatchMemOpParams params_of(const WordOperation& operation) {
  CUstreamBatchMemOpParams params{};
  const auto word = reinterpret_cast<CUdeviceptr>(operation.word);
  if (operation.type == WordOperation::Type::Wait) {
    params.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    params.waitValue.address = word;
    params.waitValue.value = operation.value;
    params.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  } else {
    params.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    params.writeValue.address = word;
    params.writeValue.value = operation.value;
    params.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
  return params;
}

}  // namespace

Status operate(Stream stream, std::span<const WordOperation> operations) {
  std::vector<CUstreamBatchMemOpParams> params;
  while (!operations.empty()) {
    const auto now = operations.first(std::min(kMaxAtOnce, operations.size()));
    operations = operations.subspan(now.size());
    params.clear();
    for (const WordOperation& one : now) params.push_back(params_of(one));
    RONDO_TRY(outcome(
        driver().value()->cuStreamBatchMemOp(stream, static_cast<unsigned>(params.size()), params.data(), 0),
        "enqueuing a stream's waits"));
  }
  return {};
}

}  // namespace rondo::gpu
