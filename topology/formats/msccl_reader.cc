// SPDX-License-Identifier: Apache-2.0
// Reads <algo> <gpu> <tb> <step>.
#include <algorithm>
#include <utility>

#include "base/error_kinds.h"
#include "file_text.h"
#include "formats/msccl_xml.h"
#include "xml_stream.h"
#include "xml_text.h"

namespace rondo {
namespace {

constexpr int kMaxChunks = 65'534;
constexpr int kMaxGpus = 1'024;
constexpr int kMaxSteps = 1'000'000;     // of single chunks
constexpr int kMaxBlocks = 250'000;      // of all GPUs, as all have of an all-to-all of kMaxInputs
constexpr int64_t kMaxInputs = 250'000;  // chunks of all GPUs
// A file of kMaxSteps that our writer made is half as large, with ten attributes a step.
constexpr XmlStreamLimits kMscclLimits{.bytes = int64_t{192} << 20, .attributes = 12'000'000};

constexpr int kAnyChunks = kMaxChunks + kMaxChunks;

/// Chunks of a GPU's input and output that steps may name; kAnyChunks if the file says no fewer than the
/// collective has: whether they name more shows when they run.
struct BufferChunks {
  int input = kAnyChunks;
  int output = kAnyChunks;
};

class MscclReader {
 public:
  explicit MscclReader(XmlStream xml) : xml_(std::move(xml)) {}

  Result<MscclProgram> read() {
    RONDO_TRY(xml_.begin("algo"));
    const int line = xml_.line();
    if (xml_.name() != "algo")
      return xml_.error_at(line, "<{}>: expected <algo>, an algorithm of MSCCL", shown(xml_.name()));
    MscclProgram program{.source = xml_.source()};
    program.name = xml_.text("name");
    RONDO_TRY_ASSIGN(const int gpus, required("ngpus", 1, kMaxGpus));
    RONDO_TRY_ASSIGN(const int chunks, required("nchunksperloop", 1, kMaxChunks));
    RONDO_TRY_ASSIGN(const int in_place, xml_.integer("inplace", 0, 1, 0));
    RONDO_TRY_ASSIGN(program.collective, collective());
    RONDO_TRY(xml_.check_not_empty());
    program.in_place = in_place == 1;
    program.parts = traits(program.collective).has_blocks() ? chunks / gpus : chunks;
    if (int64_t{gpus} * chunks > kMaxInputs)
      return xml_.error_at(line, "<algo> has {} chunks on each of {} GPUs: expected at most {} in all",
                           chunks, gpus, kMaxInputs);
    if (traits(program.collective).has_blocks() && chunks % gpus != 0)
      return xml_.error_at(line, "<algo> has nchunksperloop=\"{}\": expected a multiple of its {} GPUs",
                           chunks, gpus);
    program.gpus.resize(static_cast<size_t>(gpus));
    RONDO_TRY(read_gpus(program, line));
    RONDO_TRY(xml_.finish());
    return program;
  }

 private:
  Result<int> required(const char* name, int min, int max) {
    if (!xml_.has(name)) return xml_.error_at(xml_.line(), "<{}> has no {}", xml_.name(), name);
    return xml_.integer(name, min, max, min);
  }

  Result<CollectiveKind> collective() {
    const std::string_view name = xml_.text("coll");
    const auto kind = collective_by_name(std::string(name));
    for (const CollectiveKind known : kMscclCollectives)
      if (kind == known) return known;
    return xml_.error_at(xml_.line(),
                         "<algo> has coll=\"{}\": expected allreduce, allgather, reducescatter or alltoall",
                         shown(name));
  }

  /// Whether there is another element within the current one; it has this name.
  Result<bool> next(std::string_view within, std::string_view name) {
    RONDO_TRY_ASSIGN(const bool is_there, xml_.next());
    if (is_there && xml_.name() != name)
      return xml_.error_at(xml_.line(), "<{}> within <{}>: expected <{}>", shown(xml_.name()), within, name);
    return is_there;
  }

  Status read_gpus(MscclProgram& program, int line) {
    const auto gpus = static_cast<int>(program.gpus.size());
    std::vector<bool> read(program.gpus.size());
    while (true) {
      RONDO_TRY_ASSIGN(const bool is_there, next("algo", "gpu"));
      if (!is_there) break;
      RONDO_TRY_ASSIGN(const int id, required("id", 0, gpus - 1));
      if (read[static_cast<size_t>(id)])
        return xml_.error_at(xml_.line(), "a second <gpu> with id=\"{}\": expected one", id);
      read[static_cast<size_t>(id)] = true;
      MscclGpu& gpu = program.gpus[static_cast<size_t>(id)];
      RONDO_TRY_ASSIGN(gpu.scratch_chunks, xml_.integer("s_chunks", 0, kMaxChunks, 0));
      RONDO_TRY_ASSIGN(buffers_, buffers(program));
      RONDO_TRY(xml_.check_not_empty());
      RONDO_TRY(read_blocks(id, gpus, gpu));
    }
    for (size_t id = 0; id < read.size(); ++id)
      if (!read[id]) return xml_.error_at(line, "<algo> has no <gpu> with id=\"{}\"", id);
    return {};
  }

  /// MSCCL's tools write as many chunks as their steps name, which can be fewer than the collective has. In
  /// place, all of them may be those of one of the buffers.
  Result<BufferChunks> buffers(const MscclProgram& program) {
    const CollectiveTraits& kind = traits(program.collective);
    const auto read = [&](const char* name, bool has_blocks) -> Result<int> {
      const bool is_longer = has_blocks || (program.in_place && kind.has_blocks());
      const int most = program.parts * (is_longer ? static_cast<int>(program.gpus.size()) : 1);
      RONDO_TRY_ASSIGN(const int said, xml_.integer(name, 0, most, most));
      return said < most ? said : kAnyChunks;
    };
    BufferChunks chunks;
    RONDO_TRY_ASSIGN(chunks.input, read("i_chunks", kind.sends_blocks()));
    RONDO_TRY_ASSIGN(chunks.output, read("o_chunks", kind.receives_blocks()));
    if (program.in_place) chunks.input = chunks.output = std::max(chunks.input, chunks.output);
    return chunks;
  }

  Status read_blocks(int own, int gpus, MscclGpu& gpu) {
    while (true) {
      RONDO_TRY_ASSIGN(const bool is_there, next("gpu", "tb"));
      if (!is_there) break;
      const int line = xml_.line();
      const auto number = static_cast<int>(gpu.blocks.size());
      RONDO_TRY_ASSIGN(const int id, required("id", 0, kMaxChunks));
      if (id != number) return xml_.error_at(line, "<tb> has id=\"{}\": expected {}", id, number);
      if (++blocks_ > kMaxBlocks)
        return error(ErrorKind::FileTooLarge, "{}:{}: more than {} thread blocks: expected at most as many",
                     xml_.source(), line, kMaxBlocks);
      MscclBlock& block = gpu.blocks.emplace_back();
      block.line = line;
      RONDO_TRY_ASSIGN(block.send, xml_.integer("send", -1, gpus - 1, -1));
      RONDO_TRY_ASSIGN(block.recv, xml_.integer("recv", -1, gpus - 1, -1));
      RONDO_TRY_ASSIGN(block.channel, xml_.integer("chan", 0, kMaxChunks, 0));
      RONDO_TRY(xml_.check_not_empty());
      if (block.send == own || block.recv == own)
        return xml_.error_at(line, "<tb> of GPU {} has itself as a peer", own);
      RONDO_TRY(read_steps(block));
    }
    return check_waits(own, gpu);
  }

  Status read_steps(MscclBlock& block) {
    read_.clear();
    while (true) {
      RONDO_TRY_ASSIGN(const bool is_there, next("tb", "step"));
      if (!is_there) break;
      const int line = xml_.line();
      RONDO_TRY_ASSIGN(const int number, required("s", 0, kMaxChunks));
      if (number != std::ssize(read_))
        return xml_.error_at(line, "<step> has s=\"{}\": expected {}", number, read_.size());
      RONDO_TRY_ASSIGN(const MscclStep step, read_step());
      RONDO_TRY(xml_.check_not_empty());
      RONDO_TRY(check_places(step));
      const MscclType& type = step.type();
      if (type.receives && block.recv < 0)
        return xml_.error_at(line, "<step> of type {} in a <tb> that receives from no GPU", type.name);
      if (type.sends && block.send < 0)
        return xml_.error_at(line, "<step> of type {} in a <tb> that sends to no GPU", type.name);
      steps_ += std::max<int>(step.count, 1);
      if (steps_ > kMaxSteps)
        return error(ErrorKind::FileTooLarge,
                     "{}:{}: more than {} steps of one chunk: expected at most as many", xml_.source(), line,
                     kMaxSteps);
      read_.push_back(step);
      RONDO_TRY_ASSIGN(const bool has_content, xml_.next());
      if (has_content)
        return xml_.error_at(xml_.line(), "<{}> within <step>: expected no element", shown(xml_.name()));
    }
    block.steps.assign(read_.begin(), read_.end());  // without room for more
    return {};
  }

  Result<MscclStep> read_step() {
    const std::string_view name = xml_.text("type");
    if (std::ranges::find(kMscclTypes, name, &MscclType::name) == kMscclTypes.end())
      return xml_.error_at(xml_.line(),
                           "<step> has type=\"{}\": expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop",
                           shown(name));
    MscclStep step = msccl_step(name);
    step.line = xml_.line();
    const bool moves = step.type().receives || step.type().copies || step.type().sends;
    if (moves) {
      RONDO_TRY(read_place("srcbuf", step.src_buffer, "srcoff", step.src_chunk));
      RONDO_TRY(read_place("dstbuf", step.dst_buffer, "dstoff", step.dst_chunk));
    }
    RONDO_TRY_ASSIGN(const int count, xml_.integer("cnt", moves ? 1 : 0, kMaxChunks, moves ? 1 : 0));
    step.count = static_cast<uint16_t>(moves ? count : 0);
    RONDO_TRY_ASSIGN(const int block, xml_.integer("depid", -1, kMaxChunks, -1));
    RONDO_TRY_ASSIGN(const int awaited, xml_.integer("deps", -1, kMaxChunks, -1));
    if (block < 0) return step;
    step.wait_block = static_cast<uint16_t>(block);
    step.wait_step = awaited < 0 ? kNoStep : static_cast<uint16_t>(awaited);
    return step;
  }

  Status read_place(const char* buffer, MscclBuffer& in, const char* offset, uint16_t& chunk) {
    const std::string_view name = xml_.text(buffer);
    if (name != "i" && name != "o" && name != "s")
      return xml_.error_at(xml_.line(), "<step> has {}=\"{}\": expected i, o or s", buffer, shown(name));
    in = name == "i" ? MscclBuffer::Input : name == "o" ? MscclBuffer::Output : MscclBuffer::Scratch;
    RONDO_TRY_ASSIGN(const int number, required(offset, 0, kMaxChunks));
    chunk = static_cast<uint16_t>(number);
    return {};
  }

  /// Whether it names no chunk that the buffers of its GPU do not have.
  Status check_places(const MscclStep& step) const {
    const auto check = [&](MscclPlace place, const char* offset) -> Status {
      if (place.buffer == MscclBuffer::Scratch) return {};
      const bool is_input = place.buffer == MscclBuffer::Input;
      const int chunks = is_input ? buffers_.input : buffers_.output;
      if (place.chunk + step.count <= chunks) return {};
      return xml_.error_at(step.line, "<step> has {}=\"{}\" and cnt=\"{}\": expected chunks of the {} of {}",
                           offset, place.chunk, step.count, chunks, is_input ? "i_chunks" : "o_chunks");
    };
    if (step.count > 0 && step.reads_source()) RONDO_TRY(check(step.src(), "srcoff"));
    return step.type().copies ? check(step.dst(), "dstoff") : Status();
  }

  Status check_waits(int own, const MscclGpu& gpu) const {
    for (const MscclBlock& block : gpu.blocks)
      for (const MscclStep& step : block.steps) {
        if (!step.waits()) continue;
        const bool has_step =
            step.wait_block < gpu.blocks.size() && step.wait_step < gpu.blocks[step.wait_block].steps.size();
        if (!has_step)
          return xml_.error_at(step.line,
                               "<step> waits for step {} of <tb> {}, which <gpu id=\"{}\"> does not have",
                               step.wait_step == kNoStep ? -1 : step.wait_step, step.wait_block, own);
      }
    return {};
  }

  static constexpr uint16_t kNoStep = 0xffff;

  XmlStream xml_;
  BufferChunks buffers_;         // of the GPU that is being read
  std::vector<MscclStep> read_;  // of the block that is being read
  int steps_ = 0;
  int blocks_ = 0;
};

}  // namespace

MscclStep msccl_step(std::string_view type) {
  const auto* const known = std::ranges::find(kMscclTypes, type, &MscclType::name);
  return {.type_index = static_cast<uint8_t>(known - kMscclTypes.begin())};
}

Result<MscclProgram> msccl_program_from_xml(std::string_view text, std::string source) {
  return MscclReader(XmlStream(pieces_of(text), std::move(source), kMscclLimits)).read();
}

Result<MscclProgram> msccl_program_from_xml_file(const std::string& path) {
  RONDO_TRY_ASSIGN(FileText file, FileText::open(path));
  const auto read = [&file](char* to, size_t bytes) { return file.read(to, bytes); };
  return MscclReader(XmlStream(read, path, kMscclLimits)).read();
}

}  // namespace rondo
