// SPDX-License-Identifier: Apache-2.0
#include "algorithms.h"
#include "rondo/rondo.h"

namespace rondo::perf {

std::vector<std::string> algorithm_names(Collective collective) {
  const char* list = nullptr;
  const std::string name(collective_info(collective).name);
  if (rondo_algorithm_names(name.c_str(), &list) != RONDO_OK) return {};
  std::vector<std::string> names;
  for (std::string rest = list; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    names.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return names;
}

}  // namespace rondo::perf
