// SPDX-License-Identifier: Apache-2.0
// Names of errors.
#include <array>

#include "driver.h"

namespace {

struct Error {
  CUresult code;
  const char* name;
  const char* text;
};

#define ERROR_ROW(name, text) \
  Error { name, #name, text }
constexpr std::array kErrors = {
    ERROR_ROW(CUDA_SUCCESS, "success"),
    ERROR_ROW(CUDA_ERROR_INVALID_VALUE, "an argument is not valid"),
    ERROR_ROW(CUDA_ERROR_OUT_OF_MEMORY, "there is not enough memory"),
    ERROR_ROW(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called"),
    ERROR_ROW(CUDA_ERROR_DEINITIALIZED, "the process ends"),
    ERROR_ROW(CUDA_ERROR_NO_DEVICE, "there is no device"),
    ERROR_ROW(CUDA_ERROR_INVALID_DEVICE, "there is no such device"),
    ERROR_ROW(CUDA_ERROR_INVALID_IMAGE, "not an image of code"),
    ERROR_ROW(CUDA_ERROR_INVALID_CONTEXT, "no context is current, or it is the wrong one"),
    ERROR_ROW(CUDA_ERROR_MAP_FAILED, "memory cannot be mapped"),
    ERROR_ROW(CUDA_ERROR_UNMAP_FAILED, "memory cannot be unmapped"),
    ERROR_ROW(CUDA_ERROR_ALREADY_MAPPED, "it is mapped already"),
    ERROR_ROW(CUDA_ERROR_NO_BINARY_FOR_GPU, "no code for this device"),
    ERROR_ROW(CUDA_ERROR_NOT_MAPPED, "it is not mapped"),
    ERROR_ROW(CUDA_ERROR_ECC_UNCORRECTABLE, "memory lost bits"),
    ERROR_ROW(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "the devices cannot reach each other's memory"),
    ERROR_ROW(CUDA_ERROR_INVALID_PTX, "the PTX is not valid"),
    ERROR_ROW(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the PTX is of a later version"),
    ERROR_ROW(CUDA_ERROR_NVLINK_UNCORRECTABLE, "a link between devices failed"),
    ERROR_ROW(CUDA_ERROR_FILE_NOT_FOUND, "there is no such file"),
    ERROR_ROW(CUDA_ERROR_OPERATING_SYSTEM, "the operating system refused"),
    ERROR_ROW(CUDA_ERROR_INVALID_HANDLE, "not a handle of this kind"),
    ERROR_ROW(CUDA_ERROR_ILLEGAL_STATE, "not now"),
    ERROR_ROW(CUDA_ERROR_NOT_FOUND, "there is no such name"),
    ERROR_ROW(CUDA_ERROR_NOT_READY, "it is not done yet"),
    ERROR_ROW(CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel used memory that is not there"),
    ERROR_ROW(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "a block does not fit the device"),
    ERROR_ROW(CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel took too long"),
    ERROR_ROW(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled already"),
    ERROR_ROW(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access is not enabled"),
    ERROR_ROW(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"),
    ERROR_ROW(CUDA_ERROR_ASSERT, "an assertion failed in a kernel"),
    ERROR_ROW(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the memory is registered already"),
    ERROR_ROW(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the memory is not registered"),
    ERROR_ROW(CUDA_ERROR_ILLEGAL_INSTRUCTION, "a kernel met an illegal instruction"),
    ERROR_ROW(CUDA_ERROR_MISALIGNED_ADDRESS, "a kernel used a misaligned address"),
    ERROR_ROW(CUDA_ERROR_LAUNCH_FAILED, "a kernel failed"),
    ERROR_ROW(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "the blocks do not fit the device together"),
    ERROR_ROW(CUDA_ERROR_NOT_PERMITTED, "not permitted here"),
    ERROR_ROW(CUDA_ERROR_NOT_SUPPORTED, "not supported"),
    ERROR_ROW(CUDA_ERROR_SYSTEM_NOT_READY, "the system is not ready"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not permitted while a stream captures"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture failed before"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_MERGE, "it would join two captures"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture did not begin in this stream"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a fork of the capture was not joined"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a dependency would cross the bounds of the capture"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream would depend on a capture"),
    ERROR_ROW(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture"),
    ERROR_ROW(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread began the capture"),
    ERROR_ROW(CUDA_ERROR_TIMEOUT, "it took too long"),
    ERROR_ROW(CUDA_ERROR_UNKNOWN, "unknown"),
};
#undef ERROR_ROW

CUresult look_up(CUresult code, const char* Error::*what, const char** found) {
  STANDIN_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_VALUE);
  *found = nullptr;
  for (const Error& error : kErrors)
    if (error.code == code) *found = error.*what;
  return *found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** name) { return look_up(error, &Error::name, name); }
CUresult cuGetErrorString(CUresult error, const char** text) { return look_up(error, &Error::text, text); }
