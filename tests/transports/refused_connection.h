// SPDX-License-Identifier: Apache-2.0
// RefusedConnection: a connection that both ends find impossible, in front of another one.
#pragma once

#include "transports/connection.h"

namespace rondo::test {

/// Connects nothing, and is refused after the last of its calls.
class RefusedConnection final : public Connection {
 public:
  RefusedConnection(size_t slot_bytes, int calls) : Connection(slot_bytes), calls_(calls) {}

  std::byte* acquire(size_t /*bytes*/) override {
    --calls_;
    return nullptr;
  }
  void commit(size_t /*bytes*/, const Signature& /*signature*/) override {}
  bool flushed() override {
    --calls_;
    return true;
  }
  const Arrival* peek() override {
    --calls_;
    return nullptr;
  }
  void release() override {}
  Status status() const override { return is_refused() ? error(Code::Unsupported, "no path") : Status(); }
  bool is_refused() const override { return calls_ <= 0; }
  Awaited awaited(Awaiting /*what*/) const override { return {}; }

 private:
  int calls_;
};

}  // namespace rondo::test
