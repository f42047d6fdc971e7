// SPDX-License-Identifier: Apache-2.0
#include "transports/fallback.h"

#include <cstring>
#include <utility>

namespace rondo {

/// Whether the second transport has taken the place of the first, now or before.
bool FallbackConnection::replaced() {
  if (second_ != nullptr) return true;
  if (!must_replace()) return false;
  auto begun = connect_second_(first_->status());
  failure_ = begun.status();
  if (begun.ok()) second_ = begun.take();
  return second_ != nullptr;
}

/// Whether the second transport has sent what the first had not brought to the peer.
bool FallbackConnection::sent_again() {
  for (auto message = first_->unsent(again_); message; message = first_->unsent(again_)) {
    std::byte* const slot = second_->acquire(message->bytes);
    if (slot == nullptr) return false;
    if (message->bytes != 0) std::memcpy(slot, message->data, message->bytes);
    second_->commit(message->bytes, *message->signature);
    ++again_;
  }
  return true;
}

std::byte* FallbackConnection::acquire(size_t bytes) {
  if (acquired_ == nullptr && second_ == nullptr) acquired_ = first_->acquire();
  if (acquired_ != nullptr || !replaced()) return acquired_;
  return sent_again() ? second_->acquire(bytes) : nullptr;
}

void FallbackConnection::commit(size_t bytes, const Signature& signature) {
  sends().commit(bytes, signature);
  acquired_ = nullptr;
}

bool FallbackConnection::flushed() {
  const bool is_flushed = second_ == nullptr && first_->flushed();
  if (second_ == nullptr && !must_replace()) return is_flushed;
  return replaced() && sent_again() && second_->flushed();
}

const Arrival* FallbackConnection::peek() {
  reading_ = first_.get();
  if (const Arrival* const arrival = first_->peek(); arrival != nullptr || !replaced()) return arrival;
  sent_again();
  reading_ = second_.get();
  return second_->peek();
}

Status FallbackConnection::status() const {
  if (!failure_.ok()) return failure_;
  const Status status = used().status();  // asking may reveal that it is refused
  return must_replace() ? Status() : status;
}

void FallbackConnection::look() {
  used().look();
  if (replaced()) sent_again();
}

Awaited FallbackConnection::awaited(Awaiting what) const {
  return must_replace() ? Awaited() : used().awaited(what);
}

std::string FallbackConnection::gpu_obstacle() const {
  return used().zero_copy() != nullptr ? used().zero_copy()->gpu_obstacle() : ZeroCopy::gpu_obstacle();
}

void FallbackConnection::export_memory(const ExportableMemory& memory) {
  if (used().zero_copy() != nullptr) used().zero_copy()->export_memory(memory);
}

ZeroCopy::PostMode FallbackConnection::post_mode(const std::byte* data, size_t bytes) const {
  return sends().zero_copy() == nullptr ? PostMode::None : sends().zero_copy()->post_mode(data, bytes);
}

bool FallbackConnection::post(const std::byte* data, size_t bytes, const Signature& signature) {
  if (sends().zero_copy() == nullptr || (&sends() == second_.get() && !sent_again())) return false;
  const bool is_posted = sends().zero_copy()->post(data, bytes, signature);
  if (is_posted) acquired_ = nullptr;
  return is_posted;
}

std::optional<size_t> FallbackConnection::held() const {
  return used().zero_copy() == nullptr ? std::nullopt : used().zero_copy()->held();
}

/// What the first has received comes before.
void FallbackConnection::expect(std::byte* place, size_t bytes, const Signature& signature) {
  if (second_ != nullptr && first_->peek() != nullptr) return;
  if (used().zero_copy() != nullptr) used().zero_copy()->expect(place, bytes, signature);
}

/// While the first has messages to be received, none of the second is the next.
std::optional<size_t> FallbackConnection::room_ahead() const {
  if (second_ != nullptr || first_->zero_copy() == nullptr) return std::nullopt;
  return first_->zero_copy()->room_ahead();
}

void FallbackConnection::expect_next(std::byte* place, size_t bytes, const Signature* signature) {
  if (room_ahead()) first_->zero_copy()->expect_next(place, bytes, signature);
}

void FallbackConnection::expect_all(std::byte* place, size_t bytes, const Signature& signature) {
  if (room_ahead()) first_->zero_copy()->expect_all(place, bytes, signature);
}

bool FallbackConnection::intact() const {
  return reading_ == nullptr || reading_->zero_copy() == nullptr || reading_->zero_copy()->intact();
}

void FallbackConnection::stop_reading() {
  for (Connection* const each : {first_.get(), second_.get()})
    if (each != nullptr && each->zero_copy() != nullptr) each->zero_copy()->stop_reading();
}

void FallbackConnection::cancel() {
  for (Connection* const each : {first_.get(), second_.get()})
    if (each != nullptr && each->zero_copy() != nullptr) each->zero_copy()->cancel();
}

}  // namespace rondo
