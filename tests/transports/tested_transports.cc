// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <iostream>

#include "common/params.h"
#include "ends.h"
#include "process.h"
#include "refused_connection.h"
#include "transports/fallback.h"

namespace rondo::test {
namespace {

/// Why this host cannot use a transport; empty if it can.
std::string obstacle(const Transport& transport) {
  if (transport.fabrics == nullptr) return {};
  Ends ends;
  auto dialler = ends.connect(transport, small_params(), true);
  auto acceptor = ends.connect(transport, small_params(), false);
  Status failure = dialler.ok() ? acceptor.status() : dialler.status();
  if (failure.ok()) {
    ends.dialler = dialler.take();
    ends.acceptor = acceptor.take();
    eventually([&] {
      ends.acceptor->peek();
      const bool connected = ends.dialler->acquire() != nullptr;
      failure = ends.dialler->status();
      return connected || !failure.ok();
    });
  }
  return failure.code() == Code::Unsupported ? failure.message() : std::string();
}

/// tcp, behind a transport that is refused.
Transport fallback_transport() {
  Transport row = *transport_by_name("tcp").value();
  row.name = "tcp in place of another";
  row.connect = [](std::unique_ptr<Link> link,
                   const ConnectionParams& params) -> Result<std::unique_ptr<Connection>> {
    RONDO_TRY(check_params(params));
    auto first = std::make_unique<RefusedConnection>(params.slot_bytes, link->dials() ? 1 : 5);
    const auto held = std::make_shared<std::unique_ptr<Link>>(std::move(link));
    return std::unique_ptr<Connection>(
        std::make_unique<FallbackConnection>(std::move(first), [held, params](const Status&) {
          return transport_by_name("tcp").value()->connect(std::move(*held), params);
        }));
  };
  return row;
}

std::vector<Transport> find_tested() {
  if (const char* const name = std::getenv("RONDO_TEST_TRANSPORT")) {
    const auto named = transport_by_name(name);
    require(named.ok(), named.status().message());
    return {*named.value()};
  }
  std::vector<Transport> found;
  for (const Transport& transport : transports()) {
    const std::string why = obstacle(transport);
    if (why.empty())
      found.push_back(transport);
    else
      std::cerr << "the transport " << transport.name << " is not tested: " << why << "\n";
  }
  found.push_back(fallback_transport());
  return found;
}

}  // namespace

const std::vector<Transport>& tested_transports() {
  static const std::vector<Transport> found = find_tested();
  return found;
}

}  // namespace rondo::test
