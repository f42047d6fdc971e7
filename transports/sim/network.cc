// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include <algorithm>

#include "transports/sim.h"

namespace rondo::sim {
namespace {

/// Max time of one message, eleven days: longer makes no difference, and sums stay within 64 bits.
constexpr uint64_t kLongestNs = 1'000'000'000'000'000;

/// Mixes a word into a hash: every bit of the result depends on every bit of both.
uint64_t stir(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0xff51afd7ed558ccd;
  state = (state ^ (state >> 33)) * 0xc4ceb9fe1a85ec53;
  return state ^ (state >> 29);
}

}  // namespace

int64_t delay_ns(const ConnectionParams& params, const ConnectionKey& key, bool from_dialler,
                 uint64_t sequence) {
  uint64_t bits = stir(0x52d7'3a8b'10c5'96e1, params.sim_seed);
  bits = stir(bits, key.communicator);
  bits = stir(bits, key.port);
  bits = stir(bits, static_cast<uint64_t>(key.dialler));
  bits = stir(bits, static_cast<uint64_t>(key.acceptor));
  bits = stir(bits, from_dialler ? 1 : 2);
  bits = stir(bits, sequence);
  return static_cast<int64_t>(bits % static_cast<uint64_t>(params.sim_delay_us * 1000 + 1));
}

std::shared_ptr<Network> Network::of(uint64_t session) {
  static std::mutex mutex;
  static std::map<uint64_t, std::shared_ptr<Network>> networks;
  const std::lock_guard lock(mutex);
  auto& network = networks[session];
  if (network == nullptr) network = std::make_shared<Network>();
  return network;
}

void Network::drop(int rank) {
  const std::lock_guard lock(mutex_);
  dropped_.insert(rank);
}

void Network::slow(int a, int b, uint64_t bytes_per_s) {
  const std::lock_guard lock(mutex_);
  slow_[{a, b}].bytes_per_s = bytes_per_s;
  slow_[{b, a}].bytes_per_s = bytes_per_s;
}

void Network::heal() {
  const std::lock_guard lock(mutex_);
  dropped_.clear();
  slow_.clear();
}

int64_t Network::passed_at_ns(int from, int to, size_t bytes, int64_t sent_at_ns) {
  const std::lock_guard lock(mutex_);
  if (dropped_.contains(from) || dropped_.contains(to)) return kNever;
  const auto found = slow_.find({from, to});
  if (found == slow_.end() || found->second.bytes_per_s == 0) return sent_at_ns;
  SlowLink& link = found->second;
  // A slot is at most 2^30 bytes, so the product fits in 64 bits.
  const auto takes_ns = static_cast<int64_t>(std::min(bytes * 1'000'000'000 / link.bytes_per_s, kLongestNs));
  link.busy_until_ns = std::max(link.busy_until_ns, sent_at_ns) + takes_ns;
  return link.busy_until_ns;
}

void drop_rank(uint64_t session, int rank) { Network::of(session)->drop(rank); }
void slow_link(uint64_t session, int a, int b, uint64_t bytes_per_s) {
  Network::of(session)->slow(a, b, bytes_per_s);
}
void heal(uint64_t session) { Network::of(session)->heal(); }

}  // namespace rondo::sim
