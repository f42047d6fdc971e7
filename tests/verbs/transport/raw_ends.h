// SPDX-License-Identifier: Apache-2.0
// RawEnd: a queue pair of the transport with its slots and receives, connected to another one of this process
// without a handshake, so that tests can post what no connection posts.
#pragma once

#include "process.h"
#include "verbs/slot_channel.h"

namespace rondo::verbs_test {

using test::require;
using verbs::SlotChannel;
using verbs::SlotMemory;

template <class Value>
Value taken(Result<Value> result) {
  require(result.ok(), result.status().message());
  return result.take();
}

inline void succeed(const Status& status) { require(status.ok(), status.message()); }

struct RawEnd {
  explicit RawEnd(const SlotLayout& layout) : parts{.layout = layout, .peer_rank = 1} {
    parts.devices = taken(verbs::Devices::open());
    port = taken(parts.devices->ports()).front();
    const auto domain = taken(taken(parts.devices->named(port.device))->domain(1));
    const auto outgoing = taken(verbs::SlotPages::make(layout));
    const auto incoming = taken(verbs::SlotPages::make(layout));
    parts.outgoing = taken(SlotMemory::make(domain, outgoing, SlotMemory::WrittenBy::Owner));
    parts.incoming = taken(SlotMemory::make(domain, incoming, SlotMemory::WrittenBy::Peer));
    parts.pair = taken(verbs::QueuePair::make(domain, SlotChannel::depths(layout)));
    succeed(parts.pair->prepare(port.number, 0));
    succeed(parts.pair->post_receives(SlotChannel::depths(layout).receives));
  }

  void connect(const RawEnd& peer) {
    parts.peer = {.queue_pair = peer.parts.pair->number(),
                  .first_packet = 0,
                  .key = peer.parts.incoming->remote_key(),
                  .slots_at = peer.parts.incoming->address()};
    const verbs::Gid& to = peer.port.gids.back();
    succeed(parts.pair->connect(
        {.port = port.number, .gid_index = port.gids.back().index, .peer_gid = to.raw, .mtu = port.mtu},
        parts.peer, 0));
  }

  verbs::VerbsPort port;
  SlotChannel::ChannelParts parts;
};

/// Of the connection or of its path.
inline Status failure_of(const SlotChannel& channel) {
  return channel.failure().ok() ? channel.path_failure() : channel.failure();
}

inline void connect(RawEnd& one, RawEnd& other) {
  one.connect(other);
  other.connect(one);
}

}  // namespace rondo::verbs_test
