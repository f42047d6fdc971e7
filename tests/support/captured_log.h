// SPDX-License-Identifier: Apache-2.0
// What a piece of code logs that runs in a process of its own.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "catch.h"
#include "folder.h"
#include "process.h"

namespace rondo::test {

/// `in_process` runs what it is given in a process of its own, and says how it failed, which it must not.
template <typename InProcess>
std::string captured_log(InProcess&& in_process, const std::function<void()>& body) {
  const Folder folder;
  const std::string path = folder.path() + "/log";
  const std::string failure = in_process([&] {
    const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    require(::dup2(log, STDERR_FILENO) >= 0, "no log");
    body();
  });
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  INFO(text.str());
  CHECK(failure == "");
  return text.str();
}

}  // namespace rondo::test
