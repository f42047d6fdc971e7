// SPDX-License-Identifier: Apache-2.0
// The stand-in for libibverbs as tests use it: with variables, each in a process of its own, since the
// library reads them once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace rondo::verbs_test {

using Variables = std::map<std::string, std::string>;  // without RONDO_STANDIN_VERBS in front

/// Runs the body in a process with these variables. Returns how it failed; empty if it did not.
std::string in_process(const Variables& variables, const std::function<void()>& body);
/// What the body, which must succeed, logs in such a process.
std::string log_of(const Variables& variables, const std::function<void()>& body);
bool is_standin();
/// Has the stand-in carry out a command.
void command(const std::string& text);
uint64_t calls(const std::string& name);

}  // namespace rondo::verbs_test
