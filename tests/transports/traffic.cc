// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "bytes.h"
#include "transports/gradual_slots.h"
#include "transports/zero_copy.h"

namespace rondo::test {
namespace {

constexpr std::byte kUntouched{0xa5};
constexpr std::byte kPoison{0x5a};
constexpr int kBusyTries = 500;

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Signature signature_of(uint64_t seed, uint64_t number) {
  const uint64_t bits = mix(seed, number);
  Signature signature;
  signature.count = bits;
  signature.plan = ~bits;
  signature.sequence = static_cast<uint32_t>(number);
  signature.type = static_cast<uint32_t>(bits >> 8);
  signature.type_bytes = static_cast<uint32_t>(bits >> 16);
  signature.op = static_cast<uint32_t>(bits >> 24);
  signature.root = static_cast<int32_t>(bits >> 32);
  signature.kind = static_cast<CollectiveKind>(bits % kCollectives);
  signature.varying = static_cast<uint8_t>(bits & 1);
  return signature;
}

void fill(std::byte* data, size_t bytes, uint64_t seed, uint64_t number) {
  uint64_t bits = mix(seed, number);
  for (size_t i = 0; i < bytes; i += sizeof bits) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    if (bytes - i >= sizeof bits)
      std::memcpy(data + i, &bits, sizeof bits);  // a store, not a call
    else
      std::memcpy(data + i, &bits, bytes - i);
  }
}

std::string fault(const Arrival& arrival, size_t bytes, uint64_t seed, uint64_t number) {
  if (arrival.bytes != bytes)
    return fmt::format("message {} has {} bytes where {} were sent", number, arrival.bytes, bytes);
  if (*arrival.signature != signature_of(seed, number))
    return fmt::format("message {} has another signature", number);
  std::vector<std::byte> expected(bytes);
  fill(expected.data(), bytes, seed, number);
  if (bytes == 0 || std::memcmp(arrival.data, expected.data(), bytes) == 0) return {};
  const auto differs = std::mismatch(expected.begin(), expected.end(), arrival.data);
  return fmt::format("message {} differs at byte {}", number, differs.first - expected.begin());
}

bool send_one(Connection& connection, size_t bytes, uint64_t seed, uint64_t number) {
  std::byte* slot = number % 2 == 0 ? connection.acquire(bytes) : connection.acquire();
  if (slot == nullptr) return false;
  fill(slot, bytes, seed, number);
  connection.commit(bytes, signature_of(seed, number));
  return true;
}

bool send_gradually(Connection& connection, size_t bytes, uint64_t seed, uint64_t number) {
  GradualSlots* const gradual = connection.gradual_slots();
  if (gradual == nullptr || bytes == 0) return send_one(connection, bytes, seed, number);
  std::byte* slot = connection.acquire();
  if (slot == nullptr) return false;
  std::vector<std::byte> data(bytes);
  fill(data.data(), bytes, seed, number);
  gradual->begin(bytes, signature_of(seed, number));
  const size_t piece = 1 + mix(seed, number) % bytes;
  for (size_t begin = 0; begin < bytes; begin += piece) {
    const size_t end = std::min(bytes, begin + piece);
    std::copy_n(data.data() + begin, end - begin, slot + begin);
    gradual->grown(end);
  }
  return true;
}

bool eventually(const std::function<bool()>& done) {
  const Deadline deadline = Deadline::in_ms(30'000);
  for (int tries = 0; !deadline.passed(); ++tries) {
    if (done()) return true;
    if (tries < kBusyTries)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // other tests can use the CPU
  }
  return false;
}

Talker::Talker(Connection& connection, const Conversation& conversation, bool dials)
    : connection_(connection),
      conversation_(conversation),
      out_seed_(mix(conversation.seed, dials ? 1 : 2)),
      in_seed_(mix(conversation.seed, dials ? 2 : 1)) {
  if (conversation.post)
    posted_ = std::make_unique<ExportedMemory>(connection.slot_bytes() * conversation.messages);
  const ZeroCopy* const zero_copy = connection.zero_copy();
  if (!conversation.expect || zero_copy == nullptr || !zero_copy->room_ahead()) return;
  places_ = std::make_unique<ExportedMemory>((connection.slot_bytes() + 64) * conversation.messages);
  std::fill_n(places_->data(), places_->size(), kUntouched);
}

size_t Talker::length(uint64_t seed, uint64_t number) const {
  if (conversation_.full) return connection_.slot_bytes();
  const uint64_t bits = mix(seed, ~number);
  const uint64_t most =
      bits % 3 == 0 ? connection_.slot_bytes() : std::min<size_t>(200, connection_.slot_bytes());
  return (bits >> 8) % (most + 1);
}

bool Talker::send() {
  if (sent_all()) return false;
  const size_t bytes = length(out_seed_, sent_);
  const bool posts = conversation_.post && mix(out_seed_, sent_) % 2 == 0;
  const auto send = mix(sent_, out_seed_) % 3 == 0 ? send_gradually : send_one;
  if (!(posts && post(bytes)) && !send(connection_, bytes, out_seed_, sent_)) return false;
  ++sent_;
  return true;
}

/// As an owner may once messages are flushed.
void Talker::poison_posted() {
  if (poisoned_ == sent_ || !connection_.flushed()) return;
  std::byte* const begin = posted_->data();
  std::fill(begin + poisoned_ * connection_.slot_bytes(), begin + sent_ * connection_.slot_bytes(), kPoison);
  poisoned_ = sent_;
}

bool Talker::post(size_t bytes) {
  ZeroCopy* const zero_copy = connection_.zero_copy();
  if (zero_copy == nullptr) return false;
  poison_posted();
  std::byte* const place = posted_->data() + sent_ * connection_.slot_bytes();
  zero_copy->export_memory(posted_->exportable());
  if (!zero_copy->can_post(place, bytes)) return false;
  fill(place, bytes, out_seed_, sent_);
  return zero_copy->post(place, bytes, signature_of(out_seed_, sent_));
}

/// One time in three, a message whose length or signature differs from the one that arrives.
void Talker::expect() {
  ZeroCopy* const zero_copy = connection_.zero_copy();
  if (zero_copy == nullptr) return;
  const size_t bytes = length(in_seed_, received_);
  const uint64_t what = mix(in_seed_, received_) % 6;
  place_.resize(connection_.slot_bytes() + 1, kUntouched);
  zero_copy->expect(place_.data(), bytes + (what == 0 ? 1 : 0),
                    signature_of(in_seed_, received_ + (what == 1 ? 1 : 0)));
}

/// Whether nothing was written outside the expected message, or at all if another one arrived.
bool Talker::kept_off() const {
  const size_t mine = mix(in_seed_, received_) % 6 < 2 ? 0 : length(in_seed_, received_);
  return place_.empty() || all_bytes_are(kUntouched, place_.data() + mine, place_.size() - mine);
}

/// What is said of a message before it is sent.
enum class Foretold { Rightly, AnySignature, Nothing, WrongLength, WrongSignature };

Foretold foretold(uint64_t seed, uint64_t number) {
  const uint64_t draw = mix(~seed, number) % 12;
  return draw < 5 ? static_cast<Foretold>(draw) : Foretold::Rightly;
}

/// With a guard behind it.
std::byte* Talker::place_ahead(uint64_t number) const {
  return places_->data() + number * (connection_.slot_bytes() + 64);
}

void Talker::expect_ahead() {
  ZeroCopy* const zero_copy = connection_.zero_copy();
  if (places_ == nullptr || !zero_copy->room_ahead()) return;
  for (uint64_t& next = expected_ahead_; *zero_copy->room_ahead() != 0; ++next) {
    next = std::max(next, received_);
    if (next >= conversation_.messages) return;
    const Foretold what = foretold(in_seed_, next);
    const Signature signature = signature_of(in_seed_, what == Foretold::WrongSignature ? next + 1 : next);
    const bool any = what == Foretold::AnySignature;
    const size_t bytes =
        any ? connection_.slot_bytes() : length(in_seed_, next) + (what == Foretold::WrongLength ? 1 : 0);
    zero_copy->expect_next(what == Foretold::Nothing ? nullptr : place_ahead(next), bytes,
                           any ? nullptr : &signature);
  }
}

/// The same of the destination that was told before the message was sent, which then is its owner's again.
bool Talker::kept_off_ahead(const Arrival& arrival) {
  if (places_ == nullptr) return true;
  std::byte* const place = place_ahead(received_);
  std::byte* const end = place + connection_.slot_bytes() + 64;
  const size_t mine = foretold(in_seed_, received_) <= Foretold::AnySignature ? arrival.bytes : 0;
  const bool kept_off = all_bytes_are(kUntouched, place + mine, static_cast<size_t>(end - place) - mine);
  std::fill(place, end, kPoison);
  return kept_off;
}

/// Whether nothing came to those destinations later.
bool Talker::left_alone() const {
  if (places_ == nullptr) return true;
  return all_bytes_are(kPoison, place_ahead(0), static_cast<size_t>(place_ahead(received_) - place_ahead(0)));
}

/// Every other message is copied as its bytes come.
const Arrival* Talker::peek() {
  GradualSlots* const gradual = connection_.gradual_slots();
  if (gradual == nullptr || mix(received_, in_seed_) % 2 == 0) return connection_.peek();
  const Arrival* const arrival = gradual->peek_begun();
  if (arrival == nullptr) return nullptr;
  copied_.assign(arrival->bytes, kPoison);
  for (size_t copied = 0; copied < arrival->bytes;) {
    const size_t there = gradual->bytes_there(copied);
    if (there == copied) return nullptr;
    std::copy_n(arrival->data + copied, there - copied, copied_.data() + copied);
    copied = there;
  }
  copy_ = {copied_.data(), arrival->bytes, arrival->signature};
  return &copy_;
}

bool Talker::receive() {
  if (conversation_.expect && !received_all()) expect_ahead();
  if (conversation_.expect && !received_all() && mix(received_, expectations_++) % 2 == 0) expect();
  const auto arrival = peek();
  if (!arrival) return false;
  if (!kept_off()) fault_ = "bytes were written to where they were not expected";
  if (received_all())
    fault_ = "a message more than were sent";
  else if (fault_.empty())
    fault_ = test::fault(*arrival, length(in_seed_, received_), in_seed_, received_);
  std::fill(place_.begin(), place_.end(), kUntouched);
  if (!received_all() && !kept_off_ahead(*arrival))
    fault_ = "bytes were written to a place of another message";
  ++received_;
  if (received_all() && !left_alone()) fault_ = "bytes were written to a message that had been received";
  connection_.release();
  return true;
}

void Talker::run() {
  const bool in_time = eventually([&] {
    while (send() || receive()) continue;
    return !fault_.empty() || done();
  });
  if (fault_.empty() && !in_time)
    fault_ = fmt::format("stuck after {} sent and {} received: {}", sent_, received_,
                         connection_.status().message());
}

}  // namespace rondo::test
