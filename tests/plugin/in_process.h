// SPDX-License-Identifier: Apache-2.0
// The tests' own network plugin as tests use it: with variables, each in a process of its own, since a
// process loads a plugin once.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "transports/transport.h"

namespace rondo::plugin_test {

using Variables = std::map<std::string, std::string>;

/// The file of one of the plugins that library/meson.build builds.
std::string plugin_file(const std::string& name);
/// Variables that select one of the newest version, with this fault.
Variables with_fault(const std::string& fault);

/// Runs the body in a process with these variables. Returns how it failed; empty if it did not.
std::string in_process(const Variables& variables, const std::function<void()>& body);
/// What the body, which must succeed, logs in such a process.
std::string log_of(const Variables& variables, const std::function<void()>& body);

const Transport& plugin_transport();

}  // namespace rondo::plugin_test
