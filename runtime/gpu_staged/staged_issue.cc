// SPDX-License-Identifier: Apache-2.0
#include "staged_issue.h"

#include <algorithm>

#include "gpu/device.h"
#include "gpu/shared_memory.h"
#include "gpu/stream.h"

namespace rondo {
namespace {

using LocalCall = LocalGroup::LocalCall;
using WordType = gpu::WordOperation::Type;

const StagedPart& part_of(const LocalCall& local_call) {
  return *static_cast<const StagedPart*>(local_call.payload);
}

/// The ranks of this process that share a device. One stream carries all of them, so stream order replaces
/// the words between them.
class DeviceStream {
 public:
  DeviceStream(const LocalCall& leader, std::span<const LocalCall> local_calls)
      : device_(leader.device), stream_(leader.stream) {
    for (const LocalCall& local_call : local_calls)
      if (local_call.device == device_) members_.push_back({&local_call, &part_of(local_call), {}});
  }

  Status begin() {
    const gpu::Current current(device_);
    RONDO_TRY(current.status());
    for (const Member& member : members_) *member.part->latest_tail = tail();
    RONDO_TRY(tail()->enter(stream_));
    for (const Member& member : members_) write(&member.part->mappings->words.rank(member.rank()).busy, 1);
    return {};
  }

  Status produce(size_t index) {
    for (Member& member : members_)
      if (const StagedRound* round = member.round(index)) wait_for_readers(member, round->slot);
    RONDO_TRY(launch(index, &StagedRound::produce));
    for (Member& member : members_) {
      const StagedRound* round = member.round(index);
      if (round == nullptr) continue;
      for (const int reader : others(round->readers)) {
        write(member.word(Token::Ready, round->slot, member.rank(), reader), 1);
        member.reading[round->slot].push_back(reader);
      }
    }
    return {};
  }

  Status consume(size_t index) {
    for (const Member& member : members_)
      if (const StagedRound* round = member.round(index))
        for (const int writer : others(round->writers))
          take(member.word(Token::Ready, round->slot, writer, member.rank()));
    RONDO_TRY(launch(index, &StagedRound::consume));
    for (const Member& member : members_)
      if (const StagedRound* round = member.round(index))
        for (const int writer : others(round->writers))
          write(member.word(Token::Done, round->slot, member.rank(), writer), 1);
    return {};
  }

  Status end() {
    for (Member& member : members_) {
      for (int slot = 0; slot < kSlots; ++slot) wait_for_readers(member, slot);
      write(&member.part->mappings->words.rank(member.rank()).busy, 0);
    }
    const gpu::Current current(device_);
    RONDO_TRY(current.status());
    RONDO_TRY(flush());
    return tail()->leave(stream_);
  }

  size_t rounds() const {
    size_t most = 0;
    for (const Member& member : members_) most = std::max(most, member.part->rounds.size());
    return most;
  }

 private:
  struct Member {
    const LocalCall* local_call;
    const StagedPart* part;
    std::vector<int> reading[kSlots];  // ranks that have not yet released the slot

    int rank() const { return local_call->rank; }
    const StagedRound* round(size_t index) const {
      return index < part->rounds.size() ? &part->rounds[index] : nullptr;
    }
    uint32_t* word(Token token, int slot, int from, int to) const {
      return part->mappings->words.word(token, slot, from, to);
    }
  };

  const std::shared_ptr<StreamTail>& tail() const { return members_.front().part->own_tail; }

  std::vector<int> others(const std::vector<int>& ranks) const {
    std::vector<int> found;
    for (const int rank : ranks)
      if (std::none_of(members_.begin(), members_.end(),
                       [&](const Member& member) { return member.rank() == rank; }))
        found.push_back(rank);
    return found;
  }

  void write(uint32_t* word, uint32_t value) { operations_.push_back({WordType::Write, word, value}); }
  void take(uint32_t* word) {
    operations_.push_back({WordType::Wait, word, 1});
    write(word, 0);
  }
  void wait_for_readers(Member& member, int slot) {
    for (const int reader : member.reading[slot]) take(member.word(Token::Done, slot, reader, member.rank()));
    member.reading[slot].clear();
  }

  Status flush() {
    RONDO_TRY(gpu::operate(stream_, operations_));
    operations_.clear();
    return {};
  }
  Status launch(size_t index, std::vector<DeviceFolds> StagedRound::*phase) {
    const gpu::Current current(device_);
    RONDO_TRY(current.status());
    RONDO_TRY(flush());
    for (const Member& member : members_)
      if (const StagedRound* round = member.round(index))
        for (const DeviceFolds& folds : round->*phase) RONDO_TRY(folds.launch(device_, stream_));
    return {};
  }

  int device_;
  gpu::Stream stream_;
  std::vector<Member> members_;
  std::vector<gpu::WordOperation> operations_;  // not yet enqueued on the stream
};

}  // namespace

/// Issues each round on all devices before the next: one device's queue may stay full until another device
/// has been issued the work that it waits for.
Status issue_staged(std::span<const LocalCall> local_calls) {
  RONDO_TRY(check_one_graph(local_calls));
  return issue_in_order(local_calls, [&](std::span<const LocalCall> leaders) -> Status {
    std::vector<DeviceStream> teams;
    size_t rounds = 0;
    for (const LocalCall& leader : leaders) {
      teams.emplace_back(leader, local_calls);
      rounds = std::max(rounds, teams.back().rounds());
      RONDO_TRY(teams.back().begin());
    }
    for (size_t index = 0; index < rounds; ++index) {
      for (DeviceStream& team : teams) RONDO_TRY(team.produce(index));
      for (DeviceStream& team : teams) RONDO_TRY(team.consume(index));
    }
    for (DeviceStream& team : teams) RONDO_TRY(team.end());
    return {};
  });
}

Status StreamTail::enter(gpu::Stream stream) {
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  const std::lock_guard lock(mutex_);
  if (capture != 0) return captured_.made && capture == capture_ ? captured_.event.hold(stream) : Status();
  return direct_.made ? direct_.event.hold(stream) : Status();
}

Status StreamTail::leave(gpu::Stream stream) {
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  const std::lock_guard lock(mutex_);
  if (capture == 0) return record(direct_, stream);
  capture_ = capture;
  return record(captured_, stream);
}

Status StreamTail::record(Mark& mark, gpu::Stream stream) const {
  const gpu::OutsideCapture outside;
  if (!mark.made) {
    RONDO_TRY_ASSIGN(mark.event, gpu::Event::create(device_));
    mark.made = true;
  }
  return mark.event.record(stream);
}

Result<bool> StreamTail::passed() {
  const gpu::OutsideCapture outside;
  const std::lock_guard lock(mutex_);
  if (!direct_.made) return true;
  return direct_.event.complete();
}

}  // namespace rondo
