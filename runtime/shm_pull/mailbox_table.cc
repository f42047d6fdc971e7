// SPDX-License-Identifier: Apache-2.0
#include "mailbox_table.h"

#include <atomic>

namespace rondo {

std::optional<Signature> Mailbox::signature_at_rest(uint64_t* at) {
  *at = std::atomic_ref(ready).load(std::memory_order_acquire);
  Words seen;
  for (size_t i = 0; i < seen.size(); ++i)
    seen[i] = std::atomic_ref(words[i]).load(std::memory_order_acquire);
  if (*at == 0 || std::atomic_ref(ready).load(std::memory_order_relaxed) != *at) return std::nullopt;
  return std::bit_cast<Signature>(seen);
}

void MailboxTable::touch_posts() const {
  for (size_t at = 0; at < posts_end(); at += kPageBytes)
    std::atomic_ref(*reinterpret_cast<uint64_t*>(memory_ + at)).load(std::memory_order_relaxed);
}

void MailboxTable::touch_bulk(int rank, int first, int end, size_t touched, size_t bytes) const {
  const size_t from = (touched + kPageBytes - 1) / kPageBytes * kPageBytes;
  for (int slot = first; slot < end; ++slot) {
    volatile std::byte* pages = bulk(rank, slot);
    for (size_t at = from; at < bytes; at += kPageBytes) pages[at] = std::byte{};
  }
}

}  // namespace rondo
