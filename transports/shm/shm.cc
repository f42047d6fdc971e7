// SPDX-License-Identifier: Apache-2.0
// The shm transport: two ranks on one host, in one process or in two. The dialling end makes a Segment and
// passes it over a Unix socket; afterwards only exports and reads of long messages need system calls.
#include <atomic>

#include "shm/process_reader.h"
#include "shm/receiving_half.h"
#include "shm/segment.h"
#include "shm/sending_half.h"
#include "transports/gradual_slots.h"
#include "transports/hints.h"
#include "transports/transport.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

class ShmConnection final : public Connection,
                            public ZeroCopy,
                            public FillHints,
                            public GradualSlots,
                            public WaitHints {
 public:
  /// The dialling end, which already has its memory.
  ShmConnection(const ConnectionParams& params, Fd socket, shm::Segment segment) : ShmConnection(params) {
    socket_ = std::move(socket);
    use(std::move(segment), 0);
  }
  /// The accepting end, which waits for its memory.
  ShmConnection(const ConnectionParams& params, std::unique_ptr<Link> link) : ShmConnection(params) {
    link_ = std::move(link);
  }

  ~ShmConnection() override {
    stop_reading();
    cancel();
  }

  std::byte* acquire(size_t bytes) override {
    await_segment();
    return sending_.acquire(bytes);
  }
  void commit(size_t bytes, const Signature& signature) override { sending_.commit(bytes, signature); }
  bool flushed() override {
    await_segment();
    receiving_.return_credits();
    if (sending_.is_flushed()) [[likely]]
      return true;
    receiving_.hear(socket_);
    return sending_.flushed();
  }
  const Arrival* peek() override {
    listen();
    return receiving_.peek();
  }
  void release() override { receiving_.release(); }
  Status status() const override;
  void answer(Connection& incoming) override {
    auto* const other = dynamic_cast<ShmConnection*>(&incoming);
    if (other == nullptr || !(other->params_ == params_)) return;
    incoming_ = other;
    incoming_->outgoing_ = this;
    answer_each_other();
  }
  Awaited awaited(Awaiting what) const override {
    return awaited_of(what, sending_.fifo(), receiving_.fifo());
  }

  // ZeroCopy:
  void export_memory(const ExportableMemory& memory) override {
    if (link_ == nullptr && memory.memfd != nullptr) sending_.export_memory(memory, socket_);
  }
  PostMode post_mode(const std::byte* data, size_t bytes) const override {
    return sending_.post_mode(data, bytes);
  }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override {
    await_segment();
    return sending_.post(data, bytes, signature);
  }
  uint64_t offer(const std::byte* data, size_t bytes) override { return sending_.offer(data, bytes); }
  void end_offer() override { sending_.end_offer(); }
  Fetched fetch(uint64_t offer, size_t begin, std::byte* place, size_t bytes) override {
    listen();
    return receiving_.fetch(offer, begin, place, bytes);
  }
  bool fetches_all() const override { return read_peer_ == ReadPeer::Always; }
  bool fetches_quickly() const override { return shm::is_reading_quick(); }
  void expect(std::byte* place, size_t bytes, const Signature& signature) override {
    receiving_.expect(place, bytes, signature);
  }
  bool intact() const override { return receiving_.intact(); }
  void stop_reading() override { receiving_.stop_reading(); }
  void cancel() override {
    receiving_.stop_expecting();
    sending_.cancel();
  }

  // FillHints:
  Filling filling(size_t bytes, bool could_post) override { return sending_.filling(bytes, could_post); }
  void filled(int64_t ns) override { sending_.filled(ns); }

  // GradualSlots:
  void begin(size_t bytes, const Signature& signature) override { sending_.begin(bytes, signature); }
  void grown(size_t bytes) override { sending_.grown(bytes); }
  const Arrival* peek_begun() override {
    listen();
    return receiving_.peek_begun();
  }
  size_t bytes_there(size_t seen) override { return receiving_.bytes_there(seen); }

  // WaitHints:
  bool poll_briefly() const override { return receiving_.poll_briefly(); }
  void say_waiting(uint64_t messages) override { receiving_.fifo().say_waiting(messages); }
  bool is_peer_waiting() const override { return sending_.fifo().is_receiver_waiting(); }
  void note_cpu(uint32_t cpu) override { receiving_.fifo().note_cpu(cpu); }
  bool is_peer_on(uint32_t cpu) const override { return sending_.fifo().is_receiver_on(cpu); }
  void set_yielding(bool is_yielding) override { receiving_.fifo().set_yielding(is_yielding); }
  bool is_peer_yielding() const override { return sending_.fifo().is_receiver_yielding(); }

 private:
  explicit ShmConnection(const ConnectionParams& params)
      : Connection(params.slot_bytes,
                   {.zero_copy = this, .fill_hints = this, .gradual_slots = this, .wait_hints = this}),
        params_(agreed(params)),
        read_peer_(params.read_peer) {}

  /// Cheap once the memory has arrived, and after a failure.
  void await_segment() {
    if (link_ == nullptr) return;
    failure_ = take_segment();
    if (!failure_.ok()) link_.reset();
  }
  void listen() {
    await_segment();
    receiving_.hear(socket_);
  }
  Status take_segment();
  Status accept_segment(const shm::Received& received);
  void use(shm::Segment segment, int outgoing);
  void answer_each_other();

  AgreedParams params_;
  ReadPeer read_peer_;
  std::unique_ptr<Link> link_;  // until the memory has arrived
  Fd socket_;                   // afterwards for exports, if it may be kept
  shm::Segment segment_;
  int outgoing_direction_ = 0;
  shm::SendingHalf sending_;
  shm::ReceivingHalf receiving_;
  ShmConnection* incoming_ = nullptr;  // whose messages this one's answer, if it is not itself
  ShmConnection* outgoing_ = nullptr;  // the other way round
  Status failure_;                     // to get the memory
};

void ShmConnection::use(shm::Segment segment, int outgoing) {
  segment_ = std::move(segment);
  sending_ = shm::SendingHalf(segment_, outgoing, params_, read_peer_, socket_);
  receiving_ = shm::ReceivingHalf(segment_, 1 - outgoing, params_, read_peer_);
  outgoing_direction_ = outgoing;
  sending_.answer(segment_, 1 - outgoing, params_, shm::Partner::Itself);
  receiving_.be_answered(sending_, shm::Partner::Itself);
  answer_each_other();
  if (outgoing_ != nullptr) outgoing_->answer_each_other();
  if (!may_keep(socket_)) socket_.close();
}

/// Once both have their memory.
void ShmConnection::answer_each_other() {
  if (incoming_ == nullptr || segment_.head() == nullptr || incoming_->segment_.head() == nullptr) return;
  sending_.answer(incoming_->segment_, 1 - incoming_->outgoing_direction_, params_, shm::Partner::Another);
  incoming_->receiving_.be_answered(sending_, shm::Partner::Another);
}

Status ShmConnection::take_segment() {
  if (!socket_.valid()) {
    RONDO_TRY_ASSIGN(socket_, link_->accepted(0));
  }
  if (!socket_.valid()) return {};
  std::optional<shm::Received> received;
  RONDO_TRY_ASSIGN(received, shm::receive_segment(socket_));
  if (!received) return {};
  RONDO_TRY(accept_segment(*received));
  link_.reset();
  return {};
}

Status ShmConnection::accept_segment(const shm::Received& received) {
  const AgreedParams peers{received.description.slot_bytes, received.description.slots, 0};
  if (const Status same = compare(params_, peers); !same.ok()) {
    RONDO_TRY(shm::Segment::refuse(received.memfd, params_));
    return same;
  }
  shm::Segment segment;
  RONDO_TRY_ASSIGN(segment, shm::Segment::map(received.memfd, params_));
  use(std::move(segment), 1);
  return {};
}

Status ShmConnection::status() const {
  RONDO_TRY(failure_);
  if (segment_.head() == nullptr) return {};
  const shm::SegmentHead* head = segment_.head();
  // Pairs with the release store in Segment::refuse().
  if (std::atomic_ref(const_cast<uint64_t&>(head->refused)).load(std::memory_order_acquire) != 0)
    return compare(params_, {head->slot_bytes, head->slots, 0});
  RONDO_TRY(sending_.check());
  return receiving_.check();
}

Result<std::unique_ptr<Connection>> shm_connect(std::unique_ptr<Link> link, const ConnectionParams& params) {
  RONDO_TRY(check_params(params));
  const AgreedParams numbers = agreed(params);
  if (!link->dials())
    return std::unique_ptr<Connection>(std::make_unique<ShmConnection>(params, std::move(link)));
  shm::Segment::Made made;
  RONDO_TRY_ASSIGN(made, shm::Segment::make(numbers));
  Fd socket;
  RONDO_TRY_ASSIGN(socket, link->dial(Route::Unix, 0));
  const shm::Description description{.slot_bytes = numbers.slot_bytes, .slots = numbers.slots};
  RONDO_TRY(shm::send_segment(socket, description, made.memfd));
  return std::unique_ptr<Connection>(
      std::make_unique<ShmConnection>(params, std::move(socket), std::move(made.segment)));
}

}  // namespace

Transport shm_transport() {
  return {.name = "shm",
          .summary = "processes of one host, through shared memory that has no name",
          .medium = Medium::HostMemory,
          .cost = shared_memory_cost,
          .reaches = [](const Endpoint& a, const Endpoint& b) { return a.host == b.host; },
          .connect = shm_connect};
}

}  // namespace rondo
