// SPDX-License-Identifier: Apache-2.0
// PathSearch: which paths the dialling end of a connection tries, one after the other, until one carries
// messages of its full length. Pure functions of both ends' ports and of what was tried: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verbs/port.h"

namespace rondo::verbs {

/// A path between the ends: a port of each, an address of each, and the MTU. Positions in the ports' lists
/// and in `gids`; without GIDs (-1) LIDs are the addresses. Travels as it is.
struct VerbsPath {
  struct PathEnd {
    uint32_t port = 0;
    int32_t gid = -1;
    friend bool operator==(const PathEnd&, const PathEnd&) = default;
  };
  PathEnd dialler;
  PathEnd acceptor;
  uint32_t mtu = 0;  // bytes

  bool has_grh() const { return dialler.gid >= 0; }
  friend bool operator==(const VerbsPath&, const VerbsPath&) = default;
};

/// What decides where a connection begins: each rank has a turn among those of its host, as first_port()
/// says, and connections of different lanes begin with different rails.
struct PathTurns {
  uint32_t dialler = 0;
  uint32_t acceptor = 0;
  uint64_t lane = 0;
};

/// All paths, best first, with the lesser MTU of their ports.
std::vector<VerbsPath> paths_between(const std::vector<VerbsPort>& dialler,
                                     const std::vector<VerbsPort>& acceptor, const PathTurns& turns = {});

/// For further queue pairs beside one on `first`: for each rail as near as it, and of other ports, its paths.
std::vector<std::vector<VerbsPath>> paths_beside(const VerbsPath& first,
                                                 const std::vector<VerbsPort>& dialler,
                                                 const std::vector<VerbsPort>& acceptor,
                                                 const PathTurns& turns);

/// "mlx5_0:1 10.0.0.1 (GID 3, RoCE v2, eth0) to mlx5_1:1 ..."; the same for the same path of other processes.
std::string path_text(const VerbsPath& path, const std::vector<VerbsPort>& dialler,
                      const std::vector<VerbsPort>& acceptor);

class PathSearch {
 public:
  explicit PathSearch(std::vector<VerbsPath> paths) : paths_(std::move(paths)) {}

  /// Tries paths that have carried messages with no longer MTU than they did, and after all others those that
  /// have carried nothing. `carried`: as PathHistory::carried(). Whether there are others.
  bool apply(const std::function<std::optional<uint32_t>(const VerbsPath&)>& carried);
  /// The path to try; nothing if none is left.
  std::optional<VerbsPath> current() const;
  size_t left() const { return paths_.size() - at_; }
  /// The current path does not carry messages of its MTU. If it carries short ones but none of `too_long`
  /// bytes, a shorter MTU is next; if it carries nothing (0), another path. Whether the path is left.
  bool failed(uint32_t too_long);

 private:
  std::vector<VerbsPath> paths_;
  size_t at_ = 0;
};

}  // namespace rondo::verbs
