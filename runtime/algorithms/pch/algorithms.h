// SPDX-License-Identifier: Apache-2.0
// Compiled once for all files of this folder, which otherwise spend most of their time in these headers.
#ifndef RONDO_PCH_ALGORITHMS_H
#define RONDO_PCH_ALGORITHMS_H

#include "algorithms/algorithm.h"
#include "base/precompiled.h"

#endif
