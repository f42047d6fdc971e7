// SPDX-License-Identifier: Apache-2.0
// RasService: what a process has to answer NCCL's client `ncclras`: a listener on TCP port 28028, which all
// processes of a user share, and an abstract Unix name at which they ask one another. Any thread but the
// service thread.
#pragma once

#include <memory>

#include "net/event_loop.h"

namespace rondo {

class RasServer;
class TextServer;

class RasService {
 public:
  /// Null if wanted_ras() is nothing.
  static std::unique_ptr<RasService> start(EventLoop& event_loop);
  ~RasService();

 private:
  RasService();

  std::unique_ptr<TextServer> told_;   // null: other processes cannot ask this one
  std::unique_ptr<RasServer> server_;  // null: this one answers no client
};

}  // namespace rondo
