// SPDX-License-Identifier: Apache-2.0
#include "verbs/write_order.h"

#include <algorithm>
#include <utility>

#include "base/error_kinds.h"
#include "common/aligned_bytes.h"

namespace rondo::verbs {

Stripes Stripes::of(uint32_t bytes, size_t pairs) {
  if (bytes < kMinStriped || pairs == 1) return {1, bytes};
  const auto count = std::min<uint32_t>(bytes / kMinPart, static_cast<uint32_t>(pairs));
  return {count, static_cast<uint32_t>(aligned_size((bytes + count - 1) / count))};
}

void SendOrder::add(uint32_t completions, WriteKind kind) {
  window_[sent_++ % window_.size()] = {static_cast<uint8_t>(completions), kind};
}

std::optional<WriteKind> SendOrder::take_complete() {
  const SentWrite& next = window_[complete_ % window_.size()];
  if (complete_ == sent_ || next.left != 0) return std::nullopt;
  ++complete_;
  return next.kind;
}

/// The peer cannot leave out a write that begins on this pair, so its number tells which one is meant.
Status ArrivalOrder::add(size_t pair, Immediate said, uint32_t bytes) {
  const size_t pairs = next_.size();
  const uint64_t next = next_[pair];
  const uint64_t write = next + (said.number - next) % Immediate::kNumbers;
  const uint64_t last = next + (pair + pairs - next % pairs) % pairs;
  if (write > last || write - taken_ >= window_.size())
    return error(ErrorKind::MessageBroken, "the peer says that it made write {} (modulo {}) instead of {}",
                 said.number, Immediate::kNumbers, last);
  PartialWrite& partial = window_[write % window_.size()];
  const size_t part = (pair + pairs - write % pairs) % pairs;
  const bool fits =
      part < said.parts && said.parts <= pairs && (partial.parts == 0 || partial.parts == said.parts);
  if (!fits)
    return error(ErrorKind::MessageBroken, "part {} of write {} says that there are {}", part + 1, write,
                 said.parts);
  next_[pair] = write + 1;
  partial.parts = said.parts;
  partial.write.bytes += bytes;
  partial.write.given_back = said.given_back;
  partial.write.is_notice = said.is_notice;
  ++partial.arrived;
  return {};
}

std::optional<ArrivalOrder::ArrivedWrite> ArrivalOrder::take_arrived() {
  PartialWrite& partial = window_[taken_ % window_.size()];
  if (partial.parts == 0 || partial.arrived != partial.parts) return std::nullopt;
  ++taken_;
  return std::exchange(partial, {}).write;
}

}  // namespace rondo::verbs
