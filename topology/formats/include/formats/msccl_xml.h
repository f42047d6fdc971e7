// SPDX-License-Identifier: Apache-2.0
// Collective algorithms in MSCCL's XML: for each GPU thread blocks, of each its peers and the steps that it
// takes one after another. Files may come from strangers. Plain data, and pure functions: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/status.h"

namespace rondo {

inline constexpr std::array kMscclCollectives{CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                              CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};

enum class MscclBuffer : uint8_t { Input, Output, Scratch };

struct MscclPlace {
  MscclBuffer buffer = MscclBuffer::Input;
  int chunk = 0;
};

/// What a step does, as the file spells it: "rrcs" receives, reduces, copies and sends.
struct MscclStep {
  std::string type;
  bool receives = false;
  bool reduces = false;  // with `src`; without receiving ("re"), src into dst
  bool copies = false;   // to `dst`
  bool sends = false;
  MscclPlace src;
  MscclPlace dst;
  int count = 1;        // chunks; 0: it only waits
  int wait_block = -1;  // waits for this block of the GPU, -1: for none
  int wait_step = -1;
  int line = 0;

  /// Whether it reads its own `src`; otherwise src is the sender's.
  bool reads_source() const { return !receives || reduces; }
};

/// A step of a type of which there is one, without places: "rrc".
MscclStep msccl_step(std::string_view type);

struct MscclBlock {
  int send = -1;  // the GPU that it sends to; -1: none
  int recv = -1;
  int channel = 0;
  std::vector<MscclStep> steps;
  int line = 0;
};

struct MscclGpu {
  int scratch_chunks = 0;
  std::vector<MscclBlock> blocks;
};

struct MscclProgram {
  std::string source;  // the name of the file, in front of what is said about it
  std::string name;
  CollectiveKind collective = CollectiveKind::AllReduce;
  int parts = 1;  // of a block, or of the vector
  bool in_place = false;
  std::vector<MscclGpu> gpus;
};

/// `source` is the name of the text in errors. InvalidArgument, with source, line and what was expected, if
/// it is not such a file, of all_reduce, all_gather, reduce_scatter or all_to_all.
Result<MscclProgram> msccl_program_from_xml(std::string_view text, std::string source);
Result<MscclProgram> msccl_program_from_xml_file(const std::string& path);

/// The text of such a file, without what only the line numbers and the name of the file say.
std::string msccl_xml(const MscclProgram& program);

}  // namespace rondo
