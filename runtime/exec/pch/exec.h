// Compiled once for all files of this folder, which spend most of their time in these headers otherwise.
#ifndef RONDO_PCH_EXEC_H
#define RONDO_PCH_EXEC_H

#include "base/precompiled.h"
#include "schedule/schedule.h"
#include "transports/connection.h"

#endif
