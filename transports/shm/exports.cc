// SPDX-License-Identifier: Apache-2.0
#include "shm/exports.h"

#include <algorithm>

#include "base/error_kinds.h"
#include "base/log.h"

namespace rondo::shm {
namespace {

/// Once in a process, for those who want to know whether a heap serves them.
void say_heap_is_read() {
  static std::atomic<bool> is_said{false};
  if (!is_said.load(std::memory_order_relaxed) && !is_said.exchange(true))
    log().info("peers read large blocks of this process in place");
}

}  // namespace

void Exporter::open_up(const Fd& socket) {
  const auto cookie = own_cookie();
  if (!socket.valid() || !cookie) return;
  admit_siblings();
  const ExportMessage message{.cookie = *cookie};
  if (const auto told = tell(socket, message, {}); !told.ok())
    log().info("a peer cannot read this process, and bytes are copied: {}", told.status().message());
}

void Exporter::export_memory(const ExportableMemory& memory, const Fd& socket) {
  const auto has_it = [&](const Mapping& export_id) { return export_id.memory.number == memory.number; };
  if (words_ == nullptr || has_failed_ || refused() || !socket.valid() ||
      std::any_of(exports_.begin(), exports_.end(), has_it))
    return;
  const Status exported = try_to_export(memory, socket);
  if (exported.ok()) return;
  has_failed_ = true;
  log().info("memory is not exported any more on a connection, and its bytes are copied: {}",
             exported.message());
}

bool Exporter::refused() const {
  return std::atomic_ref(words_->refuses).load(std::memory_order_relaxed) != 0;
}

Status Exporter::try_to_export(const ExportableMemory& memory, const Fd& socket) {
  RONDO_TRY_ASSIGN(const bool has_room, take_freed_back(socket));
  const bool fits =
      exports_.size() < kMaxExports && numbers_ + 1 < Note::kExports && memory.bytes <= Note::kOffsets;
  if (!has_room || !fits) return {};
  const int fd = memory.memfd->get();
  RONDO_TRY_ASSIGN(const bool told,
                   tell(socket, {.export_id = numbers_ + 1, .bytes = memory.bytes}, {&fd, size_t{1}}));
  if (!told) return {};
  exports_.push_back({memory, ++numbers_, told_});
  exports_.back().memory.memfd.reset();
  return {};
}

/// False if the socket is full now.
Result<bool> Exporter::take_freed_back(const Fd& socket) {
  const uint64_t frees = exportable_frees();
  if (frees == frees_) return true;
  for (auto export_id = exports_.begin(); export_id != exports_.end();) {
    if (is_alive(export_id->memory)) {
      ++export_id;
      continue;
    }
    RONDO_TRY_ASSIGN(const bool told, tell(socket, {.export_id = export_id->number}, {}));
    if (!told) return false;
    export_id = exports_.erase(export_id);
  }
  frees_ = frees;
  return true;
}

/// False if the socket is full now.
Result<bool> Exporter::tell(const Fd& socket, const ExportMessage& message,
                            std::span<const int> descriptors) {
  RONDO_TRY_ASSIGN(const bool sent,
                   try_to_send_descriptors(socket, std::as_bytes(std::span(&message, 1)), descriptors));
  if (!sent) return false;
  // Pairs with the acquire load in MappingCache::has_news(), though the kernel orders the message itself.
  std::atomic_ref(words_->told).store(++told_, std::memory_order_release);
  return true;
}

uint64_t Exporter::note_for(const std::byte* data, size_t bytes) const {
  for (const Mapping& export_id : exports_) {
    if (!export_id.memory.holds(data, bytes)) continue;
    // Relaxed: only the importer accesses its mapping, and it keeps the mapping once made.
    const bool is_mapped =
        std::atomic_ref(words_->answered).load(std::memory_order_relaxed) >= export_id.message;
    // If the memory was freed, its address may hold something else now.
    if (is_mapped && is_alive(export_id.memory)) {
      if (export_id.memory.lent_now != nullptr) say_heap_is_read();
      return Note::of_export(export_id.number, static_cast<uint64_t>(data - export_id.memory.begin));
    }
  }
  return bytes >= kMinRead && peer_reads() ? Note::of_address(data) : Note::kNone;
}

bool Exporter::stay_ours(const std::byte* data, size_t bytes) const {
  return std::any_of(exports_.begin(), exports_.end(), [&](const Mapping& export_id) {
    return export_id.memory.lent_now != nullptr && export_id.memory.holds(data, bytes);
  });
}

/// False for good after the first failed read.
bool Exporter::peer_reads() const {
  // Relaxed: only the words themselves are used.
  return words_ != nullptr && copied_ == 0 &&
         std::atomic_ref(words_->reads).load(std::memory_order_relaxed) != 0;
}

uint64_t Exporter::unread() const {
  if (words_ == nullptr) return 0;
  // Relaxed: the exporter then copies only its own data.
  const uint64_t message = std::atomic_ref(words_->unread).load(std::memory_order_relaxed);
  return message == copied_ ? 0 : message;
}

void Exporter::say_copied(uint64_t message, uint64_t part) {
  copied_ = message;
  words_->copied_to = part;
  // Pairs with the acquire load in MappingCache::is_copied(): publishes the bytes with the number.
  std::atomic_ref(words_->copied).store(message, std::memory_order_release);
}

Status MappingCache::hear(const Fd& socket) {
  while (has_news()) {
    RONDO_TRY_ASSIGN(const bool heard, hear_one(socket));
    if (!heard) return {};
    // Relaxed: see Exporter::note_for().
    std::atomic_ref(words_->answered).store(++answered_, std::memory_order_relaxed);
  }
  return {};
}

/// Processes the exporter's next message; false if it has not arrived, or if this end now refuses them.
Result<bool> MappingCache::hear_one(const Fd& socket) {
  if (!socket.valid()) {
    refuse(error(ErrorKind::TooManyDescriptors, "this process has few descriptors left"));
    return false;
  }
  ExportMessage message;
  RONDO_TRY_ASSIGN(auto arrived, receive_descriptors(socket, std::as_writable_bytes(std::span(&message, 1))));
  if (!arrived) return false;
  if (arrived->bytes == 0 || arrived->lost) {
    refuse(arrived->lost
               ? error(ErrorKind::TooManyDescriptors, "this process has no descriptor left for shared memory")
               : error(ErrorKind::ConnectionBroken, "the peer has closed its socket"));
    return false;
  }
  const size_t attached = message.export_id == 0 || message.bytes == 0 ? 0 : 1;
  if (arrived->bytes != sizeof message || message.magic != ExportMessage::kExport ||
      arrived->attached.size() != attached || (attached == 1 && exports_.contains(message.export_id)))
    return error(ErrorKind::SharingFailed, "the peer sent {} bytes that do not describe exported memory",
                 arrived->bytes);
  if (message.export_id == 0) {
    try_to_read(socket, message.cookie);
    return true;
  }
  if (attached == 0) {
    exports_.erase(message.export_id);
    return true;
  }
  auto mapped = SharedSegment::map_to_read(arrived->attached.front(), message.bytes);
  if (mapped.status().code() == Code::RemoteError) return mapped.status();
  if (!mapped.ok()) {
    refuse(mapped.status());
    return false;
  }
  exports_[message.export_id] = mapped.take();
  return true;
}

void MappingCache::try_to_read(const Fd& socket, const PidCookie& cookie) {
  if (read_peer_ == ReadPeer::Never) return;
  auto reader = ProcessReader::open(socket, cookie);
  if (!reader.ok()) {
    log().info("a peer's process is not read, and its bytes are copied: {}", reader.status().message());
    return;
  }
  reader_ = reader.take();
  // Relaxed: see Exporter::peer_reads().
  std::atomic_ref(words_->reads).store(1, std::memory_order_relaxed);
}

bool MappingCache::is_copied(uint64_t message) {
  // Relaxed: see Exporter::unread().
  std::atomic_ref(words_->unread).store(message, std::memory_order_relaxed);
  return std::atomic_ref(words_->copied).load(std::memory_order_acquire) == message;
}

void MappingCache::refuse(const Status& why) {
  refuses_ = true;
  std::atomic_ref(words_->refuses).store(1, std::memory_order_relaxed);
  log().info("a peer's memory is not mapped, and its bytes are copied: {}", why.message());
}

Result<const std::byte*> MappingCache::find(uint64_t note, size_t bytes) const {
  const auto export_id = exports_.find(Note::export_id(note));
  const uint64_t offset = Note::offset(note);
  if (export_id == exports_.end())
    return error(ErrorKind::SharingFailed, "a message is in exported memory that this end has not mapped");
  const SharedSegment& memory = export_id->second;
  if (offset > memory.bytes() || bytes > memory.bytes() - offset)
    return error(ErrorKind::MessageBroken, "a message says {} bytes at {} of exported memory that has {}",
                 bytes, offset, memory.bytes());
  return memory.data() + offset;
}

}  // namespace rondo::shm
