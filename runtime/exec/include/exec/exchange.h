// Exchange: carries out Rounds over a PostTable. Each rank posts its Input, and folds what it needs of the
// others' straight into its Output: a round costs one write that all see and one read of each peer.
// Every post carries the call's Signature, which readers compare with their own before they use a byte, and a
// hash of those before, since a rank may have made calls in which it heard nobody. Used by the thread that
// makes the calls.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "exec/post_table.h"
#include "exec/rounds.h"
#include "exec/run.h"

namespace rondo {

/// A round of a call in bytes: what an Exchange does for it, and then for the next round. Calls that differ
/// in their buffers and numbers alone are made by the same one.
struct ExchangeCall {
  struct Source {
    int rank = 0;
    size_t offset = 0;  // in what that rank posts
  };
  struct Read {
    size_t offset = 0;  // in the Output
    size_t bytes = 0;
    size_t first = 0;  // of its sources
    size_t sources = 0;
    int scaled = -1;  // the source that a pre-multiplied sum scales
    int divisor = 1;
    bool is_copy = false;  // of one source, as it is
  };
  /// Of a single tile, with an Input of at most PostTable::kMostBytes.
  ExchangeCall(const Rounds& plan, const Binding& binding, int rank, size_t round = 0);
  /// What the next call uses.
  void use(const void* send, void* recv, const Signature& signature);

  bool posts;
  bool mutual;
  enum class Place { Head, Brief, Bulk };
  Place place;         // of what is posted
  size_t piece_bytes;  // that become readable, and are folded, at a time
  size_t posted_bytes = 0;
  std::vector<Read> reads;
  std::vector<Source> sources;
  CallType type;
  CallOp op;
  bool scales;  // what it posts

  const std::byte* input = nullptr;  // what it posts
  std::byte* output = nullptr;
  Signature signature;

  std::unique_ptr<ExchangeCall> next;
  size_t next_posts = 0;  // from there in the Output
};

class Exchange final : public Task {
 public:
  Exchange(PostTable table, int rank, int nranks);

  /// Begins a call, which stays where it is until its end.
  void begin(const ExchangeCall& call);

  Progress advance() override;
  void linger() const override;
  Status status() const override { return failure_; }
  int blocked_on() const override { return blocked_on_; }
  Awaited awaited() override;
  bool may_block_others(bool crowded) override;
  /// Names a peer's post of other calls than this rank has made.
  Status connection_status() const override { return find_disagreement(); }

  /// After the last call: names a call that a peer has posted and this rank never made, or made otherwise.
  Status check_nothing_left() const;

 private:
  int next_slot(const ExchangeCall& call);
  bool may_post();
  bool is_done_with(int peer, uint64_t round);
  void post();
  std::byte* posted(int rank, int slot) const;
  void fetch_to_post(int slot) const;
  void touch_bulk();
  void touch(int first, int end, size_t bytes, size_t& touched);
  void put(std::byte* to, size_t offset, size_t bytes) const;
  bool read_next();
  bool has_arrived(const ExchangeCall::Source& source, size_t bytes);
  bool hear(int peer, const Post& post);
  void fold_piece(const ExchangeCall::Read& read, size_t offset, size_t bytes);
  void end_round();
  void note_cpu();
  uint64_t whole_round(uint64_t ready) const;
  Status find_disagreement() const;
  template <typename Judge>
  Status find_post(const Judge& judge) const;

  static constexpr size_t kRemembered = 2 * PostTable::kShortSlots;  // rounds
  Signature& signature_of(uint64_t round) { return recent_[round % kRemembered]; }
  const Signature& signature_of(uint64_t round) const { return recent_[round % kRemembered]; }

  PostTable table_;
  int self_;
  std::vector<uint64_t> done_;                 // by rank: rounds that it has ended, as far as this one knows
  std::vector<uint64_t> heard_;                // by rank: the last round in which it was heard
  std::vector<const void*> operands_;          // of the fold at hand
  uint64_t all_done_ = 0;                      // rounds that every peer has ended, when this rank last posted
  uint64_t used_[PostTable::kSlots] = {};      // the round in which this rank posted there
  std::array<Signature, kRemembered> recent_;  // by round
  uint64_t history_ = 0;
  uint64_t round_ = 0;
  uint64_t mutual_rounds_ = 0;
  uint64_t long_rounds_ = 0;
  uint64_t short_rounds_ = 0;
  uint32_t cpu_ = 0;  // as the table has it

  const ExchangeCall* call_ = nullptr;
  int slot_ = 0;
  bool has_posted_ = false;
  size_t touched_short_bytes_ = 0;
  size_t touched_long_bytes_ = 0;
  size_t read_ = 0;    // the next of the call's
  size_t offset_ = 0;  // how far that one is
  int blocked_on_ = -1;
  uint64_t seen_ = 0;                  // what that one's post said
  const std::byte* wanted_ = nullptr;  // and where its bytes will be
  Status failure_;
};

}  // namespace rondo
