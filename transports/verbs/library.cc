// SPDX-License-Identifier: Apache-2.0
#include "verbs/library.h"

#include <dlfcn.h>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

/// The first function that the library lacks; null if none.
const char* look_up(void* handle, Library& functions) {
  const auto find = [&](auto& function, const char* name, const char* version) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlvsym(handle, name, version));
    return function != nullptr;
  };
#define X(name, version) \
  if (!find(functions.name, "ibv_" #name, version)) return "ibv_" #name " (" version ")";
  RONDO_VERBS_FUNCTIONS(X)
#undef X
  find(functions.query_ece, "ibv_query_ece", "IBVERBS_1.10");
  find(functions.set_ece, "ibv_set_ece", "IBVERBS_1.10");
  find(functions.reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  if (!find(functions.query_gid_table, "_ibv_query_gid_table", "IBVERBS_1.11"))
    return "_ibv_query_gid_table (IBVERBS_1.11)";
  return nullptr;
}

}  // namespace

Result<Library> load_library(const char* file) {
  void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return error(ErrorKind::VerbsLibraryMissing, "InfiniBand verbs cannot be used: {}",
                 why != nullptr ? why : file);
  }
  Library functions;
  if (const char* const missing = look_up(handle, functions))
    return error(ErrorKind::VerbsLibraryOld, "{} has no {}: InfiniBand verbs need rdma-core 33 or later",
                 file, missing);
  return functions;
}

Result<const Library*> library() {
  static const auto& loaded = *new Result<Library>(load_library("libibverbs.so.1"));
  if (!loaded.ok()) return loaded.status();
  return &loaded.value();
}

}  // namespace rondo::verbs
