// SPDX-License-Identifier: Apache-2.0
// hwloc's matrix NVLinkBandwidth, in MB/s per direction, to links of GPUs.
#pragma once

#include "hwloc_objects.h"

namespace rondo {

/// `matrix` is a <distances2> or <distances2hetero>. InvalidArgument, with file, line and what was expected,
/// if it is not a matrix of the objects.
Status add_hwloc_nvlinks(const XmlDocument& document, pugi::xml_node matrix, const HwlocObjects& objects,
                         Machine& machine);

}  // namespace rondo
