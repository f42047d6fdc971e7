// SPDX-License-Identifier: Apache-2.0
// Sends and receives that several tests make.
#pragma once

#include "processes.h"

namespace rondo::test {

inline constexpr int kTag = 7;

inline int next(const Rank& rank) { return (rank.rank + 1) % rank.size; }
inline int previous(const Rank& rank) { return (rank.rank + rank.size - 1) % rank.size; }

inline void send(const Rank& rank, const int64_t* data, size_t count, int peer, rondo_stream_t stream,
                 int tag = kTag) {
  check(rondo_send(data, count, RONDO_INT64, peer, tag, rank.comm, stream), rank.comm);
}
inline void recv(const Rank& rank, int64_t* data, size_t count, int peer, rondo_stream_t stream,
                 int tag = kTag) {
  check(rondo_recv(data, count, RONDO_INT64, peer, tag, rank.comm, stream, nullptr), rank.comm);
}

/// Sends every rank's `from` to the next rank's `to`; the receive is issued first.
inline void shift(const Rank& rank, const int64_t* from, int64_t* to, size_t count, rondo_stream_t stream) {
  check(rondo_group_start());
  recv(rank, to, count, previous(rank), stream);
  send(rank, from, count, next(rank), stream);
  check(rondo_group_end(), rank.comm);
}

inline const std::vector<size_t> kCounts{0, 1, 1000, 8192, 200'001, 1'500'000};

/// Shifts with and without a stream.
inline void shift_all(const Rank& rank, Device& device, rondo_stream_t stream) {
  for (const size_t count : kCounts) {
    int64_t* const from = device.ints(count + 1, rank.rank);
    int64_t* const to = device.ints(count + 1, -1);
    shift(rank, from, to, count, stream);
    device.drain_s();
    require(device.all_are(to, count, previous(rank)), std::to_string(count) + " elements");
    require(device.read(to + count, 1)[0] == -1, "something behind the message");
  }
}

}  // namespace rondo::test
