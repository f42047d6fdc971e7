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
struct MscclType {
  std::string_view name;
  bool receives, reduces, copies, sends;  // reduces with `src`; without receiving ("re"), src into dst
};
inline constexpr std::array kMscclTypes{
    MscclType{"s", false, false, false, true},   MscclType{"r", true, false, true, false},
    MscclType{"rcs", true, false, true, true},   MscclType{"rrs", true, true, false, true},
    MscclType{"rrc", true, true, true, false},   MscclType{"rrcs", true, true, true, true},
    MscclType{"cpy", false, false, true, false}, MscclType{"re", false, true, true, false},
    MscclType{"nop", false, false, false, false}};

/// Files have up to a million of them.
struct MscclStep {
  static constexpr uint16_t kNoBlock = 0xffff;

  uint8_t type_index = 0;  // in kMscclTypes
  MscclBuffer src_buffer = MscclBuffer::Input;
  MscclBuffer dst_buffer = MscclBuffer::Input;
  uint16_t src_chunk = 0;
  uint16_t dst_chunk = 0;
  uint16_t count = 1;              // chunks; 0: it only waits
  uint16_t wait_block = kNoBlock;  // waits for this block of the GPU
  uint16_t wait_step = 0;
  int line = 0;

  const MscclType& type() const { return kMscclTypes[type_index]; }
  /// The places of its chunks; of `dst` if it copies.
  MscclPlace src(int i = 0) const { return {src_buffer, src_chunk + i}; }
  MscclPlace dst(int i = 0) const { return {dst_buffer, dst_chunk + i}; }
  /// Whether it reads its own `src`; otherwise src is the sender's.
  bool reads_source() const { return !type().receives || type().reduces; }
  bool waits() const { return wait_block != kNoBlock; }
};
static_assert(sizeof(MscclStep) == 20);

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
/// it is not such a file, of all_reduce, all_gather, reduce_scatter or all_to_all, or exceeds a limit. A file
/// is read piece by piece: memory grows with its steps and blocks, not with its text.
Result<MscclProgram> msccl_program_from_xml(std::string_view text, std::string source);
Result<MscclProgram> msccl_program_from_xml_file(const std::string& path);

/// The text of such a file, without what only the line numbers and the name of the file say.
std::string msccl_xml(const MscclProgram& program);

}  // namespace rondo
