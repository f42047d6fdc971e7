// SPDX-License-Identifier: Apache-2.0
// rondo-run: starts the ranks of a program on this host.
#include <fmt/format.h>

#include <cstdio>

#include "options.h"
#include "supervisor.h"

int main(int argc, char** argv) {
  const rondo::run::ParsedRunOptions parsed = rondo::run::parse_options(argc, argv);
  if (parsed.run) return rondo::run::supervise(parsed.options);
  fmt::print(parsed.code == 0 ? stdout : stderr, "{}", parsed.message);
  return parsed.code;
}
