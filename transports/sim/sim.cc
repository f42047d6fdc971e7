// SPDX-License-Identifier: Apache-2.0
// The sim transport: any number of ranks in one process, with messages delayed by seeded amounts or lost
// (transports/sim.h). For tests; used only when selected by name.
#include "base/clock.h"
#include "common/pair.h"
#include "sim/network.h"
#include "transports/transport.h"

namespace rondo {
namespace {

/// Slots in the memory of a Pair; a header's note is the time at which its message arrives.
class SimConnection final : public Connection {
 public:
  SimConnection(std::shared_ptr<Pair> pair, const Link& link, const ConnectionParams& params)
      : Connection(pair->params.slot_bytes),
        pair_(std::move(pair)),
        network_(sim::Network::of(link.key().session)),
        key_(link.key()),
        dials_(link.dials()),
        params_(params),
        sender_(layout(pair_->outgoing(dials_))),
        receiver_(layout(pair_->incoming(dials_))) {}

  std::byte* acquire(size_t /*bytes*/) override { return sender_.has_room() ? sender_.slot() : nullptr; }
  void commit(size_t bytes, const Signature& signature) override;
  bool flushed() override { return sender_.sent() == 0 || pair_->both_here(); }

  const Arrival* peek() override {
    const Arrival* const arrival = receiver_.peek();
    if (arrival == nullptr || static_cast<int64_t>(receiver_.note()) > now_ns()) return nullptr;
    return arrival;
  }
  void release() override { receiver_.release(); }

  Status status() const override { return pair_->status(); }
  Awaited awaited(Awaiting what) const override { return awaited_of(what, sender_, receiver_); }

 private:
  FifoLayout layout(PairedFifo& fifo) const { return fifo.layout(pair_->params, fifo.memory.get()); }

  std::shared_ptr<Pair> pair_;
  std::shared_ptr<sim::Network> network_;
  ConnectionKey key_;
  bool dials_;
  ConnectionParams params_;
  FifoSender sender_;
  FifoReceiver receiver_;
};

void SimConnection::commit(size_t bytes, const Signature& signature) {
  const int self = dials_ ? key_.dialler : key_.acceptor;
  const int peer = dials_ ? key_.acceptor : key_.dialler;
  const int64_t passed_ns = network_->passed_at_ns(self, peer, bytes, now_ns());
  const int64_t due_ns = passed_ns == sim::kNever
                             ? sim::kNever
                             : passed_ns + sim::delay_ns(params_, key_, dials_, sender_.sent());
  // A message due before its predecessor still waits behind it: peek() only looks at the oldest.
  sender_.publish(bytes, static_cast<uint64_t>(due_ns), signature);
}

Result<std::unique_ptr<Connection>> sim_connect(std::unique_ptr<Link> link, const ConnectionParams& params) {
  static MeetingPlace meeting_place(/*with_memory=*/true);
  RONDO_TRY(check_params(params));
  std::shared_ptr<Pair> pair;
  RONDO_TRY_ASSIGN(pair, meeting_place.meet(link->key(), link->dials(), params));
  return std::unique_ptr<Connection>(std::make_unique<SimConnection>(std::move(pair), *link, params));
}

}  // namespace

Transport sim_transport() {
  return {.name = "sim",
          .summary = "many ranks in one process, with seeded delays and losses; for tests",
          .medium = Medium::Simulated,
          .cost = shared_memory_cost,
          .reaches = [](const Endpoint& a, const Endpoint& b) { return a == b; },
          .connect = sim_connect,
          .automatic = false};
}

}  // namespace rondo
