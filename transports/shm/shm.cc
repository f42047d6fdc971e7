#include "shm/shm.h"

#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "common/aligned_bytes.h"
#include "common/fifo.h"
#include "shm/loans.h"
#include "shm/segment.h"
#include "shm/ways.h"

namespace rondo {
namespace {

class ShmConnection : public Connection {
 public:
  /// The dialling end, whose memory is there.
  ShmConnection(const ConnectionParams& params, Fd socket, shm::Segment segment)
      : params_(agreed(params)), read_peer_(params.read_peer), socket_(std::move(socket)) {
    use(std::move(segment), 0);
  }
  /// The accepting end, which waits for its memory.
  ShmConnection(const ConnectionParams& params, std::unique_ptr<Link> link)
      : params_(agreed(params)), read_peer_(params.read_peer), link_(std::move(link)) {}

  ~ShmConnection() override {
    stop_reading();
    withdraw();
  }

  std::byte* acquire() override {
    await_segment();
    if (!sender_.has_room()) return nullptr;
    sent_ways_.hear(sender_.seen_returned());
    return sender_.slot();
  }
  Filling filling(size_t bytes, bool could_post) override {
    return sent_ways_.filling(sender_.sent() + 1, bytes, could_post);
  }
  void filled(int64_t ns) override { sent_ways_.filled(ns); }
  void commit(size_t bytes, const Signature& signature) override {
    sent_ways_.sent_by_slot(sender_.sent() + 1);
    sender_.publish(bytes, 0, signature);
  }

  void lend(const Lendable& memory) override {
    if (link_ == nullptr) lender_.lend(memory, socket_);
  }
  Posting posting(const std::byte* data, size_t bytes) const override {
    const uint64_t note = lender_.note_for(data, bytes);
    if (note == shm::Note::kNone) return Posting::None;
    if (!shm::Note::is_address(note)) return Posting::Seen;
    const bool reads = read_peer_ == ReadPeer::Always || sent_ways_.reads(sender_.sent() + 1, bytes);
    return reads ? Posting::Read : Posting::None;
  }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override;

  /// What was copied lies in memory that the peer, or the socket on its way there, holds.
  bool flushed() override {
    await_segment();
    hear();
    if (const uint64_t unread = lender_.unread()) copy_unread(unread);
    return sender_.returned(posted_);
  }
  void stop_reading() override {
    reading_.end_reading();
    borrowed_ = nullptr;
  }
  /// Only what was posted: what lies in slots is still the peer's to read.
  void withdraw() override {
    expected_.place = nullptr;
    by_slot_.clear();
    if (!sender_.returned(posted_)) posting_.take_back();
  }

  void expect(std::byte* place, size_t bytes, const Signature& signature) override {
    expected_ = {place, bytes, signature};
  }
  std::optional<Arrival> peek() override;
  bool linger() const override { return unread_ != receiver_.number() && receiver_.linger(); }
  void say_away(bool is_away) override { receiver_.say_away(is_away); }
  bool is_peer_away() const override { return sender_.is_receiver_away(); }
  bool intact() const override { return reading_.is_undisturbed(); }
  void release() override {
    taken_time_.end(receiver_.index());
    receiver_.release();
    expected_.place = nullptr;
    stop_reading();
  }

  Status status() const override;
  size_t slot_bytes() const override { return params_.slot_bytes; }
  Awaited awaited(Awaiting what) const override { return awaited_of(what, sender_, receiver_); }

 private:
  /// Cheap once the memory is there, and after a failure.
  void await_segment() {
    if (link_ == nullptr) return;
    failure_ = take_segment();
    if (!failure_.ok()) link_.reset();
  }
  Status take_segment();
  Status accept_segment(const shm::Received& received);
  void use(shm::Segment segment, int outgoing);
  void hear() {
    if (borrower_.has_news()) hear_news();
  }
  void hear_news();
  bool borrow(const Arrival& arrival);
  Result<const std::byte*> find_borrowed(const Arrival& arrival);
  Result<const std::byte*> read_borrowed(const Arrival& arrival);
  void copy_unread(uint64_t message);

  struct Posted {
    uint64_t message = 0;  // its number, from 1
    const std::byte* data = nullptr;
    size_t bytes = 0;
  };
  struct Expected {
    std::byte* place = nullptr;
    size_t bytes = 0;
    Signature signature;
  };

  AgreedParams params_;
  ReadPeer read_peer_;
  std::unique_ptr<Link> link_;  // until the memory is there
  Fd socket_;                   // then for what is lent, if it may be kept
  shm::Segment segment_;
  FifoSender sender_;
  FifoReceiver receiver_;
  shm::Lender lender_;
  shm::Borrower borrower_;
  shm::SentWays sent_ways_;
  shm::TakenTime taken_time_;
  Withdrawal posting_;
  Withdrawal reading_;
  uint64_t posted_ = 0;                  // messages up to the last one that was posted
  std::vector<Posted> by_slot_;          // of each slot what was posted last by its address
  const std::byte* borrowed_ = nullptr;  // what the message at hand says, if it was posted
  Expected expected_;
  AlignedBytes brought_;  // of a slot's length: bytes that were read and expected nowhere
  uint64_t unread_ = 0;   // the number of the message that the peer is to put into its slot
  Status failure_;
};

void ShmConnection::use(shm::Segment segment, int outgoing) {
  const int incoming = 1 - outgoing;
  segment_ = std::move(segment);
  sender_ = FifoSender(segment_.fifo(outgoing, params_));
  receiver_ = FifoReceiver(segment_.fifo(incoming, params_));
  posting_ = Withdrawal(segment_.withdrawal(outgoing, params_));
  reading_ = Withdrawal(segment_.withdrawal(incoming, params_));
  lender_ = shm::Lender(segment_.loans(outgoing, params_));
  sent_ways_ = shm::SentWays(segment_.times(outgoing, params_), params_.slots);
  taken_time_ = shm::TakenTime(segment_.times(incoming, params_));
  borrower_ = shm::Borrower(segment_.loans(incoming, params_), read_peer_);
  if (read_peer_ != ReadPeer::Never) lender_.open_up(socket_);
  if (!may_keep(socket_)) socket_.close();
}

bool ShmConnection::post(const std::byte* data, size_t bytes, const Signature& signature) {
  const uint64_t note = lender_.note_for(data, bytes);
  if (note == shm::Note::kNone || acquire() == nullptr) return false;
  if (shm::Note::is_address(note)) {
    by_slot_.resize(params_.slots);
    by_slot_[sender_.index()] = {sender_.sent() + 1, data, bytes};
    sent_ways_.sent_to_be_read(sender_.sent() + 1, bytes);
  }
  sender_.publish(bytes, note, signature);
  posted_ = sender_.sent();
  return true;
}

/// Whatever number the peer says, only a message is copied that was posted by its address and not given back.
void ShmConnection::copy_unread(uint64_t message) {
  if (by_slot_.empty() || sender_.returned(message)) return;
  const Posted& posted = by_slot_[(message - 1) % params_.slots];
  if (posted.message != message) return;
  std::memcpy(sender_.slot_of(message), posted.data, posted.bytes);
  lender_.say_copied(message);
}

/// Not while a message is read, whose memory it could take away.
void ShmConnection::hear_news() {
  if (borrowed_ != nullptr) return;
  if (Status heard = borrower_.hear(socket_); !heard.ok() && failure_.ok()) failure_ = std::move(heard);
}

std::optional<Arrival> ShmConnection::peek() {
  await_segment();
  hear();
  std::optional<Arrival> arrival = receiver_.peek();
  if (!arrival) return arrival;
  if (receiver_.note() != shm::Note::kNone) {
    if (borrowed_ == nullptr && !borrow(*arrival)) return std::nullopt;
    arrival->data = borrowed_;
  }
  if (arrival->bytes >= shm::kLeastRead) taken_time_.begin();
  return arrival;
}

/// False if it is not mapped yet, or could not be.
bool ShmConnection::borrow(const Arrival& arrival) {
  const int64_t start_ns = now_ns();
  auto found = find_borrowed(arrival);
  if (!found.ok()) failure_ = found.status();
  if (!found.ok() || found.value() == nullptr) return false;
  borrowed_ = found.value();
  taken_time_.add(now_ns() - start_ns);
  return true;
}

/// Where a message lies that was posted; null: nowhere yet.
Result<const std::byte*> ShmConnection::find_borrowed(const Arrival& arrival) {
  const bool is_lent = !shm::Note::is_address(receiver_.note());
  const std::byte* found = nullptr;
  if (is_lent) {
    RONDO_TRY_ASSIGN(found, borrower_.find(receiver_.note(), arrival.bytes));
  }
  if (!reading_.begin_reading()) return error(Code::RemoteError, "the peer took a posted message back");
  return is_lent ? found : read_borrowed(arrival);
}

/// Reads a message out of the peer's process, to where it is expected. What cannot be read the peer puts into
/// the slot.
Result<const std::byte*> ShmConnection::read_borrowed(const Arrival& arrival) {
  if (!borrower_.can_read())
    return error(Code::RemoteError, "a message is in a process that this end does not read");
  const bool is_expected = expected_.place != nullptr && expected_.bytes == arrival.bytes &&
                           expected_.signature == *arrival.signature;
  if (!is_expected && brought_ == nullptr) brought_ = allocate_aligned(params_.slot_bytes);
  std::byte* const place = is_expected ? expected_.place : brought_.get();
  if (unread_ != receiver_.number()) {
    if (borrower_.read(receiver_.note(), place, arrival.bytes)) return place;
    unread_ = receiver_.number();
  }
  if (borrower_.is_copied(unread_)) return arrival.data;
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

}  // namespace

bool shm_reaches(const Endpoint& a, const Endpoint& b) { return a.host == b.host; }

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

}  // namespace rondo
