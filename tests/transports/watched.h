// SPDX-License-Identifier: Apache-2.0
// Watched: both ends of a shm connection whose shared memory the test can access as well.
#pragma once

#include <span>
#include <vector>

#include "ends.h"
#include "shm/segment.h"

namespace rondo::test {

inline const Transport& shm_transport() { return *transport_by_name("shm").value(); }

struct Watched {
  Ends ends;
  shm::Segment segment;
  Fd memfd;
  Fd from_dialler;
  Fd to_acceptor;

  /// Forwards what the dialler has announced about its memory to the acceptor.
  void pass_on() const {
    while (pass_on_one()) continue;
  }
  bool pass_on_one() const {
    shm::ExportMessage message;
    const auto bytes = std::as_writable_bytes(std::span(&message, 1));
    auto received = receive_descriptors(from_dialler, bytes);
    REQUIRE(received.ok());
    if (!received.value().has_value()) return false;
    std::vector<int> attached;
    for (const Fd& fd : received.value()->attached) attached.push_back(fd.get());
    REQUIRE(send_descriptors(to_acceptor, bytes, attached).ok());
    return true;
  }
};

/// Intercepts the shared memory on its way from the dialler to the acceptor and passes it on.
inline Watched connect_watched(const ConnectionParams& params) {
  Watched watched;
  Ends& ends = watched.ends;
  ends.dialler = require_connection(ends.connect(shm_transport(), params, true));
  watched.from_dialler = ends.wire->take(0);
  auto received = shm::receive_segment(watched.from_dialler);
  REQUIRE(received.ok());
  REQUIRE(received.value().has_value());
  auto [near, far] = connected_sockets(Route::Unix);
  REQUIRE(shm::send_segment(near, received.value()->description, received.value()->memfd).ok());
  watched.to_acceptor = std::move(near);
  ends.wire->put(0, std::move(far));
  auto segment = shm::Segment::map(received.value()->memfd, agreed(params));
  REQUIRE(segment.ok());
  watched.segment = segment.take();
  watched.memfd = std::move(received.value()->memfd);
  ends.acceptor = require_connection(ends.connect(shm_transport(), params, false));
  ends.acceptor->peek();
  REQUIRE(ends.acceptor->status().ok());
  return watched;
}

}  // namespace rondo::test
