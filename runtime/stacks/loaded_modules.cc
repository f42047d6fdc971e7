// SPDX-License-Identifier: Apache-2.0
#include "loaded_modules.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

namespace rondo {
namespace {

/// Notes are read as they are in memory: the module cannot go while its list is walked.
std::string build_id_in(const char* notes, size_t bytes) {
  constexpr size_t kMaxId = 64;
  const auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t name_at = at + sizeof note;
    const size_t text_at = name_at + padded(note.n_namesz);
    const size_t end = text_at + padded(note.n_descsz);
    if (end > bytes || end <= at) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMaxId && note.n_namesz == 4 &&
        std::memcmp(notes + name_at, "GNU", 4) == 0) {
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i)
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[text_at + i]));
      return id;
    }
    at = end;
  }
  return {};
}

std::string own_path() {
  std::array<char, 4096> path;
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return length < 0 ? std::string() : std::string(path.data(), static_cast<size_t>(length));
}

LoadedModule module_of(const dl_phdr_info& info) {
  LoadedModule module{.path = info.dlpi_name, .bias = info.dlpi_addr};
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      module.code.push_back({begin, begin + part.p_memsz});
    if (part.p_type == PT_GNU_EH_FRAME) module.unwind_at = begin;
    if (part.p_type == PT_NOTE && module.build_id.empty())
      module.build_id = build_id_in(reinterpret_cast<const char*>(begin), part.p_memsz);
  }
  return module;
}

int add_module(dl_phdr_info* info, size_t /*bytes*/, void* to) {
  auto& all = *static_cast<std::vector<LoadedModule>*>(to);
  all.push_back(module_of(*info));
  return 0;
}

}  // namespace

bool LoadedModule::has(uint64_t address) const {
  return std::ranges::any_of(
      code, [&](const AddressRange& range) { return address >= range.begin && address < range.end; });
}

std::string LoadedModule::library() const {
  const auto begins_with = [&](std::initializer_list<const char*> starts) {
    return std::ranges::any_of(starts, [&](const char* start) { return name().starts_with(start); });
  };
  if (begins_with({"libc.so", "libc-", "libpthread", "ld-linux", "ld-", "linux-vdso"}))
    return "the C library";
  if (begins_with({"libstdc++", "libgcc_s", "libc++"})) return "the C++ library";
  return begins_with({"librondo.so", "libnccl.so"}) ? "Rondo" : "";
}

LoadedModules::LoadedModules() {
  ::dl_iterate_phdr(add_module, &all_);
  if (!all_.empty() && all_.front().path.empty()) all_.front().path = own_path();
}

const LoadedModule* LoadedModules::find(uint64_t address) const {
  const auto found = std::ranges::find_if(all_, [&](const LoadedModule& one) { return one.has(address); });
  return found == all_.end() ? nullptr : &*found;
}

}  // namespace rondo
