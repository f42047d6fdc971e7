#include "local/local.h"

#include <thread>

#include "base/clock.h"
#include "common/pair.h"

namespace rondo {
namespace {

class LocalConnection : public Connection {
 public:
  LocalConnection(std::shared_ptr<Pair> pair, bool dials)
      : pair_(std::move(pair)),
        out_(pair_->outgoing(dials)),
        in_(pair_->incoming(dials)),
        sender_(out_.layout(pair_->params)),
        receiver_(in_.layout(pair_->params)) {}

  ~LocalConnection() override {
    take_back();
    in_.reading.store(false, std::memory_order_release);  // pairs with the load in take_back()
  }

  std::byte* acquire() override { return sender_.has_room() ? slot() : nullptr; }
  void commit(size_t bytes, const Signature& signature) override { publish(slot(), bytes, signature); }

  bool posts_by_reference() const override { return true; }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override {
    if (!sender_.has_room()) return false;
    publish(data, bytes, signature);
    posted_ = sender_.sent();
    return true;
  }

  bool flushed() override {
    if (sender_.sent() == 0) return true;
    return pair_->both_here() && sender_.returned(posted_);
  }
  void withdraw() override { take_back(); }

  std::optional<Arrival> peek() override;
  void release() override {
    receiver_.release();
    in_.reading.store(false, std::memory_order_release);  // pairs with the load in take_back()
  }

  Status status() const override {
    RONDO_TRY(pair_->status());
    return taken_back_ ? error(Code::RemoteError, "the peer took a posted message back") : Status();
  }
  size_t slot_bytes() const override { return pair_->params.slot_bytes; }

 private:
  std::byte* slot();
  void take_back();
  void publish(const std::byte* data, size_t bytes, const Signature& signature) {
    sender_.publish(bytes, reinterpret_cast<uint64_t>(data), signature);
  }

  std::shared_ptr<Pair> pair_;
  PairedFifo& out_;
  PairedFifo& in_;
  FifoSender sender_;
  FifoReceiver receiver_;
  std::byte* memory_ = nullptr;  // of out_, once there
  uint64_t posted_ = 0;          // messages up to the last one that was posted
  bool taken_back_ = false;
};

std::byte* LocalConnection::slot() {
  const size_t stride = aligned_size(pair_->params.slot_bytes);
  if (memory_ == nullptr) {
    out_.memory = allocate_aligned(stride * pair_->params.slots);
    memory_ = out_.memory.get();
  }
  return memory_ + sender_.index() * stride;
}

std::optional<Arrival> LocalConnection::peek() {
  const auto& arrival = receiver_.peek();
  if (!arrival || in_.reading.load(std::memory_order_relaxed)) return arrival;  // seen before: own store
  // Sequentially consistent, as the two in take_back(): either that one waits for us or we see that it came.
  in_.reading.store(true, std::memory_order_seq_cst);
  if (!in_.withdrawn.load(std::memory_order_seq_cst)) return arrival;
  in_.reading.store(false, std::memory_order_release);  // pairs with the load in take_back()
  taken_back_ = true;
  return std::nullopt;
}

/// Only what was posted: what lies in slots is still the peer's to read.
void LocalConnection::take_back() {
  if (sender_.returned(posted_)) return;
  out_.withdrawn.store(true, std::memory_order_seq_cst);  // with the two in peek()
  const Deadline deadline = Deadline::in_ms(kWithdrawMs);
  // Acquires the release stores of `reading`: the peer's reads come before what the owner does next.
  while (out_.reading.load(std::memory_order_seq_cst) && !deadline.passed()) std::this_thread::yield();
}

MeetingPlace& meeting_place() {
  static MeetingPlace place(/*with_memory=*/false);
  return place;
}

}  // namespace

bool local_reaches(const Endpoint& a, const Endpoint& b) {
  return a.host == b.host && a.process == b.process;
}

Result<std::unique_ptr<Connection>> local_connect(std::unique_ptr<Link> link,
                                                  const ConnectionParams& params) {
  RONDO_TRY(check_params(params));
  std::shared_ptr<Pair> pair;
  RONDO_TRY_ASSIGN(pair, meeting_place().meet(link->key(), link->dials(), params));
  return std::unique_ptr<Connection>(std::make_unique<LocalConnection>(std::move(pair), link->dials()));
}

}  // namespace rondo
