// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <cstdlib>

namespace rondo::test_net {

Faults::Faults() {
  const char* const fault = std::getenv("RONDO_TEST_NET_FAULT");
  name_ = fault != nullptr ? fault : "";
  const size_t colon = name_.find(':');
  if (colon != std::string::npos) {
    number_ = std::strtoull(name_.c_str() + colon + 1, nullptr, 10);
    name_.resize(colon);
  }
  const char* const seed = std::getenv("RONDO_TEST_NET_SEED");
  random_ = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
}

uint32_t Faults::draw(uint32_t end) {
  if (random_ == 0) return 0;
  random_ = random_ * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(random_ >> 33) % end;
}

}  // namespace rondo::test_net
