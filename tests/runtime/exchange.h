// Exchange: one collective of one rank, from random inputs to the judgement of every byte that it may have
// touched. Every rank works out all ranks' inputs from the seed, so that no rank believes another.
#pragma once

#include <rondo/rondo.h>

#include <string>

#include "guarded.h"
#include "world.h"

namespace rondo::test {

enum class Kind {
  AllReduce,
  Broadcast,
  Reduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Gather,
  Scatter,
  Barrier,
  Scan,
  Exscan
};
inline constexpr int kKinds = 11;
const char* kind_name(Kind kind);
bool has_root(Kind kind);
bool reduces(Kind kind);
bool has_varying_form(Kind kind);
bool may_be_in_place(Kind kind);

struct Trial {
  Kind kind = Kind::AllReduce;
  size_t count = 1;  // _v forms: lengths from 0 to this
  rondo_type_t type = RONDO_FLOAT32;
  size_t type_bytes = 0;  // of a user's type; 0: `type` is built in
  rondo_op_t op = RONDO_SUM;
  int root = 0;
  bool varying = false;
  bool in_place = false;
  size_t shift = 0;  // bytes that the buffers are away from alignment
  uint64_t seed = 1;

  std::string text() const;
};

/// A legal call, anything about it drawn from the seed.
Trial random_trial(uint64_t seed, int nranks, size_t most_count);

/// Lengths and places of the blocks of one rank's buffer, in elements.
struct BlockTable {
  std::vector<size_t> counts;
  std::vector<size_t> offsets;
  bool packed = true;  // one after the other, so that the caller may leave the offsets out
  size_t extent() const;
};

class Exchange {
 public:
  Exchange(const Rank& rank, const Trial& trial);

  /// Makes the call. The buffers must live until it is done; so must this.
  rondo_status_t start(rondo_stream_t stream = nullptr);
  /// Throws what is wrong with the outcome.
  void verify();

 private:
  size_t length(int source, int destination) const;
  BlockTable send_table(int rank) const;
  BlockTable recv_table(int rank) const;
  BlockTable table(int rank, bool sends) const;
  std::vector<std::byte> input(int rank) const;
  void place_buffers();
  void send_abroad();
  void bring_home();
  std::vector<std::byte> expected_moves(std::vector<std::byte> content) const;
  void judge_reduction(std::span<const std::byte> got) const;
  size_t first_operand() const;
  size_t results() const;
  int operands() const;
  [[noreturn]] void wrong(const std::string& what) const;
  rondo_status_t call_varying(rondo_stream_t stream);

  Rank rank_;
  Trial trial_;
  size_t bytes_;  // of an element
  BlockTable send_;
  BlockTable recv_;
  Guarded input_;
  Guarded output_;
  bool in_place_ = false;
  bool in_input_ = false;     // in place, and the result lies within the input
  size_t result_offset_ = 0;  // elements, within the buffer that has the result
  const std::byte* sendbuf_ = nullptr;
  std::byte* recvbuf_ = nullptr;
  std::shared_ptr<std::byte> foreign_input_;  // of rank_.memory, in the place of input_ and output_
  std::shared_ptr<std::byte> foreign_output_;
  std::vector<std::byte> before_;  // the buffer that has the result, as it was
};

/// Starts, and verifies when the call is done.
void run_trial(const Rank& rank, const Trial& trial);

}  // namespace rondo::test
