// SPDX-License-Identifier: Apache-2.0
// Precompiled header: otherwise the files of this folder spend most of their compile time in these headers.
#ifndef RONDO_PCH_PERF_H
#define RONDO_PCH_PERF_H

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#endif
