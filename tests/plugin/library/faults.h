// SPDX-License-Identifier: Apache-2.0
// What the tests have the plugin do wrong, and its random choices. Used under the network's lock.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace rondo::test_net {

class Faults {
 public:
  /// Reads RONDO_TEST_NET_FAULT, as NAME or NAME:N, and RONDO_TEST_NET_SEED.
  Faults();

  /// Whether this fault was requested.
  bool has(const std::string& name) const { return name_ == name; }
  /// Whether it was, and this is the N-th call with the name.
  bool strikes(const std::string& name) { return has(name) && ++calls_ == number_; }
  /// Whether it was, and this is the N-th call with the name or a later one.
  bool has_struck(const std::string& name) { return has(name) && ++calls_ >= number_; }
  /// A number below `end`; always 0 without a seed.
  uint32_t draw(uint32_t end);

 private:
  std::string name_;
  uint64_t number_ = 1;
  uint64_t calls_ = 0;
  uint64_t random_ = 0;
};

}  // namespace rondo::test_net
