// SPDX-License-Identifier: Apache-2.0
#include "gpu_message.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "gpu/stream.h"

namespace rondo {
namespace {

using gpu::WordOperation;

constexpr size_t kPieceBytes = size_t{1} << 20;  // long enough that a copy's start-up hardly matters

template <class T>
T load(const T& word) {
  return std::atomic_ref(const_cast<T&>(word)).load(std::memory_order_acquire);
}
template <class T>
void store(T& word, T value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

WordOperation write(uint32_t& word, uint32_t value) { return {WordOperation::Type::Write, &word, value}; }
WordOperation wait(uint32_t& word) { return {WordOperation::Type::Wait, &word, 1}; }

Status put(gpu::Stream stream, WordOperation operation) { return gpu::operate(stream, {&operation, 1}); }
/// Waits for the word and resets it.
Status take(gpu::Stream stream, uint32_t& word) {
  const std::array both{wait(word), write(word, 0)};
  return gpu::operate(stream, both);
}

}  // namespace

size_t GpuMessage::memory_bytes(size_t message_bytes) { return sizeof(MessageWords) + message_bytes; }

/// An empty message has one piece too, which signals that it is there.
GpuMessage::GpuMessage(gpu::Memory memory, size_t bytes, bool& asked_done, bool replayed)
    : memory_(std::move(memory)),
      words_(*new (memory_.data()) MessageWords),
      bytes_(bytes),
      piece_bytes_(std::max(kPieceBytes, (bytes + kMaxPieces - 1) / kMaxPieces)),
      pieces_(std::max<size_t>(1, (bytes + piece_bytes_ - 1) / piece_bytes_)),
      asked_done_(asked_done),
      replayed_(replayed) {}

size_t GpuMessage::piece_end(size_t piece) const { return std::min(bytes_, (piece + 1) * piece_bytes_); }

uint64_t GpuMessage::ticket() const { return load(words_.ticket); }

Status GpuMessage::begin(PointToPoint& engine) {
  store(words_.ticket, uint64_t{0});
  under_way_ = true;
  return enter(engine);
}

void GpuMessage::end() {
  asked_done_ = true;
  next_ = 0;
  under_way_ = false;
  over_ = !replayed_;
}

namespace {

class GpuSend final : public GpuMessage {
 public:
  GpuSend(const std::shared_ptr<SendRequest>& asked, gpu::Memory memory, bool replayed)
      : GpuMessage(std::move(memory), asked->bytes, asked->done, replayed), asked_(asked), what_(*asked) {
    what_.data = staged();
  }

  /// Draws the ticket after the first piece, so that a short message can be sent at once.
  Status start(gpu::Stream stream, const DrawTicket& draw) override {
    RONDO_TRY(take(stream, words_.turn));
    for (size_t piece = 0; piece < pieces_; ++piece) {
      const size_t from = piece_begin(piece);
      RONDO_TRY(gpu::copy(staged() + from, asked_->data + from, piece_end(piece) - from, stream));
      RONDO_TRY(put(stream, write(words_.pieces[piece], 1)));
      if (piece == 0) RONDO_TRY(draw(stream, &words_.ticket));
    }
    return {};
  }
  Status finish(gpu::Stream) override { return {}; }

  bool can_begin(const PointToPoint& engine) const override {
    return asked_->peer != engine.self() || load(words_.pieces[pieces_ - 1]) != 0;
  }
  bool serve() override {
    const bool more = take_pieces();
    if (more) sent_->ready = piece_end(next_ - 1);
    if (!sent_->done || !all_pieces()) return more;
    end();
    store(words_.turn, 1u);
    return true;
  }

  void note(PendingMessages& pending) const override {
    if (!sent_->done) pending.sends.add({asked_->peer, asked_->tag});
  }

  void release() override {
    store(words_.turn, 1u);
    take_pieces();
    if (all_pieces()) end();
  }

 private:
  Status enter(PointToPoint& engine) override {
    take_pieces();
    sent_ = std::make_shared<SendRequest>(what_);
    sent_->ready = piece_end(next_ - 1);
    return engine.start(sent_);
  }
  bool take_pieces() {
    const size_t before = next_;
    for (; next_ < pieces_ && load(words_.pieces[next_]) != 0; ++next_) store(words_.pieces[next_], 0u);
    return next_ != before;
  }

  std::shared_ptr<SendRequest> asked_;
  SendRequest what_;                   // sends from staging
  std::shared_ptr<SendRequest> sent_;  // the engine's
};

class GpuReceive final : public GpuMessage {
 public:
  GpuReceive(const std::shared_ptr<RecvRequest>& asked, gpu::Memory memory, bool replayed)
      : GpuMessage(std::move(memory), asked->capacity, asked->done, replayed), asked_(asked), what_(*asked) {
    what_.data = staged();
    what_.exact = true;
  }

  Status start(gpu::Stream stream, const DrawTicket& draw) override { return draw(stream, &words_.ticket); }

  Status finish(gpu::Stream stream) override {
    for (size_t piece = 0; piece < pieces_; ++piece) {
      RONDO_TRY(take(stream, words_.pieces[piece]));
      const size_t from = piece_begin(piece);
      RONDO_TRY(gpu::copy(asked_->data + from, staged() + from, piece_end(piece) - from, stream));
    }
    return put(stream, write(words_.done, 1));
  }

  bool can_begin(const PointToPoint&) const override { return true; }

  bool serve() override {
    bool moved = false;
    for (; next_ < pieces_ && has_come(next_); moved = true) store(words_.pieces[next_++], 1u);
    if (!all_pieces() || load(words_.done) == 0) return moved;
    store(words_.done, 0u);
    asked_->source = got_->source;
    asked_->got_tag = got_->got_tag;
    asked_->bytes = got_->bytes;
    end();
    return true;
  }

  void note(PendingMessages& pending) const override {
    if (!got_->done) pending.receives.add({asked_->peer, asked_->tag});
  }

  void release() override {
    for (size_t piece = 0; piece < pieces_; ++piece) store(words_.pieces[piece], 1u);
    if (load(words_.done) != 0) end();
  }

 private:
  Status enter(PointToPoint& engine) override {
    got_ = std::make_shared<RecvRequest>(what_);
    return engine.start(got_);
  }
  bool has_come(size_t piece) const {
    return got_->done || (bytes_ != 0 && got_->arrived >= piece_end(piece));
  }

  std::shared_ptr<RecvRequest> asked_;
  RecvRequest what_;                  // receives into staging
  std::shared_ptr<RecvRequest> got_;  // the engine's
};

}  // namespace

std::unique_ptr<GpuMessage> GpuMessage::make(const AnyRequest& request, gpu::Memory memory, bool replayed) {
  if (const auto* send = std::get_if<std::shared_ptr<SendRequest>>(&request))
    return std::make_unique<GpuSend>(*send, std::move(memory), replayed);
  return std::make_unique<GpuReceive>(std::get<std::shared_ptr<RecvRequest>>(request), std::move(memory),
                                      replayed);
}

}  // namespace rondo
