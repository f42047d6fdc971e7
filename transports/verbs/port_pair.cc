// SPDX-License-Identifier: Apache-2.0
#include "verbs/port_pair.h"

#include <algorithm>

#include "verbs/gid_choice.h"

namespace rondo::verbs {
namespace {

std::optional<PortPair> join(const std::vector<VerbsPort>& dialler, size_t d,
                             const std::vector<VerbsPort>& acceptor, size_t a) {
  const std::vector<AddressPair> pairs = address_pairs(dialler[d], acceptor[a]);
  if (pairs.empty()) return std::nullopt;
  PortPair pair{.dialler = {d}, .acceptor = {a}, .by_gid = pairs[0].has_grh()};
  if (pair.by_gid) {
    pair.dialler.gid = static_cast<size_t>(pairs[0].here);
    pair.acceptor.gid = static_cast<size_t>(pairs[0].there);
  }
  return pair;
}

}  // namespace

std::optional<PortPair> choose_pair(const std::vector<VerbsPort>& dialler,
                                    const std::vector<VerbsPort>& acceptor, uint64_t lane) {
  const size_t rails = std::max(dialler.size(), acceptor.size());
  for (size_t i = 0; i < rails && !dialler.empty() && !acceptor.empty(); ++i) {
    const size_t rail = (lane + i) % rails;
    if (auto pair = join(dialler, rail % dialler.size(), acceptor, rail % acceptor.size())) return pair;
  }
  for (size_t d = 0; d < dialler.size(); ++d)
    for (size_t a = 0; a < acceptor.size(); ++a)
      if (auto pair = join(dialler, d, acceptor, a)) return pair;
  return std::nullopt;
}

}  // namespace rondo::verbs
