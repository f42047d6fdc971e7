// SPDX-License-Identifier: Apache-2.0
// The ways to create a communicator. Any thread; each blocks until all ranks have called it, at most for
// RONDO_INIT_TIMEOUT.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace rondo {

struct UniqueId;

using CommunicatorPtr = std::unique_ptr<Communicator>;

/// The timeout of creating a communicator: RONDO_INIT_TIMEOUT or its default.
Result<int64_t> init_timeout_ms();

Result<UniqueId> make_unique_id();
Result<CommunicatorPtr> join(const UniqueId& id, int nranks, int rank, Communicator::Options options,
                             const Interrupt& superseded = {}, const Interrupt& interrupt = {});
Result<std::vector<CommunicatorPtr>> join_all(int nranks, const Communicator::Options& options);
Result<CommunicatorPtr> join_by_method(const std::string& method, Communicator::Options options);

/// Null if `color` is negative.
Result<CommunicatorPtr> split(Communicator& parent, int color, int key, Communicator::Options options);

/// A communicator of the ranks that are not `excluded`; each of them calls this. The parent may have failed.
Result<CommunicatorPtr> shrink(Communicator& parent, std::span<const int> excluded,
                               Communicator::Options options);

/// Excludes the ranks that are gone; tries again if another one is found to be gone meanwhile.
Result<CommunicatorPtr> shrink_to_living(Communicator& parent, Communicator::Options options);

}  // namespace rondo
