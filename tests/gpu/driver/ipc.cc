// SPDX-License-Identifier: Apache-2.0
// Memory of other processes: a handle names a process and one of its descriptors.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "graph.h"
#include "guard.h"
#include "stream.h"

namespace rondo::standin {
namespace {

struct Handle {
  uint32_t mark;
  pid_t process;
  int fd;
  uint32_t offset;  // of the allocation in its memory
  uint64_t bytes;
  uint64_t name_hash;  // of the memory: descriptors are reused
};
constexpr uint32_t kMark = 0x6F646E72;
static_assert(sizeof(Handle) <= sizeof(CUipcMemHandle));

uint64_t hash(const std::string& text) { return std::hash<std::string>()(text); }

/// Null if the process no longer holds that memory.
std::shared_ptr<DeviceMemory> open_memory(const Handle& handle) {
  const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  auto memory = DeviceMemory::adopt(fd);
  return memory != nullptr && hash(memory->name()) == handle.name_hash ? memory : nullptr;
}

Allocation* find_opened(const DeviceMemory& memory) {
  for (auto& [base, allocation] : driver().allocations)
    if (allocation.kind == Allocation::Kind::Imported && allocation.memory->name() == memory.name())
      return &allocation;
  return nullptr;
}

CUresult open(CUdeviceptr* pointer, const Handle& handle, Context& context) {
  STANDIN_REQUIRE(handle.mark == kMark, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(handle.process != ::getpid(), CUDA_ERROR_INVALID_CONTEXT);
  auto memory = open_memory(handle);
  STANDIN_REQUIRE(memory != nullptr, CUDA_ERROR_MAP_FAILED);
  STANDIN_REQUIRE(&memory->device() == context.device || driver().settings.peers,
                  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  Allocation* opened = find_opened(*memory);
  STANDIN_REQUIRE(opened == nullptr || opened->context == &context, CUDA_ERROR_ALREADY_MAPPED);
  if (opened == nullptr) {
    Allocation made;
    made.kind = Allocation::Kind::Imported;
    made.mapping = Mapping::of(*memory);
    STANDIN_REQUIRE(!made.mapping.null(), CUDA_ERROR_MAP_FAILED);
    made.base = reinterpret_cast<uintptr_t>(made.mapping.begin()) + handle.offset;
    made.bytes = handle.bytes;
    made.context = &context;
    made.memory = std::move(memory);
    opened = &driver().allocations.add(std::move(made));
    protect(*opened);
  }
  ++opened->opened;
  *pointer = opened->base;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    Allocation* const found = driver().allocations.find(pointer);
    STANDIN_REQUIRE(handle != nullptr && found != nullptr && found->kind == Allocation::Kind::Device,
                    CUDA_ERROR_INVALID_VALUE);
    const uintptr_t begin = reinterpret_cast<uintptr_t>(found->mapping.begin());
    const Handle made{kMark,
                      ::getpid(),
                      found->memory->fd(),
                      static_cast<uint32_t>(found->base - begin),
                      found->bytes,
                      hash(found->memory->name())};
    found->exported = true;
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &made, sizeof made);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(pointer != nullptr && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS,
                    CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(check_unsafe());
    Handle given;
    std::memcpy(&given, &handle, sizeof given);
    return open(pointer, given, *context);
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return call(__func__, [&](Lock& lock) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_TRY(check_unsafe());
    const auto find = [&] { return driver().allocations.at(pointer, Allocation::Kind::Imported); };
    STANDIN_REQUIRE(find() != nullptr, CUDA_ERROR_INVALID_VALUE);
    wait_unlocked(lock, work_of(*context));
    STANDIN_REQUIRE(find() != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (--find()->opened == 0) driver().allocations.take(pointer);
    return CUDA_SUCCESS;
  });
}
