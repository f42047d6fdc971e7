// SPDX-License-Identifier: Apache-2.0
// Reads <algo> <gpu> <tb> <step>.
#include <algorithm>
#include <array>

#include "base/error_kinds.h"
#include "formats/msccl_xml.h"
#include "xml_document.h"

namespace rondo {
namespace {

constexpr int kMaxChunks = 65'534;
constexpr int kMaxGpus = 1'024;
constexpr int64_t kMaxSteps = 1'000'000;  // of single chunks
constexpr int64_t kMaxInputs = 250'000;   // chunks of all GPUs
constexpr XmlLimits kMscclLimits{.elements = 60'000, .attributes = 700'000};

struct StepType {
  std::string_view name;
  bool receives, reduces, copies, sends;
};
constexpr std::array kStepTypes{
    StepType{"s", false, false, false, true},   StepType{"r", true, false, true, false},
    StepType{"rcs", true, false, true, true},   StepType{"rrs", true, true, false, true},
    StepType{"rrc", true, true, true, false},   StepType{"rrcs", true, true, true, true},
    StepType{"cpy", false, false, true, false}, StepType{"re", false, true, true, false},
    StepType{"nop", false, false, false, false}};

constexpr int kAnyChunks = kMaxChunks + kMaxChunks;

/// Chunks of a GPU's input and output that steps may name; kAnyChunks if the file says no fewer than the
/// collective has: whether they name more shows when they run.
struct BufferChunks {
  int input = kAnyChunks;
  int output = kAnyChunks;
};

class MscclReader {
 public:
  explicit MscclReader(const XmlDocument& document) : document_(document) {}

  Result<MscclProgram> read() {
    const pugi::xml_node root = document_.root();
    if (std::string_view(root.name()) != "algo")
      return document_.error_at(root, "<{}>: expected <algo>, an algorithm of MSCCL", shown(root.name()));
    MscclProgram program{.source = document_.source()};
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, root));
    program.name = attributes.text("name");
    RONDO_TRY_ASSIGN(const int gpus, required(attributes, root, "ngpus", 1, kMaxGpus));
    RONDO_TRY_ASSIGN(const int chunks, required(attributes, root, "nchunksperloop", 1, kMaxChunks));
    RONDO_TRY_ASSIGN(const int in_place, integer(attributes, root, "inplace", 0, 1, 0));
    RONDO_TRY_ASSIGN(program.collective, collective(attributes, root));
    RONDO_TRY(check_not_empty(root));
    program.in_place = in_place == 1;
    program.parts = traits(program.collective).has_blocks() ? chunks / gpus : chunks;
    if (int64_t{gpus} * chunks > kMaxInputs)
      return document_.error_at(root, "<algo> has {} chunks on each of {} GPUs: expected at most {} in all",
                                chunks, gpus, kMaxInputs);
    if (traits(program.collective).has_blocks() && chunks % gpus != 0)
      return document_.error_at(root, "<algo> has nchunksperloop=\"{}\": expected a multiple of its {} GPUs",
                                chunks, gpus);
    program.gpus.resize(static_cast<size_t>(gpus));
    RONDO_TRY(read_gpus(root, program));
    return program;
  }

 private:
  /// As XmlAttributes::integer(), but nothing is no number.
  Result<int> integer(XmlAttributes& attributes, pugi::xml_node element, const char* name, int min, int max,
                      int absent) const {
    if (attributes.has(name) && attributes.text(name).empty())
      return document_.error_at(element, "<{}> has {}=\"\": expected a whole number from {} to {}",
                                element.name(), name, min, max);
    return attributes.integer(name, min, max, absent);
  }

  Result<int> required(XmlAttributes& attributes, pugi::xml_node element, const char* name, int min,
                       int max) const {
    if (!attributes.has(name)) return document_.error_at(element, "<{}> has no {}", element.name(), name);
    return integer(attributes, element, name, min, max, min);
  }

  Result<CollectiveKind> collective(XmlAttributes& attributes, pugi::xml_node root) const {
    const std::string name = attributes.text("coll");
    const auto kind = collective_by_name(name);
    for (const CollectiveKind known : kMscclCollectives)
      if (kind == known) return known;
    return document_.error_at(
        root, "<algo> has coll=\"{}\": expected allreduce, allgather, reducescatter or alltoall",
        shown(name));
  }

  Status read_gpus(pugi::xml_node root, MscclProgram& program) {
    std::vector<bool> read(program.gpus.size());
    for (const pugi::xml_node child : root.children()) {
      RONDO_TRY(expect(child, "gpu"));
      RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, child));
      RONDO_TRY_ASSIGN(const int id, required(attributes, child, "id", 0, static_cast<int>(read.size()) - 1));
      if (read[static_cast<size_t>(id)])
        return document_.error_at(child, "a second <gpu> with id=\"{}\": expected one", id);
      read[static_cast<size_t>(id)] = true;
      MscclGpu& gpu = program.gpus[static_cast<size_t>(id)];
      RONDO_TRY_ASSIGN(gpu.scratch_chunks, integer(attributes, child, "s_chunks", 0, kMaxChunks, 0));
      RONDO_TRY_ASSIGN(buffers_, buffers(attributes, child, program));
      RONDO_TRY(check_not_empty(child));
      RONDO_TRY(read_blocks(child, id, static_cast<int>(read.size()), gpu));
    }
    for (size_t id = 0; id < read.size(); ++id)
      if (!read[id]) return document_.error_at(root, "<algo> has no <gpu> with id=\"{}\"", id);
    return {};
  }

  /// MSCCL's tools write as many chunks as their steps name, which can be fewer than the collective has. In
  /// place, all of them may be those of one of the buffers.
  Result<BufferChunks> buffers(XmlAttributes& attributes, pugi::xml_node element,
                               const MscclProgram& program) const {
    const CollectiveTraits& kind = traits(program.collective);
    const auto read = [&](const char* name, bool has_blocks) -> Result<int> {
      const bool is_longer = has_blocks || (program.in_place && kind.has_blocks());
      const int most = program.parts * (is_longer ? static_cast<int>(program.gpus.size()) : 1);
      RONDO_TRY_ASSIGN(const int said, integer(attributes, element, name, 0, most, most));
      return said < most ? said : kAnyChunks;
    };
    BufferChunks chunks;
    RONDO_TRY_ASSIGN(chunks.input, read("i_chunks", kind.sends_blocks()));
    RONDO_TRY_ASSIGN(chunks.output, read("o_chunks", kind.receives_blocks()));
    if (program.in_place) chunks.input = chunks.output = std::max(chunks.input, chunks.output);
    return chunks;
  }

  Status read_blocks(pugi::xml_node element, int own, int gpus, MscclGpu& gpu) {
    for (const pugi::xml_node child : element.children()) {
      RONDO_TRY(expect(child, "tb"));
      RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, child));
      const int next = static_cast<int>(gpu.blocks.size());
      RONDO_TRY_ASSIGN(const int id, required(attributes, child, "id", 0, kMaxChunks));
      if (id != next) return document_.error_at(child, "<tb> has id=\"{}\": expected {}", id, next);
      MscclBlock& block = gpu.blocks.emplace_back();
      block.line = document_.line(child);
      RONDO_TRY_ASSIGN(block.send, integer(attributes, child, "send", -1, gpus - 1, -1));
      RONDO_TRY_ASSIGN(block.recv, integer(attributes, child, "recv", -1, gpus - 1, -1));
      RONDO_TRY_ASSIGN(block.channel, integer(attributes, child, "chan", 0, kMaxChunks, 0));
      RONDO_TRY(check_not_empty(child));
      if (block.send == own || block.recv == own)
        return document_.error_at(child, "<tb> of GPU {} has itself as a peer", own);
      RONDO_TRY(read_steps(child, block));
    }
    return check_waits(element, gpu);
  }

  Status read_steps(pugi::xml_node element, MscclBlock& block) {
    for (const pugi::xml_node child : element.children()) {
      RONDO_TRY(expect(child, "step"));
      RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, child));
      const int next = static_cast<int>(block.steps.size());
      RONDO_TRY_ASSIGN(const int number, required(attributes, child, "s", 0, kMaxChunks));
      if (number != next) return document_.error_at(child, "<step> has s=\"{}\": expected {}", number, next);
      RONDO_TRY_ASSIGN(MscclStep step, read_step(attributes, child));
      RONDO_TRY(check_not_empty(child));
      RONDO_TRY(check_places(child, step));
      if (step.receives && block.recv < 0)
        return document_.error_at(child, "<step> of type {} in a <tb> that receives from no GPU", step.type);
      if (step.sends && block.send < 0)
        return document_.error_at(child, "<step> of type {} in a <tb> that sends to no GPU", step.type);
      steps_ += std::max(step.count, 1);
      if (steps_ > kMaxSteps)
        return document_.error_at(child, "more than {} steps of one chunk: expected at most as many",
                                  kMaxSteps);
      block.steps.push_back(std::move(step));
    }
    return {};
  }

  Result<MscclStep> read_step(XmlAttributes& attributes, pugi::xml_node element) const {
    const std::string type = attributes.text("type");
    if (std::ranges::find(kStepTypes, std::string_view(type), &StepType::name) == kStepTypes.end())
      return document_.error_at(
          element, "<step> has type=\"{}\": expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop", shown(type));
    MscclStep step = msccl_step(type);
    step.line = document_.line(element);
    const bool moves = step.receives || step.copies || step.sends;
    RONDO_TRY_ASSIGN(step.count,
                     integer(attributes, element, "cnt", moves ? 1 : 0, kMaxChunks, moves ? 1 : 0));
    if (!moves) step.count = 0;
    if (moves) {
      RONDO_TRY_ASSIGN(step.src, place(attributes, element, "srcbuf", "srcoff"));
      RONDO_TRY_ASSIGN(step.dst, place(attributes, element, "dstbuf", "dstoff"));
    }
    RONDO_TRY_ASSIGN(step.wait_block, integer(attributes, element, "depid", -1, kMaxChunks, -1));
    RONDO_TRY_ASSIGN(step.wait_step, integer(attributes, element, "deps", -1, kMaxChunks, -1));
    return step;
  }

  Result<MscclPlace> place(XmlAttributes& attributes, pugi::xml_node element, const char* buffer,
                           const char* chunk) const {
    MscclPlace place;
    const std::string name = attributes.text(buffer);
    if (name != "i" && name != "o" && name != "s")
      return document_.error_at(element, "<step> has {}=\"{}\": expected i, o or s", buffer, shown(name));
    place.buffer = name == "i"   ? MscclBuffer::Input
                   : name == "o" ? MscclBuffer::Output
                                 : MscclBuffer::Scratch;
    RONDO_TRY_ASSIGN(place.chunk, required(attributes, element, chunk, 0, kMaxChunks));
    return place;
  }

  /// Whether it names no chunk that the buffers of its GPU do not have.
  Status check_places(pugi::xml_node element, const MscclStep& step) const {
    const auto check = [&](MscclPlace place, const char* offset) -> Status {
      if (place.buffer == MscclBuffer::Scratch) return {};
      const bool is_input = place.buffer == MscclBuffer::Input;
      const int chunks = is_input ? buffers_.input : buffers_.output;
      if (place.chunk + step.count <= chunks) return {};
      return document_.error_at(element,
                                "<step> has {}=\"{}\" and cnt=\"{}\": expected chunks of the {} of {}",
                                offset, place.chunk, step.count, chunks, is_input ? "i_chunks" : "o_chunks");
    };
    if (step.count > 0 && step.reads_source()) RONDO_TRY(check(step.src, "srcoff"));
    return step.copies ? check(step.dst, "dstoff") : Status();
  }

  Status check_waits(pugi::xml_node element, const MscclGpu& gpu) const {
    for (const MscclBlock& block : gpu.blocks)
      for (const MscclStep& step : block.steps) {
        if (step.wait_block < 0) continue;
        const auto at = static_cast<size_t>(step.wait_block);
        if (at >= gpu.blocks.size() || step.wait_step < 0 ||
            static_cast<size_t>(step.wait_step) >= gpu.blocks[at].steps.size())
          return error(ErrorKind::FileMalformed,
                       "{}:{}: <step> waits for step {} of <tb> {}, which <gpu id=\"{}\"> does not have",
                       document_.source(), step.line, step.wait_step, step.wait_block,
                       element.attribute("id").value());
      }
    return {};
  }

  Status check_not_empty(pugi::xml_node element) const {
    for (const pugi::xml_attribute attribute : element.attributes())
      if (*attribute.value() == '\0')
        return document_.error_at(element, "<{}> has {}=\"\": expected a value", element.name(),
                                  shown(attribute.name()));
    return {};
  }

  Status expect(pugi::xml_node element, std::string_view name) const {
    if (element.type() != pugi::node_element || name == element.name()) return {};
    return document_.error_at(element, "<{}> within <{}>: expected <{}>", shown(element.name()),
                              shown(element.parent().name()), name);
  }

  const XmlDocument& document_;
  BufferChunks buffers_;  // of the GPU that is being read
  int64_t steps_ = 0;
};

}  // namespace

MscclStep msccl_step(std::string_view type) {
  const auto* known = std::ranges::find(kStepTypes, type, &StepType::name);
  return {.type = std::string(type),
          .receives = known->receives,
          .reduces = known->reduces,
          .copies = known->copies,
          .sends = known->sends};
}

Result<MscclProgram> msccl_program_from_xml(std::string_view text, std::string source) {
  RONDO_TRY_ASSIGN(const XmlDocument document, XmlDocument::parse(text, std::move(source), kMscclLimits));
  return MscclReader(document).read();
}

Result<MscclProgram> msccl_program_from_xml_file(const std::string& path) {
  RONDO_TRY_ASSIGN(const std::string text, read_file(path));
  return msccl_program_from_xml(text, path);
}

}  // namespace rondo
