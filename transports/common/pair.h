// Pair: what the two ends of a connection inside one process share, and the place where they meet. An end
// that comes first waits there under its ConnectionKey; the second takes the Pair away. Meeting is for any
// thread; a Pair is owned by its two ends together and freed with the later one.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "common/aligned_bytes.h"
#include "common/fifo.h"
#include "common/params.h"
#include "common/withdrawal.h"

namespace rondo {

/// One direction.
struct PairedFifo {
  std::vector<SlotHeader> headers;
  ReleasedCounter released;
  AlignedBytes memory;  // of the slots; local: made by the sender when it first needs it, and only its own
  WithdrawalWords withdrawal;

  /// `slots`: null where messages go by address.
  FifoLayout layout(const AgreedParams& params, std::byte* slots = nullptr);
};

struct Pair {
  Pair(const AgreedParams& of_first, bool with_memory);

  AgreedParams params;             // the first end's; both ends' when they agree
  AgreedParams refused;            // the second end's, when they don't
  std::array<PairedFifo, 2> fifo;  // [0] from the dialler to the acceptor, [1] back
  enum class Meeting { OneHere, BothHere, Refused };
  std::atomic<Meeting> meeting = Meeting::OneHere;

  PairedFifo& outgoing(bool dials) { return fifo[dials ? 0 : 1]; }
  PairedFifo& incoming(bool dials) { return fifo[dials ? 1 : 0]; }
  bool both_here() const;
  /// What the first end says of a second one with other numbers.
  Status status() const;
};

/// Where ends meet; each in-process transport has its own.
class MeetingPlace {
 public:
  /// `with_memory`: Pairs come with memory for their slots.
  explicit MeetingPlace(bool with_memory);
  ~MeetingPlace();

  /// The Pair of `key`, made by whichever end comes first. `dials`: the dialling end.
  Result<std::shared_ptr<Pair>> meet(const ConnectionKey& key, bool dials, const ConnectionParams& params);

 private:
  struct Waiting;
  bool with_memory_;
  std::unique_ptr<Waiting> waiting_;
};

}  // namespace rondo
