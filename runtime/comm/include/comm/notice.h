// Notice: the news that something failed, or that a rank leaves, as it goes along the control tree. Plain
// data.
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
  /// It leaves, and nothing has failed.
  static Notice of_departure(int rank) { return {0, rank, Code::Ok, {}}; }
  static Notice of_communicator(uint64_t communicator, const Status& cause) {
    return {communicator, -1, cause.code(), cause.message()};
  }

  bool is_departure() const { return code == Code::Ok; }
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
