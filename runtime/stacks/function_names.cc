// SPDX-License-Identifier: Apache-2.0
#include "function_names.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fd.h"

namespace rondo {
namespace {

constexpr size_t kMaxTableBytes = 64 << 20;
constexpr size_t kMaxNameBytes = 100;

Fd opened(const std::string& path) { return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); }

template <typename T>
bool read_at(const Fd& file, uint64_t at, T* to, size_t count) {
  const size_t bytes = count * sizeof(T);
  return ::pread(file.get(), to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

template <typename T>
std::optional<std::vector<T>> table_at(const Fd& file, uint64_t at, size_t count) {
  if (count > kMaxTableBytes / sizeof(T)) return std::nullopt;
  std::vector<T> rows(count);
  if (!read_at(file, at, rows.data(), count)) return std::nullopt;
  return rows;
}

/// Without arguments, those of templates included, and without the type of the result:
/// "std::vector<int> rondo::Pipe<int>::send(long)" becomes "rondo::Pipe::send".
std::string without_types(std::string_view text) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  std::string name;
  int depth = 0;  // of templates
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_operator =
        name.ends_with("operator") || name.ends_with("operator<") || name.ends_with("operator-");
    if (text.substr(i).starts_with(kUnnamed) && depth == 0) {
      name += kUnnamed;
      i += kUnnamed.size() - 1;
    } else if (!is_operator && text[i] == '<') {
      ++depth;
    } else if (!is_operator && text[i] == '>') {
      --depth;
    } else if (!is_operator && depth == 0 && text[i] == '(') {
      break;
    } else if (!name.ends_with("operator") && depth == 0 && text[i] == ' ') {
      name.clear();
    } else if (depth == 0) {
      name += text[i];
    }
  }
  return name;
}

std::string short_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> clear(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 && clear != nullptr ? without_types(clear.get()) : symbol;
  if (name.empty()) name = symbol;
  if (name.size() > kMaxNameBytes) name = name.substr(0, kMaxNameBytes - 3) + "...";
  return name;
}

}  // namespace

/// Programs mostly have a full table, libraries often only what they export.
std::vector<FunctionNames::FunctionSymbol> FunctionNames::read(const std::string& path) {
  std::vector<FunctionSymbol> found;
  const Fd file = opened(path);
  Elf64_Ehdr head{};
  if (!file.valid() || !read_at(file, 0, &head, 1)) return found;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_shentsize != sizeof(Elf64_Shdr))
    return found;
  const auto sections = table_at<Elf64_Shdr>(file, head.e_shoff, head.e_shnum);
  if (!sections) return found;
  for (const Elf64_Shdr& section : *sections) {
    const bool has_symbols = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    if (!has_symbols || section.sh_link >= sections->size()) continue;
    const auto symbols = table_at<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
    if (!symbols) continue;
    const uint64_t names = (*sections)[section.sh_link].sh_offset;
    for (const Elf64_Sym& symbol : *symbols) {
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      found.push_back({symbol.st_value, symbol.st_size, names + symbol.st_name,
                       ELF64_ST_BIND(symbol.st_info) == STB_LOCAL});
    }
  }
  return found;
}

std::string FunctionNames::at(const LoadedModule& module, uint64_t offset) {
  const auto [entry, is_new] = modules_.try_emplace(module.path);
  if (is_new) entry->second = read(module.path);
  const Fd file = opened(module.path);
  std::string best;
  bool is_best_local = true;
  for (const FunctionSymbol& symbol : entry->second) {
    if (offset < symbol.begin || offset - symbol.begin >= std::max<uint64_t>(symbol.bytes, 1)) continue;
    std::array<char, 1024> text{};
    const ssize_t got = ::pread(file.get(), text.data(), text.size() - 1, static_cast<off_t>(symbol.name_at));
    if (got <= 0) continue;
    std::string name = text.data();
    // Of aliases the one that programs call.
    const auto is_worse = [](bool is_local, const std::string& one) {
      return std::pair(is_local, one.starts_with('_') && !one.starts_with("_Z"));
    };
    if (!best.empty() && is_worse(is_best_local, best) <= is_worse(symbol.is_local, name)) continue;
    best = std::move(name);
    is_best_local = symbol.is_local;
  }
  return best.empty() ? best : short_name(best);
}

}  // namespace rondo
