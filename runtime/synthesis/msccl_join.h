// SPDX-License-Identifier: Apache-2.0
// Joins the chunks of a step into one move, and so into one message, where a Schedule's Step can move them
// together: as many messages are under way as in the file, and connections need no more slots. Pure function:
// any thread.
#pragma once

#include "msccl_run.h"

namespace rondo {

/// At most as many chunks as a step of MSCCL's runtime moves: slots have to hold the chunks of a message.
inline constexpr int kMaxJoined = 71;

/// Cuts the moves of a trace into those that Steps can make. A message is joined at both ends or at neither,
/// so a step that passes data on is joined only if both its messages are. Unsupported if too many are left.
Status join_chunks(const MscclProgram& program, MscclTrace& trace);

}  // namespace rondo
