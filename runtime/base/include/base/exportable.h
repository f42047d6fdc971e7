// SPDX-License-Identifier: Apache-2.0
// ExportableMemory: memory of this process that others can map, one memfd per piece, and the registry of all
// such memory, together with other memory that the user lets devices access. (What librondo-heap.so lends is
// in a registry of its own.) Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

/// Memory of a GPU that other devices access. The CPU uses its bytes by copy() alone.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  /// A descriptor (dmabuf) by which drivers of other devices find the piece; an error if there is none.
  virtual Result<Fd> dmabuf() const = 0;
  /// Copies to or from the piece; returns when done.
  virtual Status copy(std::byte* to, const std::byte* from, size_t bytes) const = 0;
  /// What makes bytes that another device has written visible to kernels that read them from then on.
  enum class Visibility {
    AtOnce,      // nothing: they are
    AfterFlush,  // flush()
    AfterRead,   // that device reads one of them
  };
  virtual Visibility visibility() const = 0;
  virtual Status flush() const = 0;
};

struct ExportableMemory {
  std::byte* begin = nullptr;
  size_t bytes = 0;
  uint64_t number = 0;                   // never reused
  std::shared_ptr<const Fd> memfd;       // null: others cannot map it
  std::shared_ptr<const GpuMemory> gpu;  // null: it is the host's
  const uint64_t* lent_now = nullptr;    // null: it is not librondo-heap.so's (lent_heap.h)

  /// Whether librondo-heap.so still lends it, whose piece this is.
  bool is_lent_now() const;
  bool holds(const std::byte* at, size_t length) const {
    return at >= begin && length <= bytes && static_cast<size_t>(at - begin) <= bytes - length;
  }
};

/// Page-aligned zeros.
Result<std::byte*> allocate_exportable(size_t bytes);
/// Frees a piece, even if peers still have it mapped; false if it is not from allocate_exportable().
bool free_exportable(void* begin);

/// How many pieces are looked at for one that holds an address, since they may overlap.
constexpr int kMaxOverlaps = 16;

/// The piece that contains this whole range; nothing if none does, or if it cannot be exported because this
/// process had few descriptors left when it was allocated.
std::optional<ExportableMemory> find_exportable(const std::byte* at, size_t bytes);
/// The same, or a piece that only devices can access.
std::optional<ExportableMemory> find_accessible(const std::byte* at, size_t bytes);
/// The same, or a piece of librondo-heap.so, which peers on this host can map and devices do not access. It
/// may be lent no more at any time, and is then memory of this process alone.
std::optional<ExportableMemory> find_offered(const std::byte* at, size_t bytes);

/// A piece of other memory, which devices can access as long as this lives.
class AccessibleMemory {
 public:
  AccessibleMemory(std::byte* begin, size_t bytes, std::shared_ptr<const GpuMemory> gpu = nullptr);
  ~AccessibleMemory();
  AccessibleMemory(const AccessibleMemory&) = delete;
  AccessibleMemory& operator=(const AccessibleMemory&) = delete;

 private:
  const uint64_t number_;
};

/// Copies bytes that a GPU may own to memory of the host.
Status copy_accessible(std::byte* to, const std::byte* from, size_t bytes);

/// Whether the piece has not been freed, or is lent, or, if it is an AccessibleMemory, that lives.
bool is_alive(const ExportableMemory& piece);
/// Has `action` run once the piece is no longer alive, before its memory goes, by the thread that ends it, if
/// `owner` lives then; it runs in this process alone. False if the piece is not alive.
bool when_freed(const ExportableMemory& piece, std::weak_ptr<void> owner, std::function<void()> action);
/// The number of pieces freed, or lent no more, so far.
uint64_t exportable_frees();

}  // namespace rondo
