// SPDX-License-Identifier: Apache-2.0
/**
 * @file rondo.hpp
 * @brief Rondo for C++20: rondo.h with ownership, ranges, and types deduced. Header only.
 *
 *     auto world = rondo::Communicator::init();
 *     std::vector<float> gradient = ...;
 *     world.all_reduce(gradient, rondo::Op::avg);       // in place; throws rondo::Error
 *
 * The same names in rondo::nothrow return rondo::Result<T> and throw nothing:
 *
 *     auto world = rondo::nothrow::Communicator::init();
 *     if (!world) return report(world.error());
 *
 * docs/cxx.md describes all of it. What calls do, and what they require of ranks and threads, is as in
 * rondo.h.
 */
#pragma once

#include <rondo/cxx/communicator.hpp>
#include <rondo/cxx/group.hpp>

#include <string>

namespace rondo {

#ifdef __cpp_exceptions
using Calls = BasicCalls<Throwing>;                ///< See BasicCalls.
using Communicator = BasicCommunicator<Throwing>;  ///< See BasicCommunicator.
using Request = BasicRequest<Throwing>;            ///< See BasicRequest.
using Group = BasicGroup<Throwing>;                ///< See BasicGroup.
using Prepared = BasicPrepared<Throwing>;          ///< See BasicPrepared.
using Queue = BasicQueue<Throwing>;                ///< See BasicQueue.
using Event = BasicEvent<Throwing>;                ///< See BasicEvent.
using Registration = BasicRegistration<Throwing>;  ///< See BasicRegistration.
template <Element T>
using Memory = BasicMemory<Throwing, T>;  ///< See BasicMemory.
template <Element T>
using Reduction = BasicReduction<Throwing, T>;  ///< See BasicReduction.
#endif

/// The same classes, whose calls return their errors.
namespace nothrow {
using Calls = BasicCalls<Returning>;                ///< See BasicCalls.
using Communicator = BasicCommunicator<Returning>;  ///< See BasicCommunicator.
using Request = BasicRequest<Returning>;            ///< See BasicRequest.
using Group = BasicGroup<Returning>;                ///< See BasicGroup.
using Prepared = BasicPrepared<Returning>;          ///< See BasicPrepared.
using Queue = BasicQueue<Returning>;                ///< See BasicQueue.
using Event = BasicEvent<Returning>;                ///< See BasicEvent.
using Registration = BasicRegistration<Returning>;  ///< See BasicRegistration.
template <Element T>
using Memory = BasicMemory<Returning, T>;  ///< See BasicMemory.
template <Element T>
using Reduction = BasicReduction<Returning, T>;  ///< See BasicReduction.

/// See rondo::write_flight_file().
inline Result<void> write_flight_file(const char* file = nullptr) {
  return detail::checked(rondo_write_flight_file(file));
}
}  // namespace nothrow

#ifdef __cpp_exceptions
/// Writes the latest calls of each of this process's communicators to a file, for rondo-flight. `file`: its
/// path, in which marks such as %h stand for others; null: the one that RONDO_FLIGHT_FILE named.
inline void write_flight_file(const char* file = nullptr) { nothrow::write_flight_file(file).value(); }
#endif

/// The version of the loaded library, encoded as RONDO_VERSION is.
inline int library_version() noexcept {
  int version = 0;
  rondo_version(&version);
  return version;
}

}  // namespace rondo
