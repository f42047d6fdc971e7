// SPDX-License-Identifier: Apache-2.0
// The shm transport: two ranks on one host, in one process or in two. The dialling end makes a Segment and
// passes it over a Unix socket; afterwards only exports and reads of long messages need system calls.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "common/aligned_bytes.h"
#include "common/fifo.h"
#include "shm/exports.h"
#include "shm/segment.h"
#include "shm/slot_picker.h"
#include "shm/ways.h"
#include "transports/gradual_slots.h"
#include "transports/hints.h"
#include "transports/transport.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

/// Half of a core's L2 cache. Longer data has in part left the sender's caches, and one end that reads it
/// from memory is slower than two that pass it on by slots.
size_t max_offered() {
  static const long l2_bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return static_cast<size_t>(l2_bytes > 0 ? l2_bytes : 1 << 20) / 2;
}

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

  std::byte* acquire() override {
    await_segment();
    if (!picker_.is_regular()) return acquire_irregular();
    if (!sender_.has_room()) return nullptr;
    sent_ways_.hear(sender_.seen_returned());
    part_ = sender_.index();
    return fifo_out_.slot(part_, fifo_out_.slot_bytes);
  }
  void commit(size_t bytes, const Signature& signature) override {
    sent_ways_.sent_by_slot(sender_.sent() + 1);
    publish_slot(bytes, false, signature);
  }
  /// Only posted messages count: the peer, or a socket in transit, holds the memory of the slots.
  bool flushed() override {
    await_segment();
    if (sender_.seen_returned() >= posted_) [[likely]]
      return true;
    hear();
    if (const uint64_t unread = exporter_.unread()) copy_unread(unread);
    return sender_.returned(posted_);
  }
  std::optional<Arrival> peek() override;
  void release() override {
    taken_time_.end(receiver_.index());
    receiver_.release();
    expected_.place = nullptr;
    stop_reading();
  }
  Status status() const override;
  Awaited awaited(Awaiting what) const override { return awaited_of(what, sender_, receiver_); }

  // ZeroCopy:
  void export_memory(const ExportableMemory& memory) override {
    if (link_ == nullptr && memory.memfd != nullptr) exporter_.export_memory(memory, socket_);
  }
  PostMode post_mode(const std::byte* data, size_t bytes) const override {
    const uint64_t note = exporter_.note_for(data, bytes);
    if (note == shm::Note::kNone) return PostMode::None;
    if (!shm::Note::is_address(note)) return PostMode::Mapped;
    const bool reads = read_peer_ == ReadPeer::Always || sent_ways_.reads(sender_.sent() + 1, bytes);
    return reads ? PostMode::Read : PostMode::None;
  }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override;
  uint64_t offer(const std::byte* data, size_t bytes) override;
  void end_offer() override { --offers_; }
  Fetched fetch(uint64_t offer, size_t begin, std::byte* place, size_t bytes) override;
  void expect(std::byte* place, size_t bytes, const Signature& signature) override {
    expected_ = {place, bytes, signature};
  }
  bool intact() const override { return reading_.is_undisturbed(); }
  void stop_reading() override {
    reading_.end_reading();
    mapped_slot_ = nullptr;
  }
  /// Withdraws posted and offered messages only: the peer may still read those in slots.
  void cancel() override {
    expected_.place = nullptr;
    by_slot_.clear();
    if (offers_ != 0 || !sender_.returned(posted_)) posting_.cancel();
  }

  // FillHints:
  Filling filling(size_t bytes, bool could_post) override {
    return sent_ways_.filling(sender_.sent() + 1, bytes, could_post);
  }
  /// If the receiver reads meanwhile, its time says it all.
  void filled(int64_t ns) override { sent_ways_.filled(is_overlapped_ ? 0 : ns); }

  // GradualSlots:
  void begin(size_t bytes, const Signature& signature) override;
  void grown(size_t bytes) override;
  std::optional<Arrival> peek_begun() override;
  size_t bytes_there(size_t seen) override;

  // WaitHints:
  bool poll_briefly() const override { return unread_ != receiver_.number() && receiver_.poll_briefly(); }
  void say_waiting() override { receiver_.say_waiting(); }
  bool is_peer_waiting() const override { return sender_.is_receiver_waiting(); }
  void note_cpu(uint32_t cpu) override { receiver_.note_cpu(cpu); }
  bool is_peer_on(uint32_t cpu) const override { return sender_.is_receiver_on(cpu); }
  void set_yielding(bool is_yielding) override { receiver_.set_yielding(is_yielding); }
  bool is_peer_yielding() const override { return sender_.is_receiver_yielding(); }

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
  Status take_segment();
  Status accept_segment(const shm::Received& received);
  void use(shm::Segment segment, int outgoing);
  void hear() {
    if (mapped_.has_news()) hear_news();
  }
  void hear_news();
  bool map_slot(const Arrival& arrival);
  Result<const std::byte*> find_mapped(const Arrival& arrival);
  Result<const std::byte*> read_mapped(const Arrival& arrival);
  void copy_unread(uint64_t message);
  std::byte* acquire_irregular();
  void use_part(size_t bytes);
  void publish_slot(size_t bytes, bool gradual, const Signature& signature);
  Status no_part(uint64_t part) const;
  /// Of the current arrival, which is being written to its slot.
  size_t written() const;

  struct Posted {
    uint64_t message = 0;  // its number, from 1
    uint64_t part = 0;     // of the slots' memory
    const std::byte* data = nullptr;
    size_t bytes = 0;
  };
  struct PlacedReceive {
    std::byte* place = nullptr;
    size_t bytes = 0;
    Signature signature;
  };

  static constexpr int kBriefLooks = 1024;

  AgreedParams params_;
  ReadPeer read_peer_;
  std::unique_ptr<Link> link_;  // until the memory has arrived
  Fd socket_;                   // afterwards for exports, if it may be kept
  shm::Segment segment_;
  FifoLayout fifo_out_;
  FifoLayout fifo_in_;
  FifoSender sender_;
  FifoReceiver receiver_;
  shm::SlotPicker picker_;
  uint64_t part_ = 0;     // of the slots' memory, for the acquired slot
  uint64_t part_of_ = 0;  // for which message it was picked, until all are regular
  shm::Exporter exporter_;
  shm::MappingCache mapped_;
  shm::SlotProgress* sent_progress_ = nullptr;      // by slot
  shm::SlotProgress* received_progress_ = nullptr;  // by slot
  size_t begun_ = 0;                                // bytes of the message that is being written; 0: none
  bool is_overlapped_ = false;  // the receiver waits for that message, and reads it meanwhile
  shm::SentWays sent_ways_;
  shm::TakenTime taken_time_;
  CancelGuard posting_;
  CancelGuard reading_;
  uint64_t posted_ = 0;                     // messages up to the last one that was posted
  uint64_t offers_ = 0;                     // that are not over
  std::vector<Posted> by_slot_;             // each slot's latest message posted by address
  const std::byte* mapped_slot_ = nullptr;  // bytes of the current arrival, if it was posted
  PlacedReceive expected_;
  AlignedBytes brought_;  // slot-sized: a message that was read without a matching expect()
  uint64_t unread_ = 0;   // number of the message that the peer is asked to copy into its slot
  Status failure_;
};

void ShmConnection::use(shm::Segment segment, int outgoing) {
  const int incoming = 1 - outgoing;
  segment_ = std::move(segment);
  fifo_out_ = segment_.fifo(outgoing, params_);
  fifo_in_ = segment_.fifo(incoming, params_);
  sender_ = FifoSender(fifo_out_);
  receiver_ = FifoReceiver(fifo_in_);
  picker_ = shm::SlotPicker(params_.slots);
  posting_ = CancelGuard(segment_.cancel_words(outgoing, params_));
  reading_ = CancelGuard(segment_.cancel_words(incoming, params_));
  exporter_ = shm::Exporter(segment_.exports(outgoing, params_));
  sent_progress_ = segment_.progress(outgoing, params_);
  received_progress_ = segment_.progress(incoming, params_);
  sent_ways_ = shm::SentWays(segment_.times(outgoing, params_), params_.slots);
  taken_time_ = shm::TakenTime(segment_.times(incoming, params_));
  mapped_ = shm::MappingCache(segment_.exports(incoming, params_), read_peer_);
  if (read_peer_ != ReadPeer::Never) exporter_.open_up(socket_);
  if (!may_keep(socket_)) socket_.close();
}

bool ShmConnection::post(const std::byte* data, size_t bytes, const Signature& signature) {
  const uint64_t note = exporter_.note_for(data, bytes);
  std::byte* const slot = acquire();
  if (slot == nullptr) return false;
  if (note == shm::Note::kNone) {
    // Since post_mode() said otherwise, a fork of this process has ended that the memory is lent.
    if (!exporter_.stay_ours(data, bytes)) return false;
    std::memcpy(slot, data, bytes);
    commit(bytes, signature);
    return true;
  }
  if (shm::Note::is_address(note)) {
    const uint64_t message = sender_.sent() + 1;
    use_part(bytes);  // if the receiver cannot read it
    by_slot_.resize(params_.slots);
    by_slot_[sender_.index()] = {message, part_, data, bytes};
    sent_ways_.sent_to_be_read(message, bytes);
  }
  sender_.publish(bytes, note, signature);
  posted_ = sender_.sent();
  return true;
}

uint64_t ShmConnection::offer(const std::byte* data, size_t bytes) {
  if (bytes > max_offered() || post_mode(data, std::min(bytes, params_.slot_bytes)) == PostMode::None)
    return 0;
  const uint64_t note = exporter_.note_for(data, bytes);
  if (note != shm::Note::kNone) ++offers_;
  return note;
}

/// The peer may have made up the offer.
ZeroCopy::Fetched ShmConnection::fetch(uint64_t offer, size_t begin, std::byte* place, size_t bytes) {
  await_segment();
  hear();
  if (shm::Note::is_in_slot(offer) || begin >= shm::Note::kOffsets) return Fetched::Refused;
  if (!reading_.begin_reading()) return Fetched::Cancelled;
  bool is_read = false;
  if (shm::Note::is_address(offer)) {
    is_read = mapped_.can_read() && mapped_.read(offer + begin, place, bytes);
  } else if (const auto found = mapped_.find(offer + begin, bytes); found.ok()) {
    std::memcpy(place, found.value(), bytes);
    is_read = true;
  }
  const bool is_undisturbed = reading_.is_undisturbed();
  reading_.end_reading();
  if (!is_undisturbed) return Fetched::Cancelled;
  return is_read ? Fetched::Done : Fetched::Refused;
}

/// Whatever number the peer names, copies only a message that was posted by address and is in flight.
void ShmConnection::copy_unread(uint64_t message) {
  if (by_slot_.empty() || sender_.returned(message)) return;
  const Posted& posted = by_slot_[(message - 1) % params_.slots];
  if (posted.message != message) return;
  std::memcpy(fifo_out_.slot(posted.part, posted.bytes), posted.data, posted.bytes);
  exporter_.say_copied(message, posted.part);
}

/// Does nothing while a message is being read, as it could unmap that message's memory.
void ShmConnection::hear_news() {
  if (mapped_slot_ != nullptr) return;
  if (Status heard = mapped_.hear(socket_); !heard.ok() && failure_.ok()) failure_ = std::move(heard);
}

std::byte* ShmConnection::acquire_irregular() {
  const uint64_t message = sender_.sent() + 1;
  if (picker_.reuses()) sender_.returned(sender_.sent());  // loads what has been released
  if (!sender_.has_room()) return nullptr;
  sent_ways_.hear(sender_.seen_returned());
  if (part_of_ != message) part_ = picker_.pick(sender_.index(), sender_.seen_returned());
  part_of_ = message;
  return fifo_out_.slot(part_, fifo_out_.slot_bytes);
}

void ShmConnection::use_part(size_t bytes) {
  if (!picker_.is_regular()) picker_.use(part_, sender_.sent() + 1, bytes, sender_.index());
}

void ShmConnection::publish_slot(size_t bytes, bool gradual, const Signature& signature) {
  use_part(bytes);
  sender_.publish(bytes, shm::Note::in_slot(part_, gradual), signature);
}

void ShmConnection::begin(size_t bytes, const Signature& signature) {
  begun_ = bytes;
  is_overlapped_ = sender_.is_receiver_waiting();
  publish_slot(bytes, true, signature);
}

void ShmConnection::grown(size_t bytes) {
  const uint64_t message = sender_.sent();
  // Pairs with the acquire load in written().
  std::atomic_ref(sent_progress_[(message - 1) % params_.slots].word)
      .store(shm::SlotProgress::of(message, bytes), std::memory_order_release);
  if (bytes < begun_) return;
  sent_ways_.sent_by_slot(message);
  begun_ = 0;
  is_overlapped_ = false;
}

size_t ShmConnection::written() const {
  // Pairs with the release store in grown().
  const uint64_t word =
      std::atomic_ref(received_progress_[receiver_.index()].word).load(std::memory_order_acquire);
  return shm::SlotProgress::bytes(word, receiver_.number());
}

size_t ShmConnection::bytes_there(size_t seen) {
  const std::optional<Arrival>& arrival = receiver_.peek();
  if (!arrival || !shm::Note::is_gradual(receiver_.note())) return arrival ? arrival->bytes : 0;
  size_t there = written();
  for (int look = 0; look < kBriefLooks && there <= seen; ++look) there = written();
  return std::min(there, arrival->bytes);
}

std::optional<Arrival> ShmConnection::peek() {
  std::optional<Arrival> arrival = peek_begun();
  const bool is_partial = arrival && shm::Note::is_gradual(receiver_.note()) && written() < arrival->bytes;
  if (is_partial) return std::nullopt;
  return arrival;
}

std::optional<Arrival> ShmConnection::peek_begun() {
  await_segment();
  hear();
  std::optional<Arrival> arrival = receiver_.peek();
  if (!arrival) return arrival;
  if (shm::Note::is_in_slot(receiver_.note())) {
    const uint64_t part = shm::Note::part(receiver_.note());
    if (part >= params_.slots) [[unlikely]] {
      failure_ = no_part(part);
      return std::nullopt;
    }
    arrival->data = fifo_in_.slot(part, fifo_in_.slot_bytes);
  } else {
    if (mapped_slot_ == nullptr && !map_slot(*arrival)) return std::nullopt;
    arrival->data = mapped_slot_;
  }
  const bool goes_on = shm::Note::is_gradual(receiver_.note()) && taken_time_.has_begun();
  if (arrival->bytes >= shm::kMinRead && !goes_on) taken_time_.begin();
  return arrival;
}

Status ShmConnection::no_part(uint64_t part) const {
  return error(ErrorKind::MessageBroken, "the peer says that message {} is in slot {} of {}",
               receiver_.number(), part, params_.slots);
}

/// False if the message is not readable yet, or on failure.
bool ShmConnection::map_slot(const Arrival& arrival) {
  const int64_t start_ns = now_ns();
  auto found = find_mapped(arrival);
  if (!found.ok()) failure_ = found.status();
  if (!found.ok() || found.value() == nullptr) return false;
  mapped_slot_ = found.value();
  taken_time_.add(now_ns() - start_ns);
  return true;
}

/// The address of a posted message's bytes; null: not available yet.
Result<const std::byte*> ShmConnection::find_mapped(const Arrival& arrival) {
  const bool is_exported = !shm::Note::is_address(receiver_.note());
  const std::byte* found = nullptr;
  if (is_exported) {
    RONDO_TRY_ASSIGN(found, mapped_.find(receiver_.note(), arrival.bytes));
  }
  if (!reading_.begin_reading())
    return error(ErrorKind::MessageCancelled, "the peer cancelled a posted message");
  return is_exported ? found : read_mapped(arrival);
}

/// Reads a message out of the peer's process, to its expected address if any. If that fails, the peer copies
/// it into the slot.
Result<const std::byte*> ShmConnection::read_mapped(const Arrival& arrival) {
  if (!mapped_.can_read())
    return error(ErrorKind::SharingFailed, "a message is in a process that this end does not read");
  const bool is_expected = expected_.place != nullptr && expected_.bytes == arrival.bytes &&
                           expected_.signature == *arrival.signature;
  if (!is_expected && brought_ == nullptr) brought_ = allocate_aligned(params_.slot_bytes);
  std::byte* const place = is_expected ? expected_.place : brought_.get();
  if (unread_ != receiver_.number()) {
    if (mapped_.read(receiver_.note(), place, arrival.bytes)) return place;
    unread_ = receiver_.number();
  }
  if (mapped_.is_copied(unread_)) {
    const uint64_t part = mapped_.copied_to();
    if (part >= params_.slots) return no_part(part);
    return static_cast<const std::byte*>(fifo_in_.slot(part, fifo_in_.slot_bytes));
  }
  reading_.end_reading();
  return nullptr;
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
  RONDO_TRY(sender_.check());
  return receiver_.check();
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
