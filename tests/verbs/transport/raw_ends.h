// SPDX-License-Identifier: Apache-2.0
// RawEnd: queue pairs of the transport with their slots and receives, connected to others of this process
// without a handshake, so that tests can post what no connection posts.
#pragma once

#include "process.h"
#include "verbs/slot_channel.h"

namespace rondo::verbs_test {

using test::require;
using verbs::PairEnd;
using verbs::PairSet;
using verbs::RingLayout;
using verbs::SlotChannel;
using verbs::SlotMemory;

template <class Value>
Value taken(Result<Value> result) {
  require(result.ok(), result.status().message());
  return result.take();
}

inline void succeed(const Status& status) { require(status.ok(), status.message()); }

struct RawEnd {
  /// The pairs take the host's ports in turn.
  explicit RawEnd(const RingLayout& ring, size_t pairs = 1)
      : layout(ring),
        devices(taken(verbs::Devices::open())),
        ports(taken(devices->ports())),
        outgoing(taken(verbs::SlotPages::make(layout))),
        incoming(taken(verbs::SlotPages::make(layout))),
        ends(pairs) {
    for (size_t i = 0; i < pairs; ++i) prepare(ends[i], port(i));
  }

  void prepare(PairEnd& end, const verbs::VerbsPort& on) const {
    const auto domain = taken(taken(devices->named(on.device))->domain(1));
    end.outgoing = taken(SlotMemory::make(domain, outgoing, SlotMemory::WrittenBy::Owner));
    end.incoming = taken(SlotMemory::make(domain, incoming, SlotMemory::WrittenBy::Peer));
    end.pair = taken(verbs::QueuePair::make(domain, PairSet::depths(layout)));
    succeed(end.pair->prepare(on.number, 0));
    succeed(end.pair->post_receives(PairSet::depths(layout).receives));
  }

  void connect(const RawEnd& peer) {
    for (size_t i = 0; i < ends.size(); ++i) {
      const PairEnd& there = peer.ends[i];
      ends[i].peer = {.queue_pair = there.pair->number(),
                      .first_packet = 0,
                      .key = there.incoming->remote_key(),
                      .slots_at = there.incoming->address()};
      const verbs::VerbsPort& from = port(i);
      const verbs::Gid& to = peer.port(i).gids.back();
      succeed(ends[i].pair->connect(
          {.port = from.number, .gid_index = from.gids.back().index, .peer_gid = to.raw, .mtu = from.mtu},
          ends[i].peer, 0));
    }
  }

  const verbs::VerbsPort& port(size_t pair) const { return ports[pair % ports.size()]; }
  SlotChannel::ChannelParts take_parts() {
    return {.devices = devices,
            .layout = layout,
            .peer_rank = 1,
            .pairs = taken(PairSet::make(layout, 1, std::move(ends)))};
  }

  const RingLayout layout;
  const std::shared_ptr<verbs::Devices> devices;
  const std::vector<verbs::VerbsPort> ports;
  const std::shared_ptr<const verbs::SlotPages> outgoing, incoming;
  std::vector<PairEnd> ends;
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
