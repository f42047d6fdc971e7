// SPDX-License-Identifier: Apache-2.0
// The C API's way to the flight recorders.
#include "handles.h"
#include "health/flight_file.h"

rondo_status_t rondo_write_flight_file(const char* file) {
  return rondo::api::guarded("rondo_write_flight_file", nullptr, [&]() -> rondo::Status {
    if (file != nullptr && *file == '\0')
      return error(rondo::Code::InvalidArgument, "file is '': it must be a path, or NULL");
    return rondo::write_flight_file(file == nullptr ? "" : file);
  });
}
