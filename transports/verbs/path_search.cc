// SPDX-License-Identifier: Apache-2.0
#include "verbs/path_search.h"

#include <fmt/core.h>

#include <algorithm>

#include "verbs/gid_choice.h"
#include "verbs/rails.h"

namespace rondo::verbs {
namespace {

std::string end_text(const VerbsPath::PathEnd& end, const std::vector<VerbsPort>& ports) {
  const VerbsPort& port = ports[end.port];
  if (end.gid < 0) return fmt::format("{} (LID {})", port.name(), port.lid);
  return fmt::format("{} {}", port.name(), text(port.gids[static_cast<size_t>(end.gid)]));
}

/// The lane's rail first.
Rails turned_rails(const std::vector<VerbsPort>& dialler, const std::vector<VerbsPort>& acceptor,
                   const PathTurns& turns) {
  const auto reaches = [](const VerbsPort& a, const VerbsPort& b) { return !address_pairs(a, b).empty(); };
  Rails rails =
      rails_between({.rank = 0, .ports = dialler, .first = first_port(dialler, turns.dialler)},
                    {.rank = 1, .ports = acceptor, .first = first_port(acceptor, turns.acceptor)}, reaches);
  const auto turn = static_cast<ptrdiff_t>(rails.used.empty() ? 0 : turns.lane % rails.used.size());
  std::rotate(rails.used.begin(), rails.used.begin() + turn, rails.used.end());
  return rails;
}

void add_paths(const RailPair& rail, const std::vector<VerbsPort>& dialler,
               const std::vector<VerbsPort>& acceptor, std::vector<VerbsPath>& paths) {
  const VerbsPort& from = dialler[static_cast<size_t>(rail.here)];
  const VerbsPort& to = acceptor[static_cast<size_t>(rail.there)];
  for (const AddressPair& addresses : address_pairs(from, to))
    paths.push_back({.dialler = {static_cast<uint32_t>(rail.here), addresses.here},
                     .acceptor = {static_cast<uint32_t>(rail.there), addresses.there},
                     .mtu = std::min(from.mtu, to.mtu)});
}

}  // namespace

std::vector<VerbsPath> paths_between(const std::vector<VerbsPort>& dialler,
                                     const std::vector<VerbsPort>& acceptor, const PathTurns& turns) {
  const Rails rails = turned_rails(dialler, acceptor, turns);
  std::vector<VerbsPath> paths;
  for (const auto* pairs : {&rails.used, &rails.spare})
    for (const RailPair& rail : *pairs) add_paths(rail, dialler, acceptor, paths);
  return paths;
}

std::vector<std::vector<VerbsPath>> paths_beside(const VerbsPath& first,
                                                 const std::vector<VerbsPort>& dialler,
                                                 const std::vector<VerbsPort>& acceptor,
                                                 const PathTurns& turns) {
  std::vector<std::vector<VerbsPath>> beside;
  for (const RailPair& rail : turned_rails(dialler, acceptor, turns).used) {
    const bool shares_port = static_cast<uint32_t>(rail.here) == first.dialler.port ||
                             static_cast<uint32_t>(rail.there) == first.acceptor.port;
    if (!shares_port) add_paths(rail, dialler, acceptor, beside.emplace_back());
  }
  return beside;
}

std::string path_text(const VerbsPath& path, const std::vector<VerbsPort>& dialler,
                      const std::vector<VerbsPort>& acceptor) {
  return fmt::format("{} to {}", end_text(path.dialler, dialler), end_text(path.acceptor, acceptor));
}

bool PathSearch::apply(const std::function<std::optional<uint32_t>(const VerbsPath&)>& carried) {
  std::vector<VerbsPath> dead;
  std::erase_if(paths_, [&](VerbsPath& path) {
    const auto mtu = carried(path);
    if (mtu == 0) dead.push_back(path);
    if (mtu && *mtu != 0) path.mtu = std::min(path.mtu, *mtu);
    return mtu == 0;
  });
  const bool has_others = !paths_.empty();
  paths_.insert(paths_.end(), dead.begin(), dead.end());
  return has_others;
}

std::optional<VerbsPath> PathSearch::current() const {
  return at_ < paths_.size() ? std::optional(paths_[at_]) : std::nullopt;
}

bool PathSearch::failed(uint32_t too_long) {
  uint32_t& mtu = paths_[at_].mtu;
  const bool leaves = std::min(too_long, mtu) <= kMinMtu;
  if (leaves)
    ++at_;
  else
    while (mtu >= too_long) mtu /= 2;
  return leaves;
}

}  // namespace rondo::verbs
