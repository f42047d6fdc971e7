// GpuMessage: one send or receive of memory that a GPU reaches, through memory of the host. The stream copies
// the user's buffer to or from there piece by piece, and tells the host by words, or waits for them; the host
// sends and receives with the engine of all messages. Words are constants that whoever waited puts back to 0,
// so that a captured message can be replayed; a ticket tells the host its place among the others each time.
// All but start() and finish() under the engine's mutex.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "exec/point_to_point.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace rondo {

/// What a user asked for; its buffer is the GPU's.
using AnyRequest = std::variant<std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>>;

class GpuMessage {
 public:
  virtual ~GpuMessage() = default;

  /// Lets the stream draw a ticket into the word.
  using DrawTicket = std::function<Status(gpu::Stream stream, uint64_t* word)>;
  /// Put its copies and words into the stream; the device's context is current. First what waits for no peer,
  /// so that the messages of a group do not wait for one another.
  virtual Status start(gpu::Stream stream, const DrawTicket& draw) = 0;
  virtual Status finish(gpu::Stream stream) = 0;

  /// The ticket that its stream has drawn; 0: none since the last begin().
  uint64_t ticket() const;
  /// Whether it can begin, having drawn its ticket: the engine takes messages to the own rank as a whole.
  virtual bool can_begin(const PointToPoint& engine) const = 0;
  /// Takes its place among the engine's messages.
  Status begin(PointToPoint& engine);
  /// Does what the host can do now; whether that was anything.
  virtual bool serve() = 0;
  /// Lets the stream go on, whatever it waits for: the communicator has failed.
  virtual void release() = 0;

  /// Whether it has begun and not ended.
  bool under_way() const { return under_way_; }
  /// Whether a graph holds it, which may replay it at any time.
  bool replayed() const { return replayed_; }
  /// Whether both the host and the stream are through with it; never, where it is replayed.
  bool over() const { return over_; }

  gpu::Memory take_memory() { return std::move(memory_); }

  /// Of host memory for a message of that size.
  static size_t memory_bytes(size_t message_bytes);
  /// `memory`: pinned.
  static std::unique_ptr<GpuMessage> make(const AnyRequest& request, gpu::Memory memory, bool replayed);

 protected:
  static constexpr size_t kMostPieces = 64;
  struct alignas(128) Words {
    uint64_t ticket = 0;
    uint32_t turn = 1;                           // a send's: the stream may fill the memory
    uint32_t done = 0;                           // a receive's: the stream has emptied it
    std::array<uint32_t, kMostPieces> pieces{};  // that piece is in it
  };
  /// `asked_done`: of what the user asked for.
  GpuMessage(gpu::Memory memory, size_t bytes, bool& asked_done, bool replayed);

  virtual Status enter(PointToPoint& engine) = 0;
  size_t piece_begin(size_t piece) const { return piece * piece_bytes_; }
  size_t piece_end(size_t piece) const;
  std::byte* staged() const { return memory_.data() + sizeof(Words); }
  bool all_pieces() const { return next_ == pieces_; }
  /// The user has what was asked for, or never will.
  void end();

  gpu::Memory memory_;
  Words& words_;
  size_t bytes_;
  size_t piece_bytes_;
  size_t pieces_;
  size_t next_ = 0;  // piece, that is not there yet

 private:
  bool& asked_done_;
  bool replayed_;
  bool under_way_ = false;
  bool over_ = false;
};

}  // namespace rondo
