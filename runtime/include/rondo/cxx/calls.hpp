// SPDX-License-Identifier: Apache-2.0
/**
 * @file calls.hpp
 * @brief The collectives and messages of a communicator, on the caller's thread or on a stream: Calls.
 *
 * Lengths are those of the buffers, and are checked before anything is sent. A call with one buffer for both
 * directions, `inout`, is in place.
 */
#pragma once

#include <rondo/cxx/buffer.hpp>
#include <rondo/cxx/lengths.hpp>
#include <rondo/cxx/queue.hpp>
#include <rondo/cxx/reduction.hpp>

#include <string>
#include <type_traits>

namespace rondo {

inline constexpr int any_source = RONDO_ANY_SOURCE;  ///< For receives: from any rank.
inline constexpr int any_tag = RONDO_ANY_TAG;        ///< For receives: with any tag.

/// What a receive matched: source, tag and number of elements.
using Receipt = rondo_receipt_t;

/// The calls of a communicator. Copies of this refer to the communicator, which must outlive them.
///
/// In a group, on a queue and on a CUDA stream a call returns before it is done: its buffers and receipts
/// must then last until the group has ended, or the queue or stream has been synchronized. Parts are read at
/// once.
template <typename Errors>
class BasicCalls {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// This rank, from 0; -1 of a null communicator.
  int rank() const noexcept { return ranks_.rank; }
  /// The number of ranks; 0 of a null communicator.
  int size() const noexcept { return ranks_.size; }
  /// As the C API takes it.
  rondo_comm_t get() const noexcept { return comm_; }

  /// The same calls, on a queue or a CUDA stream.
  BasicCalls on(StreamRef stream) const noexcept { return BasicCalls(comm_, ranks_, stream.get()); }
  /// The same calls, which return their errors.
  BasicCalls<Returning> nothrow() const noexcept { return BasicCalls<Returning>(comm_, ranks_, stream_); }

  /// Returns once every rank has entered.
  Outcome<void> barrier() const { return done(rondo_barrier(comm_, stream_)); }

  /// out[i] = reduction over the ranks of in[i], at every rank.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> all_reduce(In&& in, Out&& out, ReducerOf<In> op) const {
    return combine("all_reduce", rondo_all_reduce, elements_of(in), elements_of(out), op);
  }
  /// The same in place.
  template <WritableBuffer InOut>
  Outcome<void> all_reduce(InOut&& inout, ReducerOf<InOut> op) const {
    return all_reduce(inout, inout, op);
  }

  /// out[i] = reduction over the ranks from 0 to this one of in[i], in that order.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> scan(In&& in, Out&& out, ReducerOf<In> op) const {
    return combine("scan", rondo_scan, elements_of(in), elements_of(out), op);
  }
  /// The same in place.
  template <WritableBuffer InOut>
  Outcome<void> scan(InOut&& inout, ReducerOf<InOut> op) const {
    return scan(inout, inout, op);
  }

  /// Like scan(), without this rank's own in; rank 0's out is left unchanged.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> exscan(In&& in, Out&& out, ReducerOf<In> op) const {
    return combine("exscan", rondo_exscan, elements_of(in), elements_of(out), op);
  }
  /// The same in place.
  template <WritableBuffer InOut>
  Outcome<void> exscan(InOut&& inout, ReducerOf<InOut> op) const {
    return exscan(inout, inout, op);
  }

  /// Like all_reduce(), with the result at the root only; elsewhere out is not used, and may be empty.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> reduce(In&& in, Out&& out, ReducerOf<In> op, int root) const {
    const auto from = elements_of(in);
    const auto to = ranks_.used_at(root, elements_of(out));
    if (ranks_.rank == root && to.size() != from.size())
      return refuse("reduce", detail::length_fault("out", to, "in", from));
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_reduce(from.data(), to.data(), from.size(), type, op.get(), root, comm_, stream_);
    });
  }
  /// The same in place; elsewhere than at the root inout is left unchanged.
  template <WritableBuffer InOut>
  Outcome<void> reduce(InOut&& inout, ReducerOf<InOut> op, int root) const {
    return reduce(inout, inout, op, root);
  }

  /// out = the root's in, at every rank; elsewhere in is not used, and may be empty.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> broadcast(In&& in, Out&& out, int root) const {
    const auto from = ranks_.used_at(root, elements_of(in));
    const auto to = elements_of(out);
    if (ranks_.rank == root && from.size() != to.size())
      return refuse("broadcast", detail::length_fault("out", to, "in", from));
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_broadcast(from.data(), to.data(), to.size(), type, root, comm_, stream_);
    });
  }
  /// The same in place.
  template <WritableBuffer InOut>
  Outcome<void> broadcast(InOut&& inout, int root) const {
    return broadcast(inout, inout, root);
  }

  /// out = the in of all ranks, in the order of the ranks.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> all_gather(In&& in, Out&& out) const {
    const auto from = elements_of(in);
    const auto to = elements_of(out);
    if (auto fault = ranks_.blocks_fault("out", to, "in", from); !fault.empty())
      return refuse("all_gather", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_all_gather(from.data(), to.data(), from.size(), type, comm_, stream_);
    });
  }
  /// The same in place: this rank's block of inout is its input.
  template <WritableBuffer InOut>
  Outcome<void> all_gather(InOut&& inout) const {
    const auto all = elements_of(inout);
    return all_gather(ranks_.own_block(all), all);
  }
  /// Like all_gather(), with a length for each rank, the same at every rank.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> all_gather_v(In&& in, Out&& out, Parts parts) const {
    const auto from = elements_of(in);
    const auto to = elements_of(out);
    if (auto fault = ranks_.part_fault(to, parts, "in", from); !fault.empty())
      return refuse("all_gather_v", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_all_gather_v(from.data(), to.data(), parts.counts().data(), parts.displs(), type, comm_,
                                stream_);
    });
  }
  /// The same in place: this rank's part of inout is its input.
  template <WritableBuffer InOut>
  Outcome<void> all_gather_v(InOut&& inout, Parts parts) const {
    const auto all = elements_of(inout);
    return all_gather_v(ranks_.own_part(all, parts), all, parts);
  }

  /// out[i] = reduction over the ranks of in[rank * out's length + i].
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> reduce_scatter(In&& in, Out&& out, ReducerOf<In> op) const {
    const auto from = elements_of(in);
    const auto to = elements_of(out);
    if (auto fault = ranks_.blocks_fault("in", from, "out", to); !fault.empty())
      return refuse("reduce_scatter", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_reduce_scatter(from.data(), to.data(), to.size(), type, op.get(), comm_, stream_);
    });
  }
  /// The same in place: this rank's block of inout becomes its output.
  template <WritableBuffer InOut>
  Outcome<void> reduce_scatter(InOut&& inout, ReducerOf<InOut> op) const {
    const auto all = elements_of(inout);
    return reduce_scatter(all, ranks_.own_block(all), op);
  }
  /// Like reduce_scatter(), with a length for each rank, the same at every rank, and no displacements.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> reduce_scatter_v(In&& in, Out&& out, Parts parts, ReducerOf<In> op) const {
    const auto from = elements_of(in);
    const auto to = elements_of(out);
    if (parts.displs() != nullptr)
      return refuse("reduce_scatter_v", "parts have displacements: they must follow one another without");
    if (auto fault = ranks_.part_fault(from, parts, "out", to); !fault.empty())
      return refuse("reduce_scatter_v", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_reduce_scatter_v(from.data(), to.data(), parts.counts().data(), type, op.get(), comm_,
                                    stream_);
    });
  }
  /// The same in place: this rank's part of inout becomes its output.
  template <WritableBuffer InOut>
  Outcome<void> reduce_scatter_v(InOut&& inout, Parts parts, ReducerOf<InOut> op) const {
    const auto all = elements_of(inout);
    return reduce_scatter_v(all, ranks_.own_part(all, parts), parts, op);
  }

  /// Block r of out = this rank's block of rank r's in.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> all_to_all(In&& in, Out&& out) const {
    const auto from = elements_of(in);
    const auto to = elements_of(out);
    if (to.size() != from.size()) return refuse("all_to_all", detail::length_fault("out", to, "in", from));
    const auto block = ranks_.own_block(from);
    if (auto fault = ranks_.blocks_fault("in", from, "each block", block); !fault.empty())
      return refuse("all_to_all", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_all_to_all(from.data(), to.data(), block.size(), type, comm_, stream_);
    });
  }
  /// The same in place.
  template <WritableBuffer InOut>
  Outcome<void> all_to_all(InOut&& inout) const {
    return all_to_all(inout, inout);
  }
  /// Like all_to_all(), with a length for each pair of ranks.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> all_to_all_v(In&& in, Parts in_parts, Out&& out, Parts out_parts) const {
    const auto from = elements_of(in);
    const auto to = elements_of(out);
    if (auto fault = ranks_.parts_fault(from, in_parts); !fault.empty())
      return refuse("all_to_all_v", "in: " + fault);
    if (auto fault = ranks_.parts_fault(to, out_parts); !fault.empty())
      return refuse("all_to_all_v", "out: " + fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_all_to_all_v(from.data(), in_parts.counts().data(), in_parts.displs(), to.data(),
                                out_parts.counts().data(), out_parts.displs(), type, comm_, stream_);
    });
  }
  /// The same in place.
  template <WritableBuffer InOut>
  Outcome<void> all_to_all_v(InOut&& inout, Parts parts) const {
    return all_to_all_v(inout, parts, inout, parts);
  }

  /// Like all_gather(), with the result at the root only; elsewhere out is not used, and may be empty.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> gather(In&& in, Out&& out, int root) const {
    const auto from = elements_of(in);
    const auto to = ranks_.used_at(root, elements_of(out));
    if (auto fault = ranks_.blocks_fault("out", to, "in", from); ranks_.rank == root && !fault.empty())
      return refuse("gather", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_gather(from.data(), to.data(), from.size(), type, root, comm_, stream_);
    });
  }
  /// The same in place: at the root inout is the result, whose block of the root is its input; elsewhere
  /// inout is this rank's input.
  template <WritableBuffer InOut>
  Outcome<void> gather(InOut&& inout, int root) const {
    const auto all = elements_of(inout);
    return gather(ranks_.rank == root ? ranks_.own_block(all) : all, all, root);
  }
  /// Like gather(), with a length for each rank. Elsewhere than at the root parts are not used either.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> gather_v(In&& in, Out&& out, Parts parts, int root) const {
    const auto from = elements_of(in);
    const auto to = ranks_.used_at(root, elements_of(out));
    if (auto fault = ranks_.part_fault(to, parts, "in", from); ranks_.rank == root && !fault.empty())
      return refuse("gather_v", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_gather_v(from.data(), from.size(), to.data(), parts.counts().data(), parts.displs(), type,
                            root, comm_, stream_);
    });
  }
  /// The same in place, as in gather().
  template <WritableBuffer InOut>
  Outcome<void> gather_v(InOut&& inout, Parts parts, int root) const {
    const auto all = elements_of(inout);
    return gather_v(ranks_.rank == root ? ranks_.own_part(all, parts) : all, all, parts, root);
  }

  /// out = this rank's block of the root's in; elsewhere in is not used, and may be empty.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> scatter(In&& in, Out&& out, int root) const {
    const auto from = ranks_.used_at(root, elements_of(in));
    const auto to = elements_of(out);
    if (auto fault = ranks_.blocks_fault("in", from, "out", to); ranks_.rank == root && !fault.empty())
      return refuse("scatter", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_scatter(from.data(), to.data(), to.size(), type, root, comm_, stream_);
    });
  }
  /// The same in place: at the root inout is what it sends, where its own block stays; elsewhere inout is
  /// this rank's output.
  template <WritableBuffer InOut>
  Outcome<void> scatter(InOut&& inout, int root) const {
    const auto all = elements_of(inout);
    return scatter(all, ranks_.rank == root ? ranks_.own_block(all) : all, root);
  }
  /// Like scatter(), with a length for each rank. Elsewhere than at the root parts are not used either.
  template <Buffer In, ResultBufferOf<In> Out>
  Outcome<void> scatter_v(In&& in, Parts parts, Out&& out, int root) const {
    const auto from = ranks_.used_at(root, elements_of(in));
    const auto to = elements_of(out);
    if (auto fault = ranks_.part_fault(from, parts, "out", to); ranks_.rank == root && !fault.empty())
      return refuse("scatter_v", fault);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_scatter_v(from.data(), parts.counts().data(), parts.displs(), to.data(), to.size(), type,
                             root, comm_, stream_);
    });
  }
  /// The same in place, as in scatter().
  template <WritableBuffer InOut>
  Outcome<void> scatter_v(InOut&& inout, Parts parts, int root) const {
    const auto all = elements_of(inout);
    return scatter_v(all, parts, ranks_.rank == root ? ranks_.own_part(all, parts) : all, root);
  }

  /// Sends a message. It may or may not return before the message is received.
  template <Buffer In>
  Outcome<void> send(In&& in, int peer, int tag = 0) const {
    const auto from = elements_of(in);
    return typed<ElementOf<In>>([&](rondo_type_t type) {
      return rondo_send(from.data(), from.size(), type, peer, tag, comm_, stream_);
    });
  }
  /// Receives a message, which may be shorter than out.
  template <WritableBuffer Out>
  Outcome<void> recv(Out&& out, int peer = any_source, int tag = any_tag) const {
    return recv_into(elements_of(out), peer, tag, nullptr);
  }
  /// The same; the receipt says what arrived, by the time the call is complete.
  template <WritableBuffer Out>
  Outcome<void> recv(Out&& out, int peer, int tag, Receipt& receipt) const {
    return recv_into(elements_of(out), peer, tag, &receipt);
  }

 private:
  template <typename E>
  friend class BasicCalls;
  template <typename E>
  friend class BasicCommunicator;

  BasicCalls() = default;
  BasicCalls(rondo_comm_t comm, detail::Ranks ranks, rondo_stream_t stream = nullptr) noexcept
      : comm_(comm), ranks_(ranks), stream_(stream) {}

  /// The outcome of a C call on the communicator.
  Outcome<void> done(rondo_status_t status) const { return Errors::outcome(detail::checked(status, comm_)); }

  /// The outcome of a C call with the type of T.
  template <typename T, typename Call>
  Outcome<void> typed(Call&& call) const {
    const Result<rondo_type_t> type = type_of<T>();
    return type ? done(call(*type)) : Errors::outcome(Result<void>(type.error()));
  }

  template <typename Call, typename T, typename R>
  Outcome<void> combine(const char* name, Call call, std::span<T> from, std::span<R> to,
                        const Reducer<R>& op) const {
    if (to.size() != from.size()) return refuse(name, detail::length_fault("out", to, "in", from));
    return typed<R>([&](rondo_type_t type) {
      return call(from.data(), to.data(), from.size(), type, op.get(), comm_, stream_);
    });
  }

  template <typename T>
  Outcome<void> recv_into(std::span<T> to, int peer, int tag, Receipt* receipt) const {
    return typed<T>([&](rondo_type_t type) {
      return rondo_recv(to.data(), to.size(), type, peer, tag, comm_, stream_, receipt);
    });
  }

  Outcome<void> refuse(const char* call, const std::string& sentence) const {
    return Errors::outcome(Result<void>(detail::refused(call, sentence)));
  }

  rondo_comm_t comm_ = nullptr;
  detail::Ranks ranks_;
  rondo_stream_t stream_ = nullptr;
};

}  // namespace rondo
