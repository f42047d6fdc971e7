#include "comm/phased_issue.h"

#include <algorithm>

#include "gpu/device.h"
#include "gpu/words.h"

namespace rondo {
namespace {

using Seat = Crew::Seat;
using WordKind = gpu::WordOperation::Kind;

const PhasedPart& part_of(const Seat& seat) { return *static_cast<const PhasedPart*>(seat.payload); }

/// Ranks of this process that share a device: one stream carries all of them, whose order serves them as
/// words do others.
class Team {
 public:
  Team(const Seat& leader, std::span<const Seat> seats) : device_(leader.device), stream_(leader.stream) {
    for (const Seat& seat : seats)
      if (seat.device == device_) members_.push_back({&seat, &part_of(seat), {}});
  }

  Status begin() {
    const gpu::Current current(device_);
    RONDO_TRY(current.status());
    for (const Mate& mate : members_) *mate.part->latest_tail = tail();
    RONDO_TRY(tail()->enter(stream_));
    for (const Mate& mate : members_) write(&mate.part->neighbourhood->words.rank(mate.rank()).busy, 1);
    return {};
  }

  Status produce(size_t index) {
    for (Mate& mate : members_)
      if (const PhasedRound* round = mate.round(index)) wait_for_readers(mate, round->slot);
    RONDO_TRY(launch(index, &PhasedRound::produce));
    for (Mate& mate : members_) {
      const PhasedRound* round = mate.round(index);
      if (round == nullptr) continue;
      for (const int reader : others(round->readers)) {
        write(mate.word(Token::Ready, round->slot, mate.rank(), reader), 1);
        mate.reading[round->slot].push_back(reader);
      }
    }
    return {};
  }

  Status consume(size_t index) {
    for (const Mate& mate : members_)
      if (const PhasedRound* round = mate.round(index))
        for (const int writer : others(round->writers))
          take(mate.word(Token::Ready, round->slot, writer, mate.rank()));
    RONDO_TRY(launch(index, &PhasedRound::consume));
    for (const Mate& mate : members_)
      if (const PhasedRound* round = mate.round(index))
        for (const int writer : others(round->writers))
          write(mate.word(Token::Done, round->slot, mate.rank(), writer), 1);
    return {};
  }

  Status end() {
    for (Mate& mate : members_) {
      for (int slot = 0; slot < kSlots; ++slot) wait_for_readers(mate, slot);
      write(&mate.part->neighbourhood->words.rank(mate.rank()).busy, 0);
    }
    const gpu::Current current(device_);
    RONDO_TRY(current.status());
    RONDO_TRY(flush());
    return tail()->leave(stream_);
  }

  size_t rounds() const {
    size_t most = 0;
    for (const Mate& mate : members_) most = std::max(most, mate.part->rounds.size());
    return most;
  }

 private:
  struct Mate {
    const Seat* seat;
    const PhasedPart* part;
    std::vector<int> reading[kSlots];  // who has not said yet that it is done with the slot

    int rank() const { return seat->rank; }
    const PhasedRound* round(size_t index) const {
      return index < part->rounds.size() ? &part->rounds[index] : nullptr;
    }
    uint32_t* word(Token token, int slot, int from, int to) const {
      return part->neighbourhood->words.word(token, slot, from, to);
    }
  };

  const std::shared_ptr<StreamTail>& tail() const { return members_.front().part->own_tail; }

  std::vector<int> others(const std::vector<int>& ranks) const {
    std::vector<int> found;
    for (const int rank : ranks)
      if (std::none_of(members_.begin(), members_.end(),
                       [&](const Mate& mate) { return mate.rank() == rank; }))
        found.push_back(rank);
    return found;
  }

  void write(uint32_t* word, uint32_t value) { operations_.push_back({WordKind::Write, word, value}); }
  void take(uint32_t* word) {
    operations_.push_back({WordKind::Wait, word, 1});
    write(word, 0);
  }
  void wait_for_readers(Mate& mate, int slot) {
    for (const int reader : mate.reading[slot]) take(mate.word(Token::Done, slot, reader, mate.rank()));
    mate.reading[slot].clear();
  }

  Status flush() {
    RONDO_TRY(gpu::operate(stream_, operations_));
    operations_.clear();
    return {};
  }
  Status launch(size_t index, std::vector<DeviceFolds> PhasedRound::*phase) {
    const gpu::Current current(device_);
    RONDO_TRY(current.status());
    RONDO_TRY(flush());
    for (const Mate& mate : members_)
      if (const PhasedRound* round = mate.round(index))
        for (const DeviceFolds& folds : round->*phase) RONDO_TRY(folds.launch(device_, stream_));
    return {};
  }

  int device_;
  gpu::Stream stream_;
  std::vector<Mate> members_;
  std::vector<gpu::WordOperation> operations_;  // of the stream, not given to it yet
};

}  // namespace

/// Round by round, over all devices: the queue of one may be full until another has got what it waits for.
Status issue_phased(std::span<const Seat> seats) {
  return issue_in_order(seats, [&](std::span<const Seat> leaders) -> Status {
    std::vector<Team> teams;
    size_t rounds = 0;
    for (const Seat& leader : leaders) {
      teams.emplace_back(leader, seats);
      rounds = std::max(rounds, teams.back().rounds());
      RONDO_TRY(teams.back().begin());
    }
    for (size_t index = 0; index < rounds; ++index) {
      for (Team& team : teams) RONDO_TRY(team.produce(index));
      for (Team& team : teams) RONDO_TRY(team.consume(index));
    }
    for (Team& team : teams) RONDO_TRY(team.end());
    return {};
  });
}

}  // namespace rondo
