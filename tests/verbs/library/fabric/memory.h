// SPDX-License-Identifier: Apache-2.0
// Memory of processes, through registered regions.
#pragma once

#include <cstddef>

#include "objects.h"

namespace rondo::fabric {

/// The region that the key names, if it covers the bytes with these rights and belongs to the protection
/// domain.
Region* find_local(Connection& connection, uint32_t pd, const ibv_sge& sge, uint32_t rights);
Region* find_remote(Connection& connection, uint32_t pd, uint32_t rkey, uint64_t addr, uint64_t bytes,
                    uint32_t rights);

/// Whether all of a work request's elements may be used.
bool may_use(QueuePair& pair, const WorkRequest& request, uint32_t rights);
uint64_t length_of(const WorkRequest& request);

/// False: a page of a region that pages on demand is not there, or its process has ended. Pages that others
/// no longer have are read as 0xDB, and what is written there is lost: a device keeps the pages that were
/// registered, wherever the process has gone.
bool read(Connection& connection, const Region& region, uint64_t from, std::byte* to, uint32_t bytes);
bool write(Connection& connection, const Region& region, uint64_t to, const std::byte* from, uint32_t bytes);

/// What is held of writes to dmabufs lands.
void land(Connection& connection);

/// `bytes` from `offset` on of what the elements of a work request name, in their order.
bool gather(QueuePair& pair, const WorkRequest& request, uint32_t offset, std::byte* to, uint32_t bytes);
bool scatter(QueuePair& pair, const WorkRequest& request, uint32_t offset, const std::byte* from,
             uint32_t bytes);

}  // namespace rondo::fabric
