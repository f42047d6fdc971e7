// Start: the ways to come by a communicator. Any thread; each blocks until all ranks have come, at the
// longest until RONDO_INIT_TIMEOUT.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/unique_id.h"

namespace rondo {

using CommunicatorPtr = std::unique_ptr<Communicator>;

/// How long a start may take: RONDO_INIT_TIMEOUT or its default.
Result<int64_t> init_timeout_ms();

Result<UniqueId> make_unique_id();
Result<CommunicatorPtr> join(const UniqueId& id, int nranks, int rank, Communicator::Options options,
                             const Interrupt& superseded = {}, const Interrupt& interrupt = {});
Result<std::vector<CommunicatorPtr>> join_all(int nranks, const Communicator::Options& options);
Result<CommunicatorPtr> join_by_method(const std::string& method, Communicator::Options options);

/// Null for a rank with no colour.
Result<CommunicatorPtr> split(Communicator& parent, int color, int key, Communicator::Options options);

/// Of the ranks that are not `excluded`, each of which calls it; works on one that has failed as well.
Result<CommunicatorPtr> shrink(Communicator& parent, std::span<const int> excluded,
                               Communicator::Options options);

}  // namespace rondo
