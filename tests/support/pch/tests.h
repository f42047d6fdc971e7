// SPDX-License-Identifier: Apache-2.0
// Compiled once for all tests: most of their compile time goes into these headers.
#ifndef RONDO_PCH_TESTS_H
#define RONDO_PCH_TESTS_H

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "catch.h"

#endif
