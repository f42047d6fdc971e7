// SPDX-License-Identifier: Apache-2.0
// How an end that cannot go on tells the other why, in the messages by which the two connect. Plain data, and
// checks of it: it comes from the peer. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace rondo {

/// Whether this message is the sender's last.
enum GivesUp : uint32_t {
  kGoesOn = 0,
  kRefuses = 1,  // the ends cannot be connected by this transport; they may use another
  kFails = 2,    // they must not: something is set that is wrong, or differs
};

/// Why the sender cannot go on; empty if it can.
using WireText = std::array<char, 512>;

WireText wire_text(const std::string& text);
/// Ends with the id, also if the sentence is cut: for reason_of().
WireText wire_text(const Status& reason);
/// The peer's reason, of the kind that the peer gave it.
Status reason_of(const WireText& text);

/// RemoteError that names the field and its value.
Status nonsense(const char* field, uint64_t value);
/// RemoteError if these are not what a peer may say.
Status check_giving_up(uint32_t gives_up, const WireText& reason);

}  // namespace rondo
