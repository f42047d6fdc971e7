// SPDX-License-Identifier: Apache-2.0
// Compiled once for all files of this folder, which otherwise spend most of their time in these headers.
#ifndef RONDO_PCH_SCHEDULE_H
#define RONDO_PCH_SCHEDULE_H

#include "base/precompiled.h"
#include "schedule/schedule.h"

#endif
