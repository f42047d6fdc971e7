// SPDX-License-Identifier: Apache-2.0
// FunctionNames: the names of functions by their addresses, from the symbol tables of their modules' files.
// The dynamic linker is not asked, because its lock may be what the program waits for. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "loaded_modules.h"

namespace rondo {

class FunctionNames {
 public:
  /// Of the function that has this address in the module's file, without its arguments; empty: unknown.
  std::string at(const LoadedModule& module, uint64_t offset);

 private:
  struct FunctionSymbol {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    uint64_t name_at = 0;  // in the file
    bool is_local = false;
  };
  static std::vector<FunctionSymbol> read(const std::string& path);

  std::map<std::string, std::vector<FunctionSymbol>> modules_;  // by path
};

}  // namespace rondo
