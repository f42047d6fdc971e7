// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer slows this build down; if so, long tests use fewer ranks.
#pragma once

#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RONDO_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RONDO_SANITIZED 1
#endif

namespace rondo {

#if defined(RONDO_SANITIZED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
/// Whether long tests take fewer ranks and trials: under sanitizers, or if RONDO_TEST_BRIEF is set, as
/// .ci/run does.
inline bool brief() { return kSanitized || std::getenv("RONDO_TEST_BRIEF") != nullptr; }

/// It sees the threads of one process, and nothing between processes.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace rondo
