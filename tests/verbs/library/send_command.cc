// SPDX-License-Identifier: Apache-2.0
#include "send_command.h"

#include <cerrno>
#include <cstdio>
#include <memory>

#include "socket.h"
#include "wire.h"

namespace rondo::fabric {

int send_command(const std::string& folder, const std::string& text) {
  const auto request = std::make_unique<Request>();
  const auto reply = std::make_unique<Reply>();
  std::vector<Descriptor> fds;
  request->call = Call::Command;
  std::snprintf(request->text, sizeof request->text, "%s", text.c_str());
  const Descriptor socket = connect_to(folder + "/fabric");
  if (socket.get() < 0) return errno;
  if (!send_message(socket.get(), request.get(), sizeof *request) ||
      receive_message(socket.get(), reply.get(), sizeof *reply, fds) != sizeof *reply)
    return ECONNRESET;
  return reply->error;
}

}  // namespace rondo::fabric
