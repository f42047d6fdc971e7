// SPDX-License-Identifier: Apache-2.0
#include "msccl_data.h"

#include <limits>

namespace rondo {

MscclMemory& MscclCells::at(Key at) {
  auto& cells = cells_[at.first];
  const auto index = static_cast<size_t>(at.second);
  if (index >= cells.size()) cells.resize(index + 1);
  return cells[index];
}

void MscclMessages::push(MscclFifo& fifo, const Content& content, const MscclPart& sent) {
  constexpr int kMaxCount = std::numeric_limits<uint16_t>::max();
  ++fifo.chunks;
  if (fifo.last >= 0) {
    MscclMessage& last = messages_[static_cast<size_t>(fifo.last)];
    if (last.content.after(last.count) == content && last.move == sent.move &&
        last.first + last.count == sent.first && last.count < kMaxCount) {
      ++last.count;
      return;
    }
  }
  int made = free_;
  if (made >= 0) {
    free_ = messages_[static_cast<size_t>(made)].next;
  } else {
    made = static_cast<int>(messages_.size());
    messages_.emplace_back();
  }
  messages_[static_cast<size_t>(made)] = {content, sent.move, -1, static_cast<uint16_t>(sent.first), 1};
  (fifo.last < 0 ? fifo.first : messages_[static_cast<size_t>(fifo.last)].next) = made;
  fifo.last = made;
}

std::pair<Content, MscclPart> MscclMessages::pop(MscclFifo& fifo) {
  const int taken = fifo.first;
  MscclMessage& message = messages_[static_cast<size_t>(taken)];
  const std::pair<Content, MscclPart> popped{message.content,
                                             {.gpu = -1, .move = message.move, .first = message.first}};
  --fifo.chunks;
  if (--message.count != 0) {
    message.content = message.content.after(1);
    ++message.first;
    return popped;
  }
  fifo.first = message.next;
  if (fifo.first < 0) fifo.last = -1;
  message.next = std::exchange(free_, taken);
  return popped;
}

}  // namespace rondo
