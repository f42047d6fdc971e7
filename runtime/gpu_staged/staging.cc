// SPDX-License-Identifier: Apache-2.0
#include "staging.h"

namespace rondo {
namespace {

constexpr size_t kAlignment = 256;  // of blocks: suits any element and wide loads
constexpr size_t kMinPart = 256;
constexpr size_t kPage = 4096;

size_t whole(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t stamps_bytes(int nranks) { return whole(static_cast<size_t>(nranks) * sizeof(Stamp), kPage); }

}  // namespace

StagingGeometry::StagingGeometry(int nranks, size_t bytes)
    : nranks_(nranks),
      bytes_(bytes),
      slot_bytes_((bytes / kSlots - stamps_bytes(nranks)) / kAlignment * kAlignment),
      part_bytes_(slot_bytes_ / static_cast<size_t>(nranks) / kAlignment * kAlignment) {}

size_t StagingGeometry::min_bytes(int nranks) {
  return kSlots * (stamps_bytes(nranks) + static_cast<size_t>(nranks) * kMinPart);
}

size_t StagingGeometry::stamp(int slot, int reader) const {
  return static_cast<size_t>(slot) * stamps_bytes(nranks_) + static_cast<size_t>(reader) * sizeof(Stamp);
}

size_t StagingGeometry::block(int slot, bool shared, int reader) const {
  const size_t within = shared ? 0 : static_cast<size_t>(reader) * part_bytes_;
  return kSlots * stamps_bytes(nranks_) + static_cast<size_t>(slot) * slot_bytes_ + within;
}

size_t WordTable::bytes(int nranks) {
  const auto n = static_cast<size_t>(nranks);
  return whole(n * sizeof(RankWords) + n * n * 2 * kSlots * sizeof(uint32_t), kPage);
}

uint32_t* WordTable::word(Token token, int slot, int from, int to) const {
  const auto n = static_cast<size_t>(nranks_);
  auto* words = reinterpret_cast<uint32_t*>(base_ + n * sizeof(RankWords));
  const size_t kind = static_cast<size_t>(token) * kSlots + static_cast<size_t>(slot);
  return words + (static_cast<size_t>(to) * 2 * kSlots + kind) * n + static_cast<size_t>(from);
}

}  // namespace rondo
