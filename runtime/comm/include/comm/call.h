// Call: one collective as its caller asked for it, checked before anything is done. Plain data.
#pragma once

#include <optional>
#include <vector>

#include "base/element.h"
#include "base/reduction.h"
#include "base/signature.h"
#include "base/status.h"
#include "exec/run.h"
#include "gpu/stream.h"
#include "schedule/layout.h"
#include "schedule/schedule.h"

namespace rondo {

/// The blocks of a _v form, by rank; offsets in elements.
struct Blocks {
  std::vector<size_t> counts;
  std::vector<size_t> offsets;
};

/// Who makes a call.
struct CallPlace {
  bool on_gpu = false;
  bool on_stream = false;  // on the CUDA stream `stream`; false: whoever issues it waits for its end
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
  Blocks send_blocks;  // _v: where the kind has blocks to send
  Blocks recv_blocks;  // _v: where the kind has blocks to receive
  CallPlace place;

  Shape shape(int nranks, int group = 1) const;
  /// What a message may not cut: an element that is combined. Those of a user's type are bytes otherwise.
  size_t unit_bytes() const { return reduces(kind) || type.built_in() ? type.bytes : 1; }
  /// As it rides in slot headers; sequence and plan are the communicator's to fill in.
  Signature signature() const;
  /// Bytes of a rank's vector, the longer of input and output, as far as every rank knows it: what the choice
  /// of an algorithm may depend on.
  std::optional<size_t> vector_bytes(int nranks) const;
};

/// A collective of host memory without lengths by rank, as its caller stated it. Where types and operations
/// are not built in, handles.
struct PlainCall {
  CollectiveKind kind = CollectiveKind::Barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  int type = 0;
  int op = kNoOp;  // of kinds that reduce
  int root = 0;

  static constexpr int kNoOp = 0;

  bool is_built_in() const { return type < kElementTypes && op < kReductions; }
  /// Type and operation are still to be filled in.
  Call call() const;
};

/// Which buffers a rank's call may have, whatever their addresses are.
struct BufferRule {
  size_t read_bytes = 0;
  size_t written_bytes = 0;
  std::optional<ptrdiff_t> in_place;  // where an in-place call has recvbuf, from sendbuf on

  bool overlap(const void* send, const void* recv) const;
  bool allow(const void* send, const void* recv) const {
    return (read_bytes == 0 || send != nullptr) && (written_bytes == 0 || recv != nullptr) &&
           !overlap(send, recv);
  }
};
BufferRule buffer_rule(const Call& call, int rank, int nranks);

/// InvalidArgument where root, operation or count make no sense, whatever the buffers are.
Status check_meaning(const Call& call, int nranks);
/// InvalidArgument with a sentence that names the argument, what it was and what is allowed. Fills in what
/// can be derived (offsets that were left out).
Status check(Call& call, int rank, int nranks);

/// What a rank reads and writes in a checked call; no bytes where it does not.
Extent used_input(const Call& call, int rank, int nranks);
Extent used_output(const Call& call, int rank, int nranks);

/// The layouts of the call's buffers for chunks of at most `tile_units` of unit_bytes(); the call outlives
/// them.
Layout layout_of(const Call& call, const Chunks& chunks, size_t tile_units);

/// Whether input and output share memory, as InPlace says.
bool is_in_place(const Call& call, int rank);

}  // namespace rondo
