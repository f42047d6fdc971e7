// SPDX-License-Identifier: Apache-2.0
// Primary contexts, and which one is current.
#include "event.h"
#include "graph.h"
#include "library.h"
#include "stream.h"

namespace rondo::standin {
namespace {

std::vector<Context*>& current_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

void destroy_what_is_of(Context& context) {
  Driver& self = driver();
  for (const StreamPtr& stream : context.streams) close_stream(*stream);
  self.streams.remove_if([&](const Stream& stream) { return stream.context == &context; });
  self.events.remove_if([&](const Event& event) { return event.context == &context; });
  self.functions.remove_if([&](const CUfunc_st& function) { return function.context == &context; });
  for (auto it = self.allocations.begin(); it != self.allocations.end();) {
    const Allocation& allocation = it->second;
    ++it;
    if (allocation.context == &context) self.allocations.take(allocation.base);
  }
  context.legacy = nullptr;
  context.peers.clear();
  context.error = 0;
  ++context.generation;
}

CUresult release(Context& context, Lock& lock) {
  STANDIN_REQUIRE(context.active(), CUDA_ERROR_INVALID_CONTEXT);
  if (--context.retained > 0) return CUDA_SUCCESS;
  wait_unlocked(lock, work_of(context));
  if (!context.active()) destroy_what_is_of(context);
  return CUDA_SUCCESS;
}

/// Waits for all streams, as NVIDIA's driver does; drops what is enqueued meanwhile.
void reset(Context& context, Lock& lock) {
  if (!context.active()) return;
  wait_unlocked(lock, work_of(context));
  if (!context.active()) return;
  context.error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  drop_work(context, lock);
  context.retained = 0;
  destroy_what_is_of(context);
}

}  // namespace

Context* current_context() { return current_stack().empty() ? nullptr : current_stack().back(); }

CUresult use_context(Context*& found) {
  found = current_context();
  STANDIN_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  STANDIN_REQUIRE(found->active(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return static_cast<CUresult>(found->error.load());
}

}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    Context& made = found->context;
    ++made.retained;
    if (made.legacy == nullptr) made.legacy = make_stream(made, CU_STREAM_DEFAULT, 0);
    *context = &made;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call(__func__, [&](Lock& lock) {
    Device* found = nullptr;
    STANDIN_TRY(find_device(device, found));
    return release(found->context, lock);
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return call(__func__, [&](Lock& lock) {
    Device* found = nullptr;
    STANDIN_TRY(find_device(device, found));
    reset(found->context, lock);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return call(__func__, [&](Lock&) {
    const Context* const asked = context != nullptr ? context : current_context();
    STANDIN_REQUIRE(id != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(asked != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    STANDIN_REQUIRE(asked->active(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *id = asked->generation << 8 | static_cast<unsigned>(asked->device->ordinal);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(flags != nullptr && active != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    *flags = found->context.flags;
    *active = found->context.active() ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_TRY(find_device(device, found));
    found->context.flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_VALUE);
    *context = current_context();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(context == nullptr || context->active(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    auto& stack = current_stack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    STANDIN_REQUIRE(context->active(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    current_stack().push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(!current_stack().empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (context != nullptr) *context = current_stack().back();
    current_stack().pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_REQUIRE(device != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(use_context(context));
    *device = context->device->ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return call(__func__, [&](Lock& lock) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_TRY(check_context_not_capturing(*context));
    STANDIN_TRY(check_unsafe());
    wait_unlocked(lock, work_of(*context));
    return static_cast<CUresult>(context->error.load());
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(peer != nullptr && peer != context, CUDA_ERROR_INVALID_CONTEXT);
    STANDIN_REQUIRE(driver().settings.peers, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    STANDIN_REQUIRE(context->peers.insert(peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(context->peers.erase(peer) != 0, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    return CUDA_SUCCESS;
  });
}
