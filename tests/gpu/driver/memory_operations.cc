// SPDX-License-Identifier: Apache-2.0
// Waits and writes of memory words that streams do without a kernel, so that they occupy no device.
#include <atomic>
#include <thread>

#include "graph.h"
#include "guard.h"
#include "stream.h"

namespace rondo::standin {
namespace {

constexpr auto kPollInterval = std::chrono::microseconds(20);
constexpr unsigned kTooMany = 256;

template <class T>
bool holds(T found, T value, unsigned condition) {
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_EQ: return found == value;
    case CU_STREAM_WAIT_VALUE_AND: return (found & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return static_cast<T>(~(found | value)) != 0;
    default: return static_cast<std::make_signed_t<T>>(found - value) >= 0;  // GEQ, cyclic
  }
}

template <class T>
T load(CUdeviceptr address) {
  const DeviceAccess access;
  return std::atomic_ref<T>(*at<T>(address)).load(std::memory_order_acquire);
}

template <class T>
Operation wait_operation(Context* context, CUdeviceptr address, T value, unsigned flags) {
  const unsigned condition = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
  return [=] {
    while (!context->failed() && !driver().ended && !holds(load<T>(address), value, condition))
      std::this_thread::sleep_for(kPollInterval);
  };
}

template <class T>
Operation write_operation(Context* context, CUdeviceptr address, T value) {
  return [=] {
    if (context->failed()) return;
    const DeviceAccess access;
    std::atomic_ref<T>(*at<T>(address)).store(value, std::memory_order_release);
  };
}

CUresult check_word(Context& context, CUdeviceptr address, size_t bytes) {
  const Allocation* found = driver().allocations.find(address);
  STANDIN_REQUIRE(address % bytes == 0 && found != nullptr && found->holds(address, bytes),
                  CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(found->reached_by(&context), CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

template <class T>
CUresult plan_wait(Context* context, CUdeviceptr address, T value, unsigned flags, Operation& made) {
  constexpr unsigned kKnown = CU_STREAM_WAIT_VALUE_FLUSH | CU_STREAM_WAIT_VALUE_NOR;
  STANDIN_REQUIRE((flags & ~kKnown) == 0, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(check_word(*context, address, sizeof(T)));
  made = wait_operation(context, address, value, flags);
  return CUDA_SUCCESS;
}

template <class T>
CUresult plan_write(Context* context, CUdeviceptr address, T value, unsigned flags, Operation& made) {
  STANDIN_REQUIRE((flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) == 0,
                  CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(check_word(*context, address, sizeof(T)));
  made = write_operation(context, address, value);
  return CUDA_SUCCESS;
}

CUresult plan_batched(Context* context, const CUstreamBatchMemOpParams& params, Operation& made) {
  const auto& wait = params.waitValue;
  const auto& write = params.writeValue;
  switch (params.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return plan_wait<uint32_t>(context, wait.address, wait.value, wait.flags, made);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return plan_wait<uint64_t>(context, wait.address, wait.value64, wait.flags, made);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return plan_write<uint32_t>(context, write.address, write.value, write.flags, made);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return plan_write<uint64_t>(context, write.address, write.value64, write.flags, made);
    case CU_STREAM_MEM_OP_BARRIER:
      made = [] {};  // operations are ordered anyway
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

template <class T>
CUresult wait_value(CUstream handle, CUdeviceptr address, T value, unsigned flags) {
  StreamPtr stream;
  Operation operation;
  STANDIN_TRY(find_stream(handle, stream));
  STANDIN_TRY(plan_wait<T>(stream->context, address, value, flags, operation));
  return submit(*stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, std::move(operation));
}

template <class T>
CUresult write_value(CUstream handle, CUdeviceptr address, T value, unsigned flags) {
  StreamPtr stream;
  Operation operation;
  STANDIN_TRY(find_stream(handle, stream));
  STANDIN_TRY(plan_write<T>(stream->context, address, value, flags, operation));
  return submit(*stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, std::move(operation));
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return call(__func__, [&](Lock&) { return wait_value<uint32_t>(stream, address, value, flags); });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return call(__func__, [&](Lock&) { return wait_value<uint64_t>(stream, address, value, flags); });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return call(__func__, [&](Lock&) { return write_value<uint32_t>(stream, address, value, flags); });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return call(__func__, [&](Lock&) { return write_value<uint64_t>(stream, address, value, flags); });
}

CUresult cuStreamBatchMemOp(CUstream handle, unsigned count, CUstreamBatchMemOpParams* params,
                            unsigned flags) {
  return call(__func__, [&](Lock&) {
    StreamPtr stream;
    STANDIN_TRY(find_stream(handle, stream));
    STANDIN_REQUIRE(count < kTooMany && params != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    std::vector<Operation> all(count);
    for (unsigned i = 0; i < count; ++i) STANDIN_TRY(plan_batched(stream->context, params[i], all[i]));
    return submit(*stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, [all = std::move(all)] {
      for (const Operation& one : all) one();
    });
  });
}
