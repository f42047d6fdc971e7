// SPDX-License-Identifier: Apache-2.0
// Exchange: one rank's part in one collective, from random inputs to a check of every byte that the call may
// have touched. Each rank derives the inputs of all ranks from the seed, so none relies on data from another.
#pragma once

#include <rondo/rondo.h>

#include <string>

#include "collective_call.h"
#include "collective_result.h"
#include "guarded.h"
#include "world.h"

namespace rondo::test {

struct Trial {
  Kind kind = Kind::AllReduce;
  size_t count = 1;  // upper bound of the block lengths in the _v forms
  rondo_type_t type = RONDO_FLOAT32;
  size_t type_bytes = 0;  // of a user-defined type; 0: `type` is built in
  rondo_op_t op = RONDO_SUM;
  int root = 0;
  bool varying = false;
  bool in_place = false;
  size_t shift = 0;  // byte offset of the buffers from their alignment
  uint64_t seed = 1;

  std::string text() const;
};

/// A legal call; every parameter is drawn from the seed.
Trial random_trial(uint64_t seed, int nranks, size_t max_count);

/// Short calls: each collective for each type, reductions also for each operation that the type has.
std::vector<Trial> every_type_and_operation(int nranks);

/// Lengths and offsets of the blocks in one rank's buffer, in elements.
struct BlockTable {
  std::vector<size_t> counts;
  std::vector<size_t> offsets;
  bool packed = true;  // no gaps, so the caller may omit the offsets
  size_t extent() const;
};

class Exchange {
 public:
  Exchange(const Rank& rank, const Trial& trial);

  /// Makes the call. The buffers and this object must outlive it.
  rondo_status_t start(rondo_stream_t stream = nullptr);
  /// Throws a description of the first wrong byte or element.
  void verify();

 private:
  size_t length(int source, int destination) const;
  BlockTable send_table(int rank) const;
  BlockTable recv_table(int rank) const;
  BlockTable table(int rank, bool sends) const;
  bool sends_blocks() const { return traits(trial_.kind).sends_blocks(); }
  bool receives_blocks() const { return traits(trial_.kind).receives_blocks(); }
  std::vector<std::byte> input(int rank) const;
  void place_buffers();
  void send_abroad();
  void bring_home();
  Guarded& result() { return in_input_ ? input_ : output_; }
  void judge_reduction(const BlockResult& from, std::span<const std::byte> got) const;
  [[noreturn]] void wrong(const std::string& what) const;

  Rank rank_;
  Trial trial_;
  size_t bytes_;  // of one element
  BlockTable send_;
  BlockTable recv_;
  Guarded input_;
  Guarded output_;
  bool in_place_ = false;
  bool in_input_ = false;     // in place, with the result inside the input
  size_t result_offset_ = 0;  // elements, in the buffer that holds the result
  const std::byte* sendbuf_ = nullptr;
  std::byte* recvbuf_ = nullptr;
  std::shared_ptr<std::byte> foreign_input_;  // from rank_.memory; replace input_ and output_
  std::shared_ptr<std::byte> foreign_output_;
  std::vector<std::byte> before_;  // the result buffer's content before the call
};

/// Starts the call and verifies its result.
void run_trial(const Rank& rank, const Trial& trial);

}  // namespace rondo::test
