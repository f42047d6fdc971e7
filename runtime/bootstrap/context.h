// SPDX-License-Identifier: Apache-2.0
// Context: the per-process state that all communicators share: the service thread and the listening sockets
// at which other ranks reach the process. Created at first use and destroyed with the last reference, leaving
// nothing behind. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/disowned.h"
#include "bootstrap/peer_info.h"
#include "net/event_loop.h"
#include "net/interfaces.h"
#include "net/listeners.h"
#include "ps_server.h"
#include "ras/service.h"

namespace rondo {

class Context {
 public:
  static Result<std::shared_ptr<Context>> get();
  ~Context();

  /// The PeerInfo of a rank of this process that has that GPU, or none; the caller fills in the rank.
  PeerInfo self(const PeerGpu& device = {}) const;
  const std::vector<Interface>& interfaces() const { return interfaces_; }
  EventLoop& event_loop() { return *event_loop_; }
  Listeners& listeners() { return *listeners_; }
  /// Null if rondo-ps does not see this process.
  PsServer* ps() { return ps_.get(); }

 private:
  Context() = default;
  Status listen();

  InUse in_use_;
  uint64_t process_ = 0;
  uint64_t host_ = 0;
  uint16_t tcp_port_ = 0;
  std::string host_name_;
  std::vector<Interface> interfaces_;
  UsableFabrics fabrics_;
  std::shared_ptr<const HostCosts> costs_;
  Fd tcp_listener_;
  Fd unix_listener_;
  std::unique_ptr<EventLoop> event_loop_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<PsServer> ps_;
  std::unique_ptr<RasService> ras_;  // null: NCCL's ncclras is not answered
};

}  // namespace rondo
