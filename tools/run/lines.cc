// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

namespace rondo::run {

std::string LinePrefixer::add(std::string_view bytes) {
  std::string out;
  for (size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;) {
    out.append(prefix_).append(partial_).append(bytes.substr(0, end + 1));
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
  partial_.append(bytes);
  if (partial_.size() > kLongest) out += finish();
  return out;
}

std::string LinePrefixer::finish() {
  if (partial_.empty()) return "";
  std::string line = prefix_ + partial_ + "\n";
  partial_.clear();
  return line;
}

}  // namespace rondo::run
