// SPDX-License-Identifier: Apache-2.0
#include "msccl_data.h"

namespace rondo {
namespace {

/// What is in a run of chunks from one of them on.
MscclMemory from(const MscclMemory& run, int chunk) {
  MscclMemory rest{run.content, place_after(run.place, chunk), run.count - chunk};
  if (rest.content) rest.content->length += chunk;
  return rest;
}

bool continues(const MscclMemory& run, const MscclMemory& next) {
  return run.content && next.content && run.content->after(run.count) == *next.content &&
         is_same_place(place_after(run.place, run.count), next.place);
}

}  // namespace

bool MscclCells::covers(const Runs::value_type& run, Key at) {
  const auto& [first, memory] = run;
  return first.first == at.first && first.second <= at.second && at.second < first.second + memory.count;
}

std::optional<MscclMemory> MscclCells::find(Key at) const {
  const auto next = runs_.upper_bound(at);
  if (next == runs_.begin() || !covers(*std::prev(next), at)) return std::nullopt;
  const auto& [first, run] = *std::prev(next);
  MscclMemory found = from(run, at.second - first.second);
  found.count = 1;
  return found;
}

void MscclCells::store(Key at, const MscclMemory& chunk) {
  const auto next = runs_.upper_bound(at);
  auto run = before(next);
  if (run != runs_.end() && covers(*run, at)) {  // keeps what comes before it, and what comes after it
    const int offset = at.second - run->first.second;
    if (offset + 1 < run->second.count)
      runs_.emplace_hint(next, Key{at.first, at.second + 1}, from(run->second, offset + 1));
    run->second.count = offset;
    if (offset == 0) run = before(runs_.erase(run));
  }
  const bool is_next = run != runs_.end() && run->first.first == at.first &&
                       run->first.second + run->second.count == at.second;
  if (is_next && continues(run->second, chunk))
    ++run->second.count;
  else
    runs_.emplace(at, chunk);
}

void MscclFifo::push(const Content& content, const MscclPart& sent) {
  ++chunks_;
  if (!messages_.empty()) {
    MscclMessages& last = messages_.back();
    if (last.content.after(last.count) == content && last.sent.move == sent.move &&
        last.sent.first + last.count == sent.first) {
      ++last.count;
      return;
    }
  }
  messages_.push_back({content, sent});
}

std::pair<Content, MscclPart> MscclFifo::pop() {
  MscclMessages& first = messages_.front();
  const std::pair<Content, MscclPart> popped{first.content, first.sent};
  --chunks_;
  if (--first.count == 0) {
    messages_.pop_front();
  } else {
    ++first.content.length;
    ++first.sent.first;
  }
  return popped;
}

}  // namespace rondo
