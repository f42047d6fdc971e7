// SPDX-License-Identifier: Apache-2.0
// Ranks for the tests of rondo.hpp: threads and processes.
#pragma once

#include <rondo/rondo.hpp>

#include <string>
#include <utility>

#include "catch.h"
#include "world.h"

namespace rondo::test {

/// Runs `body` with the communicator of each of `nranks` ranks, which it may close.
template <typename Body>
void as_ranks(int nranks, bool threads, Body body) {
  INFO(nranks << (threads ? " threads" : " processes"));
  expect_success(run_world({.nranks = nranks, .threads = threads}, [&body](Rank& rank) {
    rondo_comm_t own = nullptr;
    check(rondo_duplicate(rank.comm, &own), rank.comm);
    body(Communicator::adopt(own));
  }));
}

/// The same, as threads and as processes.
template <typename Body>
void as_ranks(int nranks, Body body) {
  for (const bool threads : {true, false}) as_ranks(nranks, threads, body);
}

/// Throws unless `call` throws an Error with this code whose sentence has all of `words`.
template <typename Call>
void require_error(Code code, const std::vector<std::string>& words, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    require(error.code() == code, std::string(name_of(error.code())) + ": " + error.what());
    for (const std::string& word : words)
      require(std::string(error.what()).find(word) != std::string::npos,
              std::string(error.what()) + ": lacks '" + word + "'");
    return;
  }
  require(false, "no error");
}

}  // namespace rondo::test
