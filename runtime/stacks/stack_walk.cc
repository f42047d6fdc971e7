// SPDX-License-Identifier: Apache-2.0
#include "stack_walk.h"

#include <cstring>
#include <optional>
#include <span>

namespace rondo {
namespace {

constexpr size_t kMaxFrames = 64;
/// How much of a stack is searched for a frame pointer, and how long a frame may be.
constexpr uint64_t kMaxSearched = 64 << 10;
constexpr uint64_t kMaxFrameBytes = 8 << 20;
/// The longest function that is searched for a jump.
constexpr uint64_t kMaxScanned = 16 << 10;

class StackWalk {
 public:
  StackWalk(const ThreadRegisters& registers, const LoadedModules& modules, const OwnMemory& memory)
      : registers_(registers), modules_(modules), memory_(memory) {}

  std::vector<uint64_t> run() {
    std::vector<uint64_t> found;
    bool is_call = false;  // the address is behind a call, which may be a function's last instruction
    while (found.size() < kMaxFrames && registers_[DwarfRegister::kReturn]) {
      const uint64_t next = *registers_[DwarfRegister::kReturn];
      if (next == 0) break;
      const uint64_t address = next - (is_call ? 1 : 0);
      const LoadedModule* const module = modules_.find(address);
      const auto rules = module == nullptr ? std::nullopt : frame_rules(*module, address, memory_);
      const bool has_caller = rules ? step(*rules) : step_by_frame_pointer();
      if (module != nullptr || has_caller) found.push_back(address);
      if (!has_caller) break;
      is_call = !rules || !rules->is_signal_frame;
    }
    return found;
  }

 private:
  bool step(const FrameRules& rules) {
    using Keeping = FrameRules::SavedRegister::Keeping;
    if (rules.base == DwarfRegister::kFrame && !registers_[rules.base]) find_frame_pointer(rules);
    const auto base = registers_[rules.base];
    if (!base) return false;
    const uint64_t frame = *base + static_cast<uint64_t>(rules.offset);
    ThreadRegisters caller = registers_;
    for (size_t i = 0; i < caller.size(); ++i) {
      const auto& [how, offset] = rules.saved[i];
      if (how == Keeping::Lost) caller[i].reset();
      if (how == Keeping::AtOffset) caller[i] = memory_.read<uint64_t>(frame + static_cast<uint64_t>(offset));
    }
    if (rules.saved[DwarfRegister::kReturn].how != Keeping::AtOffset) return false;  // the outermost function
    return go_to(caller, frame);
  }

  /// Code without a table, as compilers make at run time, mostly keeps the frame pointer.
  bool step_by_frame_pointer() {
    const auto pointer = registers_[DwarfRegister::kFrame];
    if (!pointer) return false;
    ThreadRegisters caller;
    caller[DwarfRegister::kFrame] = memory_.read<uint64_t>(*pointer);
    caller[DwarfRegister::kReturn] = memory_.read<uint64_t>(*pointer + 8);
    return caller[DwarfRegister::kReturn] && is_after_call(*caller[DwarfRegister::kReturn]) &&
           go_to(caller, *pointer + 16);
  }

  /// A caller's frame lies above: a walk never goes in a ring.
  bool go_to(const ThreadRegisters& caller, uint64_t frame) {
    const auto stack = registers_[DwarfRegister::kStack];
    if (stack && (frame <= *stack || frame - *stack > kMaxFrameBytes)) return false;
    registers_ = caller;
    registers_[DwarfRegister::kStack] = frame;
    return true;
  }

  /// What is known of an address on the stack.
  enum class Likelihood {
    NoCaller,
    OtherCaller,  // of another function
    AnyCaller,    // by a pointer
    Caller,
  };

  /// Above the stack pointer, where the rules say, are the caller's frame pointer and an address behind a
  /// call. What earlier calls have left there may look alike, so a caller that calls another function, which
  /// has no jump to this one, comes second.
  void find_frame_pointer(const FrameRules& rules) {
    using Keeping = FrameRules::SavedRegister::Keeping;
    const auto& outer_at = rules.saved[DwarfRegister::kFrame];
    const auto& next_at = rules.saved[DwarfRegister::kReturn];
    const auto stack = registers_[DwarfRegister::kStack];
    if (!stack || outer_at.how != Keeping::AtOffset || next_at.how != Keeping::AtOffset) return;
    std::optional<uint64_t> second;
    for (uint64_t at = (*stack + 7) & ~uint64_t{7}; at - *stack < kMaxSearched; at += 8) {
      const uint64_t frame = at + static_cast<uint64_t>(rules.offset);
      const auto outer = memory_.read<uint64_t>(frame + static_cast<uint64_t>(outer_at.offset));
      const auto next = memory_.read<uint64_t>(frame + static_cast<uint64_t>(next_at.offset));
      if (!outer || !next) break;
      const Likelihood likelihood = judge_caller(*next, rules.function);
      // In functions without a frame pointer the register may hold anything.
      const bool may_be_outer = *outer < 2 || (*outer > at && *outer - at < kMaxFrameBytes);
      if (likelihood == Likelihood::OtherCaller && may_be_outer && !second) second = at;
      if (likelihood != Likelihood::Caller && !(likelihood == Likelihood::AnyCaller && may_be_outer))
        continue;
      registers_[DwarfRegister::kFrame] = at;
      return;
    }
    registers_[DwarfRegister::kFrame] = second;
  }

  /// Whether a call instruction is before the address, and may have called the function: E8 and a distance,
  /// or FF /2 in one of its lengths, which may call anything.
  Likelihood judge_caller(uint64_t address, uint64_t function) const {
    if (modules_.find(address - 1) == nullptr) return Likelihood::NoCaller;
    const auto bytes = memory_.read<std::array<uint8_t, 7>>(address - 7);
    if (!bytes) return Likelihood::NoCaller;
    const auto is_indirect = [&](size_t length) {
      return (*bytes)[7 - length] == 0xff && ((*bytes)[8 - length] & 0x38) == 0x10;
    };
    if ((*bytes)[2] == 0xe8) {
      const uint64_t target = behind_stub(address + distance_in(bytes->data() + 3));
      return target == function || jumps(target, function) ? Likelihood::Caller : Likelihood::OtherCaller;
    }
    for (const size_t length : {2u, 3u, 4u, 6u, 7u})
      if (is_indirect(length)) return Likelihood::AnyCaller;
    return Likelihood::NoCaller;
  }
  static uint64_t distance_in(const uint8_t* bytes) {
    int32_t distance = 0;
    std::memcpy(&distance, bytes, sizeof distance);
    return static_cast<uint64_t>(int64_t{distance});
  }
  /// Calls of other modules go through a stub: a jump to what a word says, FF 25 and the distance of the
  /// word, maybe behind F3 0F 1E FA or F2.
  uint64_t behind_stub(uint64_t address) const {
    const auto bytes = memory_.read<std::array<uint8_t, 16>>(address);
    for (size_t i = 0; bytes && i <= 5; ++i) {
      if ((*bytes)[i] != 0xff || (*bytes)[i + 1] != 0x25) continue;
      return memory_.read<uint64_t>(address + i + 6 + distance_in(bytes->data() + i + 2)).value_or(address);
    }
    return address;
  }
  /// Whether the function that begins at `from` has a jump to the one that begins at `to`: E9, or 0F 8x.
  bool jumps(uint64_t from, uint64_t to) const {
    const LoadedModule* const module = modules_.find(from);
    const auto rules = module == nullptr ? std::nullopt : frame_rules(*module, from, memory_);
    if (!rules || rules->bytes > kMaxScanned) return false;
    std::vector<uint8_t> code(rules->bytes);
    if (!memory_.copy(from, std::as_writable_bytes(std::span(code)))) return false;
    for (size_t i = 0; i + 5 <= code.size(); ++i) {
      const bool is_jump = code[i] == 0xe9 || (i > 0 && code[i - 1] == 0x0f && (code[i] & 0xf0) == 0x80);
      if (is_jump && from + i + 5 + distance_in(&code[i + 1]) == to) return true;
    }
    return false;
  }
  bool is_after_call(uint64_t address) const { return judge_caller(address, 0) != Likelihood::NoCaller; }

  ThreadRegisters registers_;
  const LoadedModules& modules_;
  const OwnMemory& memory_;
};

}  // namespace

std::vector<uint64_t> walk_stack(const ThreadRegisters& registers, const LoadedModules& modules,
                                 const OwnMemory& memory) {
  return StackWalk(registers, modules, memory).run();
}

}  // namespace rondo
