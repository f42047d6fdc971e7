// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace rondo::fabric {
namespace {

constexpr int kStale = 0xDB;

/// The descriptor that has the bytes of a region, and their position in it.
int place_of(const Connection& connection, const Region& region, uint64_t at, off_t& position) {
  position = static_cast<off_t>(region.addr + (at - region.iova));
  return region.dmabuf.get() >= 0 ? region.dmabuf.get() : connection.memory.get();
}

bool is_on_demand(const Region& region) { return (region.access & IBV_ACCESS_ON_DEMAND) != 0; }

/// Calls use(element's region, address, offset in the message, bytes) for the elements that overlap the
/// bytes.
template <class Use>
bool for_elements(QueuePair& pair, const WorkRequest& request, uint32_t offset, uint32_t bytes, Use use) {
  uint64_t begin = 0;
  for (uint32_t i = 0; i < request.sges; ++i) {
    const ibv_sge& sge = request.sge[i];
    const uint64_t from = std::max<uint64_t>(begin, offset);
    const uint64_t to = std::min<uint64_t>(begin + sge.length, uint64_t{offset} + bytes);
    if (from < to) {
      Region* const region = find_local(pair.connection, pair.pd, sge, 0);
      if (region == nullptr ||
          !use(*region, sge.addr + (from - begin), from - offset, static_cast<uint32_t>(to - from)))
        return false;
    }
    begin += sge.length;
  }
  return true;
}

}  // namespace

Region* find_local(Connection& connection, uint32_t pd, const ibv_sge& sge, uint32_t rights) {
  for (auto& [handle, region] : connection.regions)
    if (region.lkey == sge.lkey)
      return region.pd == pd && region.covers(sge.addr, sge.length) && (region.access & rights) == rights
                 ? &region
                 : nullptr;
  return nullptr;
}

Region* find_remote(Connection& connection, uint32_t pd, uint32_t rkey, uint64_t addr, uint64_t bytes,
                    uint32_t rights) {
  for (auto& [handle, region] : connection.regions)
    if (region.rkey == rkey)
      return region.pd == pd && region.covers(addr, bytes) && (region.access & rights) == rights ? &region
                                                                                                 : nullptr;
  return nullptr;
}

bool may_use(QueuePair& pair, const WorkRequest& request, uint32_t rights) {
  if ((request.flags & IBV_SEND_INLINE) != 0) return true;
  for (uint32_t i = 0; i < request.sges; ++i)
    if (request.sge[i].length != 0 && find_local(pair.connection, pair.pd, request.sge[i], rights) == nullptr)
      return false;
  return true;
}

uint64_t length_of(const WorkRequest& request) {
  if ((request.flags & IBV_SEND_INLINE) != 0) return request.inline_bytes;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < request.sges; ++i) bytes += request.sge[i].length;
  return bytes;
}

bool read(Connection& connection, const Region& region, uint64_t from, std::byte* to, uint32_t bytes) {
  off_t position = 0;
  const int fd = place_of(connection, region, from, position);
  const ssize_t found = region.is_stale ? -1 : ::pread(fd, to, bytes, position);
  if (found == 0 && bytes != 0) return false;  // the process has ended
  const ssize_t got = std::max<ssize_t>(0, found);
  if (static_cast<uint32_t>(got) == bytes) return true;
  std::memset(to + got, kStale, bytes - static_cast<size_t>(got));
  return !is_on_demand(region);
}

bool write(Connection& connection, const Region& region, uint64_t to, const std::byte* from, uint32_t bytes) {
  if (region.is_stale) return true;
  off_t position = 0;
  const int fd = place_of(connection, region, to, position);
  if (region.dmabuf.get() >= 0 && connection.settings.holds_gpu_writes) {
    connection.held.push_back({Descriptor(::dup(fd)), position, {from, from + bytes}});
    return true;
  }
  const ssize_t put = ::pwrite(fd, from, bytes, position);
  return put == static_cast<ssize_t>(bytes) || !is_on_demand(region);
}

void land(Connection& connection) {
  for (const HeldWrite& write : connection.held)
    [[maybe_unused]] const ssize_t put =
        ::pwrite(write.dmabuf.get(), write.bytes.data(), write.bytes.size(), write.position);
  connection.held.clear();
}

bool gather(QueuePair& pair, const WorkRequest& request, uint32_t offset, std::byte* to, uint32_t bytes) {
  if ((request.flags & IBV_SEND_INLINE) != 0) {
    std::memcpy(to, request.inline_data() + offset, bytes);
    return true;
  }
  return for_elements(pair, request, offset, bytes,
                      [&](Region& region, uint64_t at, uint64_t position, uint32_t part) {
                        return read(pair.connection, region, at, to + position, part);
                      });
}

bool scatter(QueuePair& pair, const WorkRequest& request, uint32_t offset, const std::byte* from,
             uint32_t bytes) {
  return for_elements(pair, request, offset, bytes,
                      [&](Region& region, uint64_t at, uint64_t position, uint32_t part) {
                        return write(pair.connection, region, at, from + position, part);
                      });
}

}  // namespace rondo::fabric
