// SPDX-License-Identifier: Apache-2.0
// ncclParam*(): NCCL's parameters are the variables of the table, with their values from the environment.
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "comm.h"
#include "variables.h"

struct ncclParamHandle {};

namespace rondo::nccl {
namespace {

thread_local std::string text;
thread_local std::vector<const char*> keys;

/// Keys are variable names, with or without "NCCL_".
const Variable* find_key(const std::string& key) {
  const Variable* found = find_variable(key);
  return found != nullptr ? found : find_variable("NCCL_" + key);
}

/// Handles are rows of the table.
const Variable* row_of(ncclParamHandle_t handle) {
  const auto* row = reinterpret_cast<const Variable*>(handle);
  for (const Variable& one : all_variables())
    if (&one == row) return row;
  return nullptr;
}

Outcome bind(ncclParamHandle_t* out, const char* key) {
  if (out == nullptr) return null_argument("out");
  *out = nullptr;
  if (key == nullptr) return null_argument("key");
  const Variable* row = find_key(key);
  if (row == nullptr) return wrong(ncclInvalidArgument, "there is no parameter '{}'", key);
  *out = reinterpret_cast<ncclParamHandle_t>(const_cast<Variable*>(row));
  return {};
}

Outcome value_of(ncclParamHandle_t handle, std::string& value) {
  const Variable* row = row_of(handle);
  if (row == nullptr) return wrong(ncclInvalidArgument, "handle is not from ncclParamBind()");
  value = variable(row->name);
  return {};
}

template <typename Number>
Outcome number_of(ncclParamHandle_t handle, Number* out) {
  if (out == nullptr) return null_argument("out");
  std::string value;
  RONDO_NCCL_TRY(value_of(handle, value));
  const char* const end = value.data() + value.size();
  Number number{};
  const auto [at, problem] = std::from_chars(value.data(), end, number);
  if (value.empty() || problem != std::errc() || at != end)
    return wrong(ncclInvalidUsage, "the parameter is '{}', which is not a number of that type", value);
  *out = number;
  return {};
}

template <typename Number>
ncclResult_t get(const char* call, ncclParamHandle_t handle, Number* out) {
  return guarded(call, nullptr, [&] { return number_of(handle, out); });
}

Outcome bytes_of(ncclParamHandle_t handle, void* out, int room, int* length) {
  if (out == nullptr) return null_argument("out");
  if (length == nullptr) return null_argument("len");
  std::string value;
  RONDO_NCCL_TRY(value_of(handle, value));
  if (room < 0 || static_cast<size_t>(room) < value.size())
    return wrong(ncclInvalidArgument, "maxLen is {}, and the value has {} bytes", room, value.size());
  std::memcpy(out, value.data(), value.size());
  *length = static_cast<int>(value.size());
  return {};
}

Outcome by_key(const char* key, const char** value, int* length) {
  if (value == nullptr) return null_argument("value");
  if (length == nullptr) return null_argument("valueLen");
  ncclParamHandle_t handle = nullptr;
  RONDO_NCCL_TRY(bind(&handle, key));
  RONDO_NCCL_TRY(value_of(handle, text));
  *value = text.c_str();
  *length = static_cast<int>(text.size());
  return {};
}

Outcome all_keys(const char*** table, int* length) {
  if (table == nullptr) return null_argument("table");
  if (length == nullptr) return null_argument("tableLen");
  keys.clear();
  for (const Variable& row : all_variables()) keys.push_back(row.name);
  *table = keys.data();
  *length = static_cast<int>(keys.size());
  return {};
}

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclParamBind(ncclParamHandle_t* handle, const char* key) {
  return guarded("ncclParamBind", nullptr, [&] { return rondo::nccl::bind(handle, key); });
}

ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* value) {
  return get("ncclParamGetI8", handle, value);
}
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* value) {
  return get("ncclParamGetI16", handle, value);
}
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* value) {
  return get("ncclParamGetI32", handle, value);
}
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* value) {
  return get("ncclParamGetI64", handle, value);
}
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* value) {
  return get("ncclParamGetU8", handle, value);
}
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* value) {
  return get("ncclParamGetU16", handle, value);
}
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* value) {
  return get("ncclParamGetU32", handle, value);
}
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* value) {
  return get("ncclParamGetU64", handle, value);
}

ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** value) {
  return guarded("ncclParamGetStr", nullptr, [&]() -> Outcome {
    if (value == nullptr) return null_argument("out");
    RONDO_NCCL_TRY(value_of(handle, text));
    *value = text.c_str();
    return {};
  });
}

ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* value, int room, int* length) {
  return guarded("ncclParamGet", nullptr, [&] { return bytes_of(handle, value, room, length); });
}

ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* length) {
  return guarded("ncclParamGetParameter", nullptr, [&] { return by_key(key, value, length); });
}

ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* length) {
  return guarded("ncclParamGetAllParameterKeys", nullptr, [&] { return all_keys(table, length); });
}

void ncclParamDumpAll() {
  for (const Variable& row : all_variables())
    Logger::info(fmt::format("{}={}", row.name, variable(row.name)));
}

RONDO_NCCL_ALIAS(ParamBind);
RONDO_NCCL_ALIAS(ParamGetI8);
RONDO_NCCL_ALIAS(ParamGetI16);
RONDO_NCCL_ALIAS(ParamGetI32);
RONDO_NCCL_ALIAS(ParamGetI64);
RONDO_NCCL_ALIAS(ParamGetU8);
RONDO_NCCL_ALIAS(ParamGetU16);
RONDO_NCCL_ALIAS(ParamGetU32);
RONDO_NCCL_ALIAS(ParamGetU64);
RONDO_NCCL_ALIAS(ParamGetStr);
RONDO_NCCL_ALIAS(ParamGet);
RONDO_NCCL_ALIAS(ParamGetParameter);
RONDO_NCCL_ALIAS(ParamGetAllParameterKeys);
RONDO_NCCL_ALIAS(ParamDumpAll);
