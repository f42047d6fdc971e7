// SPDX-License-Identifier: Apache-2.0
// Region: memory registered with a device; its pages are pinned as long as it lives. PinnedBytes: how many
// bytes this process has pinned so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/exportable.h"
#include "base/status.h"
#include "verbs/library.h"

namespace rondo::verbs {

/// Any thread.
class PinnedBytes {
 public:
  /// Counts these too, unless there would be more than `max`; tells the user each time the total has doubled.
  bool add(uint64_t bytes, uint64_t max);
  void remove(uint64_t bytes) { total_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  // Relaxed: nothing else is read by their values.
  std::atomic<uint64_t> total_ = 0;
  std::atomic<uint64_t> told_ = 0;
};

class Region {
 public:
  struct PinnedRange {
    const std::byte* at = nullptr;
    uint64_t bytes = 0;
  };
  enum class WrittenBy { Owner, Peer };
  /// InvalidUsage, with the cure, if a limit keeps it from being pinned. `max`: bytes in all.
  static Result<std::unique_ptr<Region>> make(const Library& verbs, ibv_pd* domain, const PinnedRange& place,
                                              WrittenBy writer, PinnedBytes& pinned, uint64_t max);
  /// All memory of the process, whatever will be mapped, by paging on demand: nothing is pinned, and no peer
  /// may write. Unsupported if the device cannot.
  static Result<std::unique_ptr<Region>> make_of_everything(const Library& verbs, ibv_pd* domain,
                                                            PinnedBytes& pinned);
  /// Memory of a GPU: by its dmabuf or, if that fails, as the kernel finds it (nvidia-peermem). It is not
  /// counted as pinned.
  static Result<std::unique_ptr<Region>> make_of_gpu(const Library& verbs, ibv_pd* domain,
                                                     const ExportableMemory& piece, PinnedBytes& pinned);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  bool holds(const std::byte* at, uint64_t bytes) const {
    return at >= place_.at && bytes <= place_.bytes &&
           static_cast<uint64_t>(at - place_.at) <= place_.bytes - bytes;
  }
  bool lets_peer_write() const { return writer_ == WrittenBy::Peer; }
  const std::shared_ptr<const GpuMemory>& gpu() const { return gpu_; }
  uint32_t local_key() const { return registered_->lkey; }
  uint32_t remote_key() const { return registered_->rkey; }

 private:
  Region(const Library& verbs, const PinnedRange& place, WrittenBy writer, PinnedBytes& pinned)
      : verbs_(verbs), place_(place), writer_(writer), pinned_(pinned) {}

  const Library& verbs_;
  const PinnedRange place_;
  const WrittenBy writer_;
  PinnedBytes& pinned_;
  uint64_t pinned_bytes_ = 0;
  std::shared_ptr<const GpuMemory> gpu_;
  ibv_mr* registered_ = nullptr;
};

}  // namespace rondo::verbs
