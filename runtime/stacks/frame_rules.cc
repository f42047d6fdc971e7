// SPDX-License-Identifier: Apache-2.0
#include "frame_rules.h"

#include <cstring>
#include <string>
#include <vector>

namespace rondo {
namespace {

// Encodings of pointers (DW_EH_PE_*).
constexpr uint8_t kSigned4 = 0x0b;
constexpr uint8_t kUnsigned4 = 0x03;
constexpr uint8_t kRelative = 0x10;       // to the place where it stands
constexpr uint8_t kTableRelative = 0x30;  // to the beginning of .eh_frame_hdr
constexpr uint8_t kFormat = 0x0f;
constexpr uint8_t kOmitted = 0xff;

constexpr size_t kMaxRecordBytes = 1 << 20;
constexpr size_t kMaxRemembered = 64;  // DW_CFA_remember_state, nested

/// Reads values that have been copied from `address`. After a failed read ok() is false.
class RecordReader {
 public:
  RecordReader(std::vector<std::byte> bytes, uint64_t address)
      : bytes_(std::move(bytes)), address_(address) {}

  template <typename T>
  T get() {
    T value{};
    if (!ok_ || bytes_.size() - at_ < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t get_unsigned() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = get<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return value;
  }
  int64_t get_signed() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = get<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    ok_ = false;
    return 0;
  }
  /// An address in one of the encodings that linkers for x86-64 write.
  uint64_t get_pointer(uint8_t encoding) {
    const uint64_t here = address_ + at_;
    uint64_t value = 0;
    switch (encoding & kFormat) {
      case 0x00:
      case 0x04:
      case 0x0c: value = get<uint64_t>(); break;
      case kUnsigned4: value = get<uint32_t>(); break;
      case kSigned4: value = static_cast<uint64_t>(int64_t{get<int32_t>()}); break;
      default: ok_ = false;
    }
    return (encoding & kRelative) != 0 ? here + value : value;
  }
  std::string get_text() {
    std::string text;
    for (char c = get<char>(); ok_ && c != '\0'; c = get<char>()) text += c;
    return text;
  }
  void skip(uint64_t bytes) {
    ok_ = ok_ && bytes <= bytes_.size() - at_;
    if (ok_) at_ += bytes;
  }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool is_at_end() const { return !ok_ || at_ == bytes_.size(); }
  size_t at() const { return at_; }

 private:
  std::vector<std::byte> bytes_;
  uint64_t address_;
  size_t at_ = 0;
  bool ok_ = true;
};

/// The body of a CIE or FDE.
std::optional<RecordReader> record_at(uint64_t address, const OwnMemory& memory) {
  const auto length = memory.read<uint32_t>(address);
  if (!length || *length == 0 || *length > kMaxRecordBytes) return std::nullopt;
  std::vector<std::byte> bytes(*length);
  if (!memory.copy(address + sizeof *length, bytes)) return std::nullopt;
  return RecordReader(std::move(bytes), address + sizeof *length);
}

/// The record of the function that has the address, or of the last one before it; 0: there is none. The table
/// is sorted, in the one form that linkers write.
uint64_t function_record(const LoadedModule& module, uint64_t address, const OwnMemory& memory) {
  struct TableHead {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame;
    uint32_t count;
  };
  struct TableRow {
    int32_t function, record;
  };
  const auto head = memory.read<TableHead>(module.unwind_at);
  if (!head || head->version != 1 || head->frame_encoding != (kRelative | kSigned4) ||
      head->count_encoding != kUnsigned4 || head->table_encoding != (kTableRelative | kSigned4))
    return 0;
  const auto absolute = [&](int32_t offset) {
    return module.unwind_at + static_cast<uint64_t>(int64_t{offset});
  };
  uint64_t found = 0;
  for (uint64_t low = 0, high = head->count; low < high;) {
    const uint64_t middle = low + (high - low) / 2;
    const auto row = memory.read<TableRow>(module.unwind_at + sizeof(TableHead) + middle * sizeof(TableRow));
    if (!row) return 0;
    if (absolute(row->function) > address) {
      high = middle;
      continue;
    }
    found = absolute(row->record);
    low = middle + 1;
  }
  return found;
}

/// What functions have in common.
struct CommonRecord {
  uint64_t code_unit = 1;
  int64_t data_unit = 1;
  uint8_t encoding = 0;
  bool is_augmented = false;
  bool is_signal_frame = false;
  RecordReader program;
};

std::optional<CommonRecord> common_record(uint64_t address, const OwnMemory& memory) {
  auto reader = record_at(address, memory);
  if (!reader || reader->get<uint32_t>() != 0) return std::nullopt;  // 0 marks it
  const auto version = reader->get<uint8_t>();
  const std::string augmentation = reader->get_text();
  CommonRecord common{.program = *reader};
  RecordReader& from = common.program;
  common.code_unit = from.get_unsigned();
  common.data_unit = from.get_signed();
  const uint64_t return_register = version == 1 ? from.get<uint8_t>() : from.get_unsigned();
  if (return_register != DwarfRegister::kReturn) return std::nullopt;
  common.is_augmented = augmentation.starts_with('z');
  if (!common.is_augmented && !augmentation.empty()) return std::nullopt;
  const uint64_t more = common.is_augmented ? from.get_unsigned() : 0;
  const size_t begin = from.at();
  for (const char letter : augmentation) {
    if (letter == 'R') common.encoding = from.get<uint8_t>();
    if (letter == 'L') from.get<uint8_t>();
    if (letter == 'P') {
      const auto encoding = from.get<uint8_t>();
      if (encoding != kOmitted) from.get_pointer(encoding);
    }
    if (letter == 'S') common.is_signal_frame = true;
  }
  if (!from.ok() || from.at() - begin > more) return std::nullopt;
  from.skip(more - (from.at() - begin));
  return common;
}

/// Carries out a program of call frame instructions (DW_CFA_*) up to an address.
class FrameProgram {
 public:
  using Keeping = FrameRules::SavedRegister::Keeping;
  FrameProgram(const CommonRecord& common, uint64_t begin, uint64_t address)
      : common_(common), location_(begin), address_(address) {}

  void run_common() {
    RecordReader program = common_.program;
    run(program);
    first_ = rules_;
  }
  void run(RecordReader& program) {
    while (!program.is_at_end() && location_ <= address_) take(program, program.get<uint8_t>());
    is_understood_ = is_understood_ && program.ok();
  }
  std::optional<FrameRules> rules() const {
    return is_understood_ && is_base_known_ ? std::optional(rules_) : std::nullopt;
  }

 private:
  void take(RecordReader& program, uint8_t code) {
    const uint8_t low = code & 0x3f;
    switch (code & 0xc0) {
      case 0x40: return advance(low);
      case 0x80: return save(low, static_cast<int64_t>(program.get_unsigned()) * common_.data_unit);
      case 0xc0: return restore(low);
      default: return take_long(program, low);
    }
  }
  void take_long(RecordReader& program, uint8_t code) {
    const auto number = [&] { return program.get_unsigned(); };
    const auto scaled = [&] { return program.get_signed() * common_.data_unit; };
    switch (code) {
      case 0x00: return;  // nop
      case 0x01: location_ = program.get_pointer(common_.encoding); return;
      case 0x02: return advance(program.get<uint8_t>());
      case 0x03: return advance(program.get<uint16_t>());
      case 0x04: return advance(program.get<uint32_t>());
      case 0x05: {  // offset_extended
        const uint64_t which = number();
        return save(which, static_cast<int64_t>(number()) * common_.data_unit);
      }
      case 0x06: return restore(number());
      case 0x07: return set(number(), {.how = Keeping::Lost});  // undefined
      case 0x08: return set(number(), {.how = Keeping::Same});
      case 0x09:  // in a register: compilers do not write it
        number();
        number();
        is_understood_ = false;
        return;
      case 0x0a:
        if (remembered_.size() == kMaxRemembered) is_understood_ = false;
        if (is_understood_) remembered_.push_back(rules_);
        return;
      case 0x0b: return recall();
      case 0x0c: {  // def_cfa
        const uint64_t which = number();
        return set_base(which, static_cast<int64_t>(number()));
      }
      case 0x0d: return set_base(number(), rules_.offset);
      case 0x0e: return set_base(rules_.base, static_cast<int64_t>(number()));
      case 0x0f:  // as an expression: a stub of lazy binding, or the return from a signal's handler
        program.skip(number());
        is_base_known_ = false;
        return;
      case 0x10:
      case 0x16: {  // a register as an expression
        const uint64_t which = number();
        program.skip(number());
        return set(which, {.how = Keeping::Lost});
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t which = number();
        return save(which, scaled());
      }
      case 0x12: {  // def_cfa_sf
        const uint64_t which = number();
        return set_base(which, scaled());
      }
      case 0x13: return set_base(rules_.base, scaled());
      case 0x2e: number(); return;  // GNU_args_size
      default: is_understood_ = false; program.fail();
    }
  }
  void advance(uint64_t units) { location_ += units * common_.code_unit; }
  void set(uint64_t which, FrameRules::SavedRegister saved) {
    if (which < rules_.saved.size()) rules_.saved[which] = saved;  // others are those of vectors
  }
  void save(uint64_t which, int64_t offset) { set(which, {.how = Keeping::AtOffset, .offset = offset}); }
  void restore(uint64_t which) {
    if (which < rules_.saved.size()) rules_.saved[which] = first_.saved[which];
  }
  void set_base(uint64_t which, int64_t offset) {
    is_base_known_ = which < DwarfRegister::kReturn;
    rules_.base = which;
    rules_.offset = offset;
  }
  void recall() {
    if (remembered_.empty()) {
      is_understood_ = false;
      return;
    }
    rules_ = remembered_.back();
    remembered_.pop_back();
  }

  const CommonRecord& common_;
  uint64_t location_;
  const uint64_t address_;
  FrameRules rules_;
  FrameRules first_;
  std::vector<FrameRules> remembered_;
  bool is_understood_ = true;
  bool is_base_known_ = true;
};

}  // namespace

std::optional<FrameRules> frame_rules(const LoadedModule& module, uint64_t address, const OwnMemory& memory) {
  const uint64_t at = module.unwind_at == 0 ? 0 : function_record(module, address, memory);
  if (at == 0) return std::nullopt;
  auto function = record_at(at, memory);
  if (!function) return std::nullopt;
  const auto back = function->get<uint32_t>();
  const auto common = common_record(at + sizeof(uint32_t) - back, memory);
  if (back == 0 || !common) return std::nullopt;
  const uint64_t begin = function->get_pointer(common->encoding);
  const uint64_t bytes = function->get_pointer(common->encoding & kFormat);
  if (common->is_augmented) function->skip(function->get_unsigned());
  if (!function->ok() || address < begin || address - begin >= bytes) return std::nullopt;
  FrameProgram program(*common, begin, address);
  program.run_common();
  program.run(*function);
  auto rules = program.rules();
  if (!rules) return std::nullopt;
  rules->function = begin;
  rules->bytes = bytes;
  rules->is_signal_frame = common->is_signal_frame;
  return rules;
}

}  // namespace rondo
