// SPDX-License-Identifier: Apache-2.0
// Call: one collective, its arguments checked (check.h). Plain data.
#pragma once

#include <optional>
#include <vector>

#include "base/element.h"
#include "base/reduction.h"
#include "base/signature.h"
#include "base/status.h"
#include "gpu/stream.h"
#include "schedule/layout.h"
#include "schedule/schedule.h"

namespace rondo {

/// The blocks of a _v form, by rank; offsets in elements.
struct Blocks {
  std::vector<size_t> counts;
  std::vector<size_t> offsets;
};

/// Whether the CPU or the GPU carries out a call.
struct CallPlace {
  bool on_gpu = false;
  bool on_stream = false;  // on the CUDA stream `stream`; false: the issuing thread waits for it to complete
  gpu::Stream stream = gpu::kLegacyStream;
};

/// A buffer of a call as bytes.
struct Extent {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
};

struct Call {
  CollectiveKind kind = CollectiveKind::Barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;  // elements, as the C API counts them for this kind
  CallType type;
  CallOp op;
  int root = 0;
  bool varying = false;
  Blocks send_blocks;  // _v: if the kind sends one block per rank
  Blocks recv_blocks;  // _v: if the kind receives one block per rank
  CallPlace place;
  CallPurpose purpose = CallPurpose::Collective;

  /// Made by the runtime itself: what the user requested for the kind does not apply.
  bool is_internal() const { return purpose != CallPurpose::Collective; }
  /// Without groups.
  Shape shape(int nranks) const;
  /// The unit that a message may not split: an element. Unless they are reduced, elements of a user's type
  /// are treated as bytes.
  size_t unit_bytes() const { return reduces(kind) || type.built_in() ? type.bytes : 1; }
  /// As sent in slot headers; the communicator fills in sequence and plan.
  Signature signature() const;
  /// `count`; of all_to_all_v, the elements that this rank sends to all ranks.
  size_t own_elements() const;
  /// Bytes of a rank's vector, the longer of input and output; nullopt unless every rank knows it. The choice
  /// of an algorithm may depend on it.
  std::optional<size_t> vector_bytes(int nranks) const;
};

/// The buffers that a rank may pass to calls that differ only in their buffers.
struct BufferRule {
  size_t read_bytes = 0;
  size_t written_bytes = 0;
  std::optional<ptrdiff_t> in_place;  // recvbuf - sendbuf of an in-place call

  /// Whether the buffers share memory as an in-place call's do.
  bool is_in_place(const void* send, const void* recv) const {
    return in_place && send != nullptr && recv != nullptr &&
           static_cast<const std::byte*>(recv) == static_cast<const std::byte*>(send) + *in_place;
  }
  bool overlap(const void* send, const void* recv) const;
  bool allow(const void* send, const void* recv) const {
    return (read_bytes == 0 || send != nullptr) && (written_bytes == 0 || recv != nullptr) &&
           !overlap(send, recv);
  }
};
BufferRule buffer_rule(const Call& call, int rank, int nranks);
bool is_in_place(const Call& call, int rank);

/// What a rank reads and writes in a checked call; empty if nothing.
Extent used_input(const Call& call, int rank, int nranks);
Extent used_output(const Call& call, int rank, int nranks);

/// The layouts of the call's buffers for chunks of at most `tile_units` of unit_bytes(); the call must
/// outlive them.
Layout layout_of(const Call& call, const Chunks& chunks, size_t tile_units);

}  // namespace rondo
