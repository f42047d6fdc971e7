// SPDX-License-Identifier: Apache-2.0
// What the two ends of a connection tell one another over their socket. While they connect: a PortOffer each
// way; then for each path that is tried a PathProposal of the dialling end, a PathAnswer, and a PathVerdict
// each way, until as many queue pairs as the connection shall have are proved. When a path has failed: an
// Interruption each way, and the same again. When an end closes: a Farewell (common/peer_socket.h). What
// comes from the peer is checked field by field. Plain data, little-endian.
#pragma once

#include <bit>
#include <vector>

#include "common/giving_up.h"
#include "common/params.h"
#include "verbs/path_search.h"
#include "verbs/port.h"
#include "verbs/queue_pair.h"

namespace rondo::verbs {

static_assert(std::endian::native == std::endian::little);

/// The parameters, which must match. The sender's ports follow, as write_ports() writes them.
struct PortOffer {
  static constexpr uint32_t kMagic = 0x6f627652;  // "Rvbo"
  static constexpr uint32_t kVersion = 7;
  static constexpr uint32_t kMaxPortBytes = 256 * 1024;

  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t gives_up = kGoesOn;
  WireText reason{};
  uint32_t port_bytes = 0;
  uint32_t partition = 0;  // that the user has set, without bit 15; 0: none
  uint32_t turn = 0;       // of the sender, among the ranks of its host
  uint32_t pairs = 0;      // queue pairs that the user has set; 0: none
  uint32_t reserved = 0;
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
};

/// Where the sender's queue pair and its slots are.
struct PairContact {
  uint32_t queue_pair = 0;
  uint32_t first_packet = 0;
  uint32_t key = 0;
  // Enhanced Connection Establishment: what the dialling end offers, and what the other one then uses.
  uint32_t ece_vendor = 0;  // 0: nothing
  uint32_t ece_options = 0;
  uint32_t ece_mask = 0;
  uint64_t slots_at = 0;
};

/// How the queue pairs of a connection come about.
enum PairsToFollow : uint32_t {
  kLastPair = 0,   // once this one is proved
  kMorePairs = 1,  // or not, when kNoMore says that those that were proved are all
  kNoMore = 2,     // the message proposes nothing
};

/// A path to try next. The dialling end is in INIT and has posted its receives.
struct PathProposal {
  static constexpr uint32_t kMagic = 0x70627652;  // "Rvbp"

  uint32_t magic = kMagic;
  uint32_t gives_up = kGoesOn;
  WireText reason{};
  VerbsPath path;
  uint32_t follow = kLastPair;  // PairsToFollow
  PairContact contact;
};

/// The accepting end is in RTS, or says why it cannot use this path.
struct PathAnswer {
  static constexpr uint32_t kMagic = 0x61627652;  // "Rvba"

  uint32_t magic = kMagic;
  uint32_t gives_up = kGoesOn;
  WireText reason{};
  PairContact contact;
};

/// Whether messages of the full length have gone both ways, as seen by the sender.
struct PathVerdict {
  static constexpr uint32_t kMagic = 0x76627652;  // "Rvbv"

  uint32_t magic = kMagic;
  uint32_t gives_up = kGoesOn;  // always
  WireText reason{};
};

// RemoteError that names the field with nonsense in it. PortOffer: Mismatch if the parameters differ.
Status check(const PortOffer& offer, const AgreedParams& own);
Status check(const PathProposal& proposal, const AgreedParams& own);
Status check(const PathAnswer& answer, const AgreedParams& own);
Status check(const PathVerdict& verdict, const AgreedParams& own);

/// RemoteError if these are no ports, or a path is not one between these ports.
Result<std::vector<VerbsPort>> ports_of(const std::vector<std::byte>& bytes);
Status check_path(const VerbsPath& path, const std::vector<VerbsPort>& dialler,
                  const std::vector<VerbsPort>& acceptor);

PairAddress address_of(const PairContact& contact);

}  // namespace rondo::verbs
