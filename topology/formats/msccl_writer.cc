// SPDX-License-Identifier: Apache-2.0
// Writes what msccl_reader.cc reads, with the attributes that MSCCL's own runtime also wants.
#include <algorithm>
#include <set>
#include <utility>

#include "formats/msccl_xml.h"
#include "xml_text.h"

namespace rondo {
namespace {

constexpr int64_t kAnyBytes = int64_t{1} << 40;  // of calls that the file is for: all

/// MSCCL spells them without underscores.
std::string spelled(CollectiveKind kind) {
  std::string name(collective_name(kind));
  std::erase(name, '_');
  return name;
}

const char* buffer_text(MscclBuffer buffer) {
  switch (buffer) {
    case MscclBuffer::Input: return "i";
    case MscclBuffer::Output: return "o";
    case MscclBuffer::Scratch: return "s";
  }
  return "?";
}

/// Steps of a GPU that others wait for, as block and step.
std::set<std::pair<int, int>> awaited_steps(const MscclGpu& gpu) {
  std::set<std::pair<int, int>> awaited;
  for (const MscclBlock& block : gpu.blocks)
    for (const MscclStep& step : block.steps)
      if (step.waits()) awaited.emplace(step.wait_block, step.wait_step);
  return awaited;
}

std::string step_text(const MscclStep& step, size_t number, bool is_awaited) {
  return fmt::format(
      "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
      "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
      number, step.type().name, buffer_text(step.src_buffer), step.src_chunk, buffer_text(step.dst_buffer),
      step.dst_chunk, step.count, step.waits() ? step.wait_block : -1, step.waits() ? step.wait_step : -1,
      is_awaited ? 1 : 0);
}

std::string gpu_text(const MscclGpu& gpu, size_t id, int input, int output) {
  std::string text = fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", id,
                                 input, output, gpu.scratch_chunks);
  const auto awaited = awaited_steps(gpu);
  int number = 0;
  for (const MscclBlock& block : gpu.blocks) {
    text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", number, block.send,
                        block.recv, block.channel);
    for (size_t i = 0; i != block.steps.size(); ++i)
      text += step_text(block.steps[i], i, awaited.contains({number, static_cast<int>(i)}));
    text += "    </tb>\n";
    ++number;
  }
  return text + "  </gpu>\n";
}

}  // namespace

std::string msccl_xml(const MscclProgram& program) {
  const CollectiveTraits& kind = traits(program.collective);
  const auto gpus = static_cast<int>(program.gpus.size());
  int channels = 1;
  for (const MscclGpu& gpu : program.gpus)
    for (const MscclBlock& block : gpu.blocks) channels = std::max(channels, block.channel + 1);
  std::string text = fmt::format(
      "<algo{} proto=\"Simple\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" "
      "inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" maxBytes=\"{}\">\n",
      program.name.empty() ? "" : fmt::format(" name=\"{}\"", escaped(program.name)), channels,
      kind.has_blocks() ? program.parts * gpus : program.parts, gpus, spelled(program.collective),
      program.in_place ? 1 : 0, program.in_place ? 0 : 1, kAnyBytes);
  for (size_t id = 0; id != program.gpus.size(); ++id)
    text += gpu_text(program.gpus[id], id, program.parts * (kind.sends_blocks() ? gpus : 1),
                     program.parts * (kind.receives_blocks() ? gpus : 1));
  return text + "</algo>\n";
}

}  // namespace rondo
