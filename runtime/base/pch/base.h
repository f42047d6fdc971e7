// Compiled once for all files of this folder, which spend most of their time in these headers otherwise.
#ifndef RONDO_PCH_BASE_H
#define RONDO_PCH_BASE_H

#include "base/precompiled.h"

#endif
