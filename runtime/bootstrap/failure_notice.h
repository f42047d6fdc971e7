// SPDX-License-Identifier: Apache-2.0
// FailureNotice: the message along the control tree that something failed or that a rank is leaving. Plain
// data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/byte_codec.h"
#include "base/status.h"

namespace rondo {

/// A communicator that a rank has ended.
struct EndedComm {
  uint64_t communicator = 0;
  uint32_t latest = 0;  // the sequence number of the rank's last call on it
  uint32_t left = 0;    // 1: by rondo_leave()
};

struct FailureNotice {
  uint64_t communicator = 0;  // 0: a rank is gone, in all its communicators
  int32_t rank = -1;          // the rank that is gone, in the session
  Code code = Code::Ok;
  std::string text;
  std::vector<EndedComm> ended;  // of a departure: the latest communicators that the rank has ended

  static FailureNotice of_rank(int rank, const Status& cause) {
    return {0, rank, cause.code(), cause.text(), {}};
  }
  /// The rank is leaving without a failure.
  static FailureNotice of_departure(int rank, std::vector<EndedComm> ended) {
    return {0, rank, Code::Ok, {}, std::move(ended)};
  }
  static FailureNotice of_communicator(uint64_t communicator, const Status& cause) {
    return {communicator, -1, cause.code(), cause.text(), {}};
  }

  bool is_departure() const { return code == Code::Ok; }
  Status status() const { return Status::of_text(code, text); }
  ByteWriter written() const {
    ByteWriter writer;
    writer.put(communicator).put(rank).put(code).put_text(text).put(static_cast<uint32_t>(ended.size()));
    for (const EndedComm& one : ended) writer.put(one);
    return writer;
  }
  static FailureNotice read(ByteReader& reader) {
    FailureNotice notice;
    notice.communicator = reader.get<uint64_t>();
    notice.rank = reader.get<int32_t>();
    notice.code = reader.get<Code>();
    notice.text = reader.get_text();
    const auto count = reader.get<uint32_t>();
    for (uint32_t i = 0; i < count && reader.ok(); ++i) notice.ended.push_back(reader.get<EndedComm>());
    return notice;
  }
};

}  // namespace rondo
