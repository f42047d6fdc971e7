// SPDX-License-Identifier: Apache-2.0
#include "team_buffers.h"

#include <algorithm>

#include "device_buffers.h"
#include "host_buffers.h"
#include "try.h"

namespace rondo::perf {
namespace {

gpu::MemoryKind memory_kind(Space space) {
  switch (space) {
    case Space::Managed: return gpu::MemoryKind::Managed;
    case Space::Pinned: return gpu::MemoryKind::Pinned;
    default: return gpu::MemoryKind::Device;
  }
}

rondo_status_t make_buffers(const PerfOptions& options, const BufferSizes& sizes, const TeamRank& member,
                            std::unique_ptr<Buffers>& made) {
  if (!options.gpu.used()) {
    const auto memory =
        options.shared_memory ? BenchBuffer::BufferMemory::Shared : BenchBuffer::BufferMemory::Plain;
    return HostBuffers::make(sizes, memory, made);
  }
  // Calls on a queue are ordered after the work on the default stream.
  const gpu::Stream stream = options.queue ? gpu::kLegacyStream : member.cuda_stream.get();
  return DeviceBuffers::make(sizes, memory_kind(options.gpu.space), member.device, stream, made);
}

}  // namespace

rondo_status_t TeamBuffers::open(const Team& team, const std::vector<Trial>& largest, size_t element_bytes) {
  const PerfOptions& options = *team.options;
  for (size_t i = 0; i < largest.size(); ++i) {
    const DataLayout& layout = largest[i].call.layout;
    const TeamRank& member = team.members[i];
    BufferSizes sizes;
    sizes.send = layout.send_extent * element_bytes;
    sizes.recv = std::max(sizes.send, layout.recv_extent * element_bytes);
    sizes.unalign = options.unalign * element_bytes;
    PERF_TRY(make_buffers(options, sizes, member, buffers_.emplace_back()));
    if (!options.register_buffers) continue;
    PERF_TRY(enroll(member.comm, buffers_.back()->send(), sizes.send));
    PERF_TRY(enroll(member.comm, buffers_.back()->recv(), sizes.recv));
  }
  return RONDO_OK;
}

rondo_status_t TeamBuffers::enroll(rondo_comm_t comm, void* at, size_t bytes) {
  if (bytes == 0) return RONDO_OK;
  void* handle = nullptr;
  PERF_TRY(rondo_register(comm, at, bytes, &handle));
  registered_.push_back({comm, handle});
  return RONDO_OK;
}

rondo_status_t TeamBuffers::close() {
  for (const RegisteredBuffer& one : registered_) PERF_TRY(rondo_deregister(one.comm, one.handle));
  drop();
  return RONDO_OK;
}

void TeamBuffers::drop() {
  registered_.clear();
  buffers_.clear();
}

}  // namespace rondo::perf
