// SPDX-License-Identifier: Apache-2.0
#include "ras/service.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/log.h"
#include "census.h"
#include "net/paced_listeners.h"
#include "net/socket.h"
#include "net/text_server.h"
#include "ras/address.h"
#include "ras/options.h"
#include "server.h"

namespace rondo {
namespace {

constexpr int kSendBytes = 256 << 10;

/// Processes of this user may listen there too: the kernel gives each connection to one of them.
Result<Fd> listen_beside(const IpAddress& ip, uint16_t port) {
  const Address address = Address::tcp(ip, port);
  RONDO_TRY_ASSIGN(Fd fd, socket_for(address));
  const int one = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);  // refused by IPv4 sockets
  // Accepted connections have it too: what clients leave unread stays small, also after they are dropped.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 ||
      ::listen(fd.get(), PacedListeners::kBacklog) != 0)
    return system_error("cannot listen on " + address.text(), errno);
  return fd;
}

std::vector<Fd> listeners_at(const RasAddress& address) {
  std::vector<Fd> listeners;
  for (const IpAddress& ip : address.ips) {
    auto listener = listen_beside(ip, address.port);
    if (listener.ok())
      listeners.push_back(std::move(listener.value()));
    else
      log().debug("RAS: {}", listener.status().text());
  }
  return listeners;
}

std::unique_ptr<TextServer> tell_others(EventLoop& event_loop, const std::string& name) {
  auto listener = listen_unix(name, PacedListeners::kBacklog);
  if (!listener.ok()) {
    log().debug("RAS: other processes cannot ask this one: {}", listener.status().text());
    return nullptr;
  }
  return std::make_unique<TextServer>(event_loop, std::move(listener.value()), [] {
    return ras_bytes(ras_process(recorded_comms(), RasCensus::kMaxRanks));
  });
}

}  // namespace

RasService::RasService() = default;
RasService::~RasService() = default;

std::unique_ptr<RasService> RasService::start(EventLoop& event_loop) {
  auto options = wanted_ras();
  if (!options) return nullptr;
  std::unique_ptr<RasService> service(new RasService);
  const std::string name = new_ras_name();
  service->told_ = tell_others(event_loop, name);
  const auto address = parse_ras_address(options->address);
  if (!address) return service;
  if (auto listeners = listeners_at(*address); !listeners.empty())
    service->server_ =
        std::make_unique<RasServer>(event_loop, std::move(listeners), std::move(*options), name);
  return service;
}

}  // namespace rondo
