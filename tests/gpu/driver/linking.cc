// SPDX-License-Identifier: Apache-2.0
// The driver's linker. It produces an image that is never used, and stores its inputs in
// RONDO_STANDIN_LINK_DIR, for a test that links them with NVIDIA's tools.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "graph.h"
#include "library.h"

namespace rondo::standin {
namespace {

CUresult take_option(CUlinkState_st& state, CUjit_option option, void* value) {
  const auto number = reinterpret_cast<uintptr_t>(value);
  switch (option) {
    case CU_JIT_MAX_REGISTERS: state.max_registers = static_cast<unsigned>(number); break;
    case CU_JIT_ERROR_LOG_BUFFER: state.error_log = static_cast<char*>(value); break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: state.error_log_bytes = number; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void keep(const CUlinkState_st& state) {
  const std::string& folder = driver().settings.link_folder;
  if (folder.empty()) return;
  std::ofstream(folder + "/max_registers") << state.max_registers;
  for (size_t i = 0; i < state.parts.size(); ++i)
    std::ofstream(folder + "/part-" + std::to_string(i) + ".fatbin") << state.parts[i];
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_REQUIRE(state != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(use_context(context));
    auto made = std::make_shared<CUlinkState_st>();
    for (unsigned i = 0; i < count; ++i) STANDIN_TRY(take_option(*made, options[i], values[i]));
    *state = driver().links.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*,
                       unsigned, CUjit_option*, void**) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(driver().links.find(state) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    STANDIN_REQUIRE(type == CU_JIT_INPUT_FATBINARY && data != nullptr && bytes != 0,
                    CUDA_ERROR_INVALID_VALUE);
    state->parts.emplace_back(static_cast<const char*>(data), bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  const CUresult asked = admit(__func__);
  const Lock lock(driver().mutex);
  STANDIN_REQUIRE(driver().links.find(state) != nullptr, CUDA_ERROR_INVALID_HANDLE);
  STANDIN_REQUIRE(image != nullptr && !state->parts.empty(), CUDA_ERROR_INVALID_VALUE);
  if (asked != CUDA_SUCCESS && state->error_log != nullptr)
    std::snprintf(state->error_log, state->error_log_bytes, "error   : asked of the stand-in\n");
  STANDIN_TRY(asked);
  keep(*state);
  *image = state->parts.front().data();
  if (bytes != nullptr) *bytes = state->parts.front().size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  return call(__func__,
              [&](Lock&) { return driver().links.remove(state) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
