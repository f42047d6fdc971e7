// Issuing of phased calls: kernels that wait for nothing, and between them words that streams write and wait
// for.
//
//     produce | ready -> readers | wait for writers' ready, back to 0 | consume | done -> writers | ...
//
// A slot is filled again when all its readers are done with it; at its end a call has waited for all of them,
// so that every word is 0 again and a graph can replay it. Any thread.
#pragma once

#include <memory>

#include "comm/crew.h"
#include "comm/introduction.h"
#include "comm/phased_plan.h"
#include "comm/stream_tail.h"

namespace rondo {

/// What issue_phased() needs of a rank: a Seat's payload.
struct PhasedPart {
  const Neighbourhood* neighbourhood = nullptr;
  std::vector<PhasedRound> rounds;
  std::shared_ptr<StreamTail> own_tail;
  std::shared_ptr<StreamTail>* latest_tail =
      nullptr;  // of the rank whose stream stands for the device; set here
};

/// A Crew::Issue; payloads are PhasedParts.
Status issue_phased(std::span<const Crew::Seat> seats);

}  // namespace rondo
