// IdFile: a file by which rank 0 gives the other ranks the unique id, and with it the job's secret. So it is
// read only where nobody else can have written it. Any thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "comm/unique_id.h"

namespace rondo {

class IdFile {
 public:
  /// Others find it whole or not at all, in the place of whatever was there.
  static Result<std::shared_ptr<IdFile>> write(const std::string& path, const UniqueId& id);
  /// Removes the file, unless it is another's by now.
  ~IdFile();

  /// RemoteError where there is none, or none that is whole; InvalidArgument where it is not a regular file
  /// of this user that is closed to everybody else. Never waits.
  static Result<UniqueId> read(const std::string& path);

 private:
  IdFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}
  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace rondo
