// SPDX-License-Identifier: Apache-2.0
// LoadedModules: the program and the shared objects of this process, and which of them has an address. Plain
// data once made; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

struct LoadedModule {
  std::string path;        // of its file
  uint64_t bias = 0;       // what is added to the addresses in its file
  uint64_t unwind_at = 0;  // of its table of call frame information (.eh_frame_hdr); 0: it has none
  std::string build_id;    // hexadecimal; empty: it has none
  struct AddressRange {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  std::vector<AddressRange> code;

  bool has(uint64_t address) const;
  /// The file's name without its folder.
  std::string name() const { return path.substr(path.rfind('/') + 1); }
  /// "the C library", with the dynamic linker, "the C++ library" or "Rondo"; empty: the program or another
  /// library.
  std::string library() const;
};

class LoadedModules {
 public:
  LoadedModules();
  /// The one whose code has the address; null: none.
  const LoadedModule* find(uint64_t address) const;

 private:
  std::vector<LoadedModule> all_;
};

}  // namespace rondo
