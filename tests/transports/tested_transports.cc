// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <iostream>

#include "ends.h"
#include "process.h"

namespace rondo::test {
namespace {

/// Why this host cannot use a transport; empty if it can.
std::string obstacle(const Transport& transport) {
  if (transport.automatic || transport.medium != Medium::Network) return {};
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
  return found;
}

}  // namespace

const std::vector<Transport>& tested_transports() {
  static const std::vector<Transport> found = find_tested();
  return found;
}

}  // namespace rondo::test
