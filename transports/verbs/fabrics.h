// SPDX-License-Identifier: Apache-2.0
// Fabrics: by which kinds of addresses this process can be reached over its InfiniBand and RoCE ports, in so
// few bits that every rank can know them of every other. Two processes without a bit in common need not try.
#pragma once

#include "transports/transport.h"
#include "verbs/message_ring.h"
#include "verbs/settings.h"

namespace rondo::verbs {

/// The bits of the ports that the settings admit, and which of them a rank uses; none, and one warning that
/// says why, if there is a device and no port can be used. A port can be used if memory for a connection's
/// slots can be registered with its device. InvalidArgument if Rondo's settings name what is not there.
/// Without a device nothing is loaded. Any thread; opens devices, which may take long.
Result<Transport::OwnFabrics> find_fabrics(const VerbsSettings& settings, const RingLayout& layout);

}  // namespace rondo::verbs
