// SPDX-License-Identifier: Apache-2.0
// Exports: memory of one end of a shm connection that the other reads in place. Either the reader maps it,
// from a memfd passed over the connection's socket, or it reads it out of the exporter's process, which works
// for any memory. Shared words say when to look at the socket and what can be read, so neither end waits for
// the other, except for a message that turns out to be unreadable. Used by the connection's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/exportable.h"
#include "base/fd.h"
#include "base/shared_segment.h"
#include "base/status.h"
#include "shm/process_reader.h"
#include "shm/ways.h"
#include "transports/transport.h"

namespace rondo::shm {

inline constexpr size_t kMaxExports = 256;  // at a time

/// Shared words of one direction; initially 0.
struct ExportWords {
  alignas(128) uint32_t told = 0;  // ExportMessages that the exporter has sent
  uint64_t copied = 0;             // latest message, from 1, that it copied to its slot after all; 0: none
  uint64_t copied_to = 0;          // the part of the slots' memory where that is
  alignas(128) uint32_t answered = 0;  // ExportMessages that the importer has processed
  uint32_t refuses = 0;                // 1: the importer maps nothing more
  uint32_t reads = 0;                  // 1: the importer reads messages posted by address
  uint64_t unread = 0;                 // latest message, from 1, that it failed to read; 0: none
};

/// Sent over the socket: exported memory, with its memfd, or the exporter's PidCookie.
struct ExportMessage {
  static constexpr uint32_t kExport = 0x6c687352;  // "Rshl"
  uint32_t magic = kExport;
  uint32_t export_id = 0;  // from 1, never reused; 0: the message carries the cookie
  uint64_t bytes = 0;      // 0: the memory has been freed
  PidCookie cookie;
};
static_assert(sizeof(ExportMessage) == 32);

/// Encodes where a message's bytes are.
class Note {
 public:
  static constexpr uint64_t kNone = 0;
  /// In this part of the slots' memory, or on their way there (gradual): see SlotProgress. Parts are those of
  /// the sender's slots, and after them those of the receiver's.
  static constexpr uint64_t in_slot(uint64_t part, bool gradual) { return part << 1 | (gradual ? 1 : 0); }
  static constexpr bool is_in_slot(uint64_t note) { return note < kRing; }
  static constexpr uint64_t part(uint64_t note) { return note >> 1; }
  static constexpr bool is_gradual(uint64_t note) { return is_in_slot(note) && (note & 1) != 0; }
  /// From this byte of the ShortRing on.
  static constexpr uint64_t in_ring(size_t begin) { return kRing | begin; }
  static constexpr bool is_in_ring(uint64_t note) { return note >= kRing && note < kOffsets; }
  static constexpr size_t ring_begin(uint64_t note) { return note & ~kRing; }
  /// In memory of the sender's, as what follows.
  static constexpr bool is_posted(uint64_t note) { return note >= kOffsets; }
  static uint64_t of_export(uint32_t export_id, uint64_t offset) { return export_id * kOffsets + offset; }
  static uint64_t of_address(const std::byte* data) { return kAddress | reinterpret_cast<uint64_t>(data); }

  static bool is_address(uint64_t note) { return (note & kAddress) != 0; }
  static uint64_t address(uint64_t note) { return note & ~kAddress; }
  static uint32_t export_id(uint64_t note) { return static_cast<uint32_t>(note / kOffsets); }
  static uint64_t offset(uint64_t note) { return note % kOffsets; }

  static constexpr uint64_t kOffsets = uint64_t{1} << 40;  // max bytes of an export
  static constexpr uint32_t kExports = uint32_t{1} << 23;

 private:
  static constexpr uint64_t kRing = kOffsets / 2;
  static constexpr uint64_t kAddress = uint64_t{1} << 63;
};

class Exporter {
 public:
  Exporter() = default;
  explicit Exporter(ExportWords& words) : words_(&words) {}

  /// Lets the importer read this process.
  void open_up(const Fd& socket);
  /// First reports freed memory, then exports `memory` over the socket if that is possible without waiting,
  /// there is room for another export and the importer accepts exports.
  void export_memory(const ExportableMemory& memory, const Fd& socket);
  /// kNone unless the importer is known to be able to read the bytes.
  uint64_t note_for(const std::byte* data, size_t bytes) const;

  /// Whether these bytes, which note_for() may have had a note for, are this process's whatever happens to
  /// it.
  bool stay_ours(const std::byte* data, size_t bytes) const;

  /// Number, from 1, of a message that the importer could not read, until say_copied(); 0: none.
  uint64_t unread() const;
  /// Tells the importer that the message is in this part of the slots' memory now.
  void say_copied(uint64_t message, uint64_t part);

 private:
  struct Mapping {
    ExportableMemory memory;  // without its descriptor
    uint32_t number = 0;      // from 1
    uint32_t message = 0;
  };
  bool refused() const;
  Result<bool> tell(const Fd& socket, const ExportMessage& message, std::span<const int> descriptors);
  Result<bool> take_freed_back(const Fd& socket);
  Status try_to_export(const ExportableMemory& memory, const Fd& socket);
  bool peer_reads() const;

  ExportWords* words_ = nullptr;
  std::vector<Mapping> exports_;
  uint64_t copied_ = 0;
  uint32_t numbers_ = 0;
  uint32_t told_ = 0;
  uint64_t frees_ = 0;  // exportable_frees() when freed exports were last looked for
  bool has_failed_ = false;
};

class MappingCache {
 public:
  MappingCache() = default;
  MappingCache(ExportWords& words, ReadPeer read_peer) : words_(&words), read_peer_(read_peer) {}

  /// Processes the exporter's messages; an error if they are invalid. If memory cannot be mapped, the
  /// exporter is told so and continues without.
  Status hear(const Fd& socket);
  bool has_news() const {
    return !refuses_ && words_ != nullptr &&
           std::atomic_ref(words_->told).load(std::memory_order_acquire) != answered_;
  }
  /// The bytes that an export note refers to.
  Result<const std::byte*> find(uint64_t note, size_t bytes) const;
  /// Copies to `place` the bytes that an address note refers to; false if the kernel refuses.
  bool read(uint64_t note, std::byte* place, size_t bytes) const {
    return reader_.read(Note::address(note), place, bytes);
  }
  bool can_read() const { return reader_.can_read(); }
  /// Asks the exporter to copy a message, numbered from 1, into its slot; true once it has.
  bool is_copied(uint64_t message);
  /// The part of the slots' memory where that message is then, as the exporter says.
  uint64_t copied_to() const { return words_->copied_to; }

 private:
  Result<bool> hear_one(const Fd& socket);
  void try_to_read(const Fd& socket, const PidCookie& cookie);
  void refuse(const Status& why);

  ExportWords* words_ = nullptr;
  uint32_t answered_ = 0;
  bool refuses_ = false;
  std::map<uint32_t, SharedSegment> exports_;
  ReadPeer read_peer_ = ReadPeer::Never;
  ProcessReader reader_;
};

}  // namespace rondo::shm
