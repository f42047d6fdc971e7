// SPDX-License-Identifier: Apache-2.0
#include "algorithms.h"

#include <algorithm>

namespace rondo::perf {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

std::vector<std::string> chosen_algorithms(const std::vector<std::string>& words, Collective collective,
                                           const std::vector<std::string>& names) {
  if (words.empty()) return {""};
  std::vector<std::string> chosen;
  bool meant = false;  // some word refers to this collective
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? word : word.substr(equals + 1);
    if (equals != std::string::npos) {
      const CollectiveInfo* row = collective_by_name(word.substr(0, equals));
      if (row == nullptr || row->id != collective) continue;
    }
    meant = true;
    if (name != "all")
      add_once(chosen, name);
    else if (names.empty())
      add_once(chosen, "");
    else
      for (const std::string& known : names) add_once(chosen, known);
  }
  if (!meant) chosen.push_back("");
  return chosen;
}

}  // namespace rondo::perf
