// SPDX-License-Identifier: Apache-2.0
// Precompiled for all files of this folder: most of their compile time goes into these headers.
#ifndef RONDO_PCH_TRANSPORTS_H
#define RONDO_PCH_TRANSPORTS_H

#include "base/precompiled.h"
#include "transports/connection.h"

#endif
