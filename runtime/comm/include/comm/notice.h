// Notice: the news that something failed, as it goes along the control tree. Plain data.
#pragma once

#include "base/status.h"
#include "comm/bytes.h"

namespace rondo {

struct Notice {
  uint64_t communicator = 0;  // 0: a rank is gone, whatever communicator it was in
  int32_t rank = -1;          // the rank that is gone, in the session
  Code code = Code::Ok;
  std::string text;

  static Notice of_rank(int rank, const Status& cause) { return {0, rank, cause.code(), cause.message()}; }
  static Notice of_communicator(uint64_t communicator, const Status& cause) {
    return {communicator, -1, cause.code(), cause.message()};
  }

  Status status() const { return Status(code, text); }
  ByteWriter written() const {
    ByteWriter writer;
    writer.put(communicator).put(rank).put(code).put_text(text);
    return writer;
  }
  static Notice read(ByteReader& reader) {
    Notice notice;
    notice.communicator = reader.get<uint64_t>();
    notice.rank = reader.get<int32_t>();
    notice.code = reader.get<Code>();
    notice.text = reader.get_text();
    return notice;
  }
};

}  // namespace rondo
