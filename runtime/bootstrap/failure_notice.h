// SPDX-License-Identifier: Apache-2.0
// FailureNotice: the message along the control tree that something failed or that a rank is leaving. Plain
// data.
#pragma once

#include "base/byte_codec.h"
#include "base/status.h"

namespace rondo {

struct FailureNotice {
  uint64_t communicator = 0;  // 0: a rank is gone, in all its communicators
  int32_t rank = -1;          // the rank that is gone, in the session
  Code code = Code::Ok;
  std::string text;

  static FailureNotice of_rank(int rank, const Status& cause) {
    return {0, rank, cause.code(), cause.message()};
  }
  /// The rank is leaving without a failure.
  static FailureNotice of_departure(int rank) { return {0, rank, Code::Ok, {}}; }
  static FailureNotice of_communicator(uint64_t communicator, const Status& cause) {
    return {communicator, -1, cause.code(), cause.message()};
  }

  bool is_departure() const { return code == Code::Ok; }
  Status status() const { return Status(code, text); }
  ByteWriter written() const {
    ByteWriter writer;
    writer.put(communicator).put(rank).put(code).put_text(text);
    return writer;
  }
  static FailureNotice read(ByteReader& reader) {
    FailureNotice notice;
    notice.communicator = reader.get<uint64_t>();
    notice.rank = reader.get<int32_t>();
    notice.code = reader.get<Code>();
    notice.text = reader.get_text();
    return notice;
  }
};

}  // namespace rondo
