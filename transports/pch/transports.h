// Compiled once for all files of this folder, which spend most of their time in these headers otherwise.
#ifndef RONDO_PCH_TRANSPORTS_H
#define RONDO_PCH_TRANSPORTS_H

#include "base/precompiled.h"
#include "transports/connection.h"

#endif
