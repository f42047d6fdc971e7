// SPDX-License-Identifier: Apache-2.0
// The local transport: two ranks that are threads of one process. Messages are passed as addresses, so posted
// buffers are read in place.
#include <cstring>

#include "base/error_kinds.h"
#include "common/pair.h"
#include "transports/hints.h"
#include "transports/transport.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

class LocalConnection final : public Connection, public ZeroCopy, public WaitHints {
 public:
  LocalConnection(std::shared_ptr<Pair> pair, bool dials)
      : Connection(pair->params.slot_bytes, {.zero_copy = this, .wait_hints = this}),
        pair_(std::move(pair)),
        out_(pair_->outgoing(dials)),
        in_(pair_->incoming(dials)),
        sender_(out_.layout(pair_->params)),
        receiver_(in_.layout(pair_->params)),
        posting_(out_.cancel_words),
        reading_(in_.cancel_words) {}

  ~LocalConnection() override {
    stop_reading();
    cancel();
  }

  std::byte* acquire(size_t /*bytes*/) override { return sender_.has_room() ? slot() : nullptr; }
  void commit(size_t bytes, const Signature& signature) override { publish(slot(), bytes, signature); }
  bool flushed() override {
    if (sender_.sent() == 0) return true;
    return pair_->both_here() && sender_.returned(posted_);
  }
  const Arrival* peek() override;
  void release() override {
    receiver_.release();
    reading_.end_reading();
  }
  Status status() const override {
    RONDO_TRY(pair_->status());
    return cancelled_ ? error(ErrorKind::MessageCancelled, "the peer cancelled a posted message") : Status();
  }
  Awaited awaited(Awaiting what) const override { return awaited_of(what, sender_, receiver_); }

  // ZeroCopy:
  PostMode post_mode(const std::byte* /*data*/, size_t /*bytes*/) const override { return PostMode::Mapped; }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override {
    if (!sender_.has_room()) return false;
    publish(data, bytes, signature);
    posted_ = sender_.sent();
    return true;
  }
  uint64_t offer(const std::byte* data, size_t /*bytes*/) override {
    ++offers_;
    return reinterpret_cast<uint64_t>(data);
  }
  void end_offer() override { --offers_; }
  Fetched fetch(uint64_t offer, size_t begin, std::byte* place, size_t bytes) override {
    if (!reading_.begin_reading()) return Fetched::Cancelled;
    std::memcpy(place, reinterpret_cast<const std::byte*>(offer) + begin, bytes);
    const bool is_undisturbed = reading_.is_undisturbed();
    reading_.end_reading();
    return is_undisturbed ? Fetched::Done : Fetched::Cancelled;
  }
  bool intact() const override { return reading_.is_undisturbed(); }
  void stop_reading() override { reading_.end_reading(); }
  void cancel() override {
    if (offers_ != 0 || !sender_.returned(posted_)) posting_.cancel();
  }

  // WaitHints:
  bool poll_briefly() const override { return receiver_.poll_briefly(); }
  void note_cpu(uint32_t cpu) override { receiver_.note_cpu(cpu); }
  bool is_peer_on(uint32_t cpu) const override { return sender_.is_receiver_on(cpu); }
  void set_yielding(bool is_yielding) override { receiver_.set_yielding(is_yielding); }
  bool is_peer_yielding() const override { return sender_.is_receiver_yielding(); }

 private:
  std::byte* slot();
  void publish(const std::byte* data, size_t bytes, const Signature& signature) {
    sender_.publish(bytes, reinterpret_cast<uint64_t>(data), signature);
  }

  std::shared_ptr<Pair> pair_;
  PairedFifo& out_;
  PairedFifo& in_;
  FifoSender sender_;
  FifoReceiver receiver_;
  CancelGuard posting_;
  CancelGuard reading_;
  std::byte* memory_ = nullptr;  // out_'s slots, once allocated
  uint64_t posted_ = 0;          // messages up to the last one that was posted
  uint64_t offers_ = 0;          // that are not over
  bool cancelled_ = false;
};

std::byte* LocalConnection::slot() {
  const size_t stride = aligned_size(slot_bytes());
  if (memory_ == nullptr) {
    out_.memory = allocate_aligned(stride * pair_->params.slots);
    memory_ = out_.memory.get();
  }
  return memory_ + sender_.index() * stride;
}

const Arrival* LocalConnection::peek() {
  const Arrival* const arrival = receiver_.peek();
  if (arrival == nullptr || reading_.begin_reading()) return arrival;
  cancelled_ = true;
  return nullptr;
}

Result<std::unique_ptr<Connection>> local_connect(std::unique_ptr<Link> link,
                                                  const ConnectionParams& params) {
  static MeetingPlace meeting_place(/*with_memory=*/false);
  RONDO_TRY(check_params(params));
  std::shared_ptr<Pair> pair;
  RONDO_TRY_ASSIGN(pair, meeting_place.meet(link->key(), link->dials(), params));
  return std::unique_ptr<Connection>(std::make_unique<LocalConnection>(std::move(pair), link->dials()));
}

}  // namespace

Transport local_transport() {
  return {.name = "local",
          .summary = "threads of one process, reading one another's memory",
          .medium = Medium::ProcessMemory,
          .cost = shared_memory_cost,
          .reaches = [](const Endpoint& a, const Endpoint& b) { return a == b; },
          .connect = local_connect};
}

}  // namespace rondo
