// Compiled once for all files of this folder, which spend most of their time in these headers otherwise.
#ifndef RONDO_PCH_ALGORITHMS_H
#define RONDO_PCH_ALGORITHMS_H

#include "algorithms/algorithm.h"
#include "base/precompiled.h"

#endif
