// Compiled once for all files of this folder, which spend most of their time in these headers otherwise.
#ifndef RONDO_PCH_COMM_H
#define RONDO_PCH_COMM_H

#include "base/log.h"
#include "base/precompiled.h"
#include "comm/communicator.h"

#endif
