// Compiled once for all files of this folder, which spend most of their time in these headers otherwise.
#ifndef RONDO_PCH_SCHEDULE_H
#define RONDO_PCH_SCHEDULE_H

#include "base/precompiled.h"
#include "schedule/schedule.h"

#endif
