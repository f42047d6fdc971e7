// SPDX-License-Identifier: Apache-2.0
// PortPair: which port and which GID of each end a connection uses. A pure function of what both ends know,
// so that both choose alike.
#pragma once

#include <optional>
#include <vector>

#include "verbs/port.h"

namespace rondo::verbs {

struct PortPair {
  struct Half {
    size_t port = 0;  // index
    size_t gid = 0;   // index in the port's list
  };
  Half dialler;
  Half acceptor;
  bool by_gid = true;  // otherwise by LID
};

/// Lanes take ports in turn. Empty: no port of one end reaches one of the other.
std::optional<PortPair> choose_pair(const std::vector<VerbsPort>& dialler,
                                    const std::vector<VerbsPort>& acceptor, uint64_t lane);

}  // namespace rondo::verbs
