// SPDX-License-Identifier: Apache-2.0
#include "id_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error_kinds.h"

namespace rondo {
namespace {

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFLNK: return "a symbolic link";
    case S_IFIFO: return "a FIFO";
    case S_IFDIR: return "a directory";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "not a regular file";
  }
}

Status judge(const std::string& path, const struct stat& found) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  std::string wrong;
  if (!S_ISREG(found.st_mode))
    wrong = kind_of(found.st_mode);
  else if (found.st_uid != ::geteuid())
    wrong = fmt::format("a file of user {}", found.st_uid);
  else if ((found.st_mode & kOthers) != 0)
    wrong = fmt::format("open to other users (mode {:04o})", found.st_mode & 07777);
  if (wrong.empty()) return {};
  return error(ErrorKind::IdFileRefused,
               "method: {} is {}: it must be a regular file of user {} with mode 0600, as rank 0 makes it",
               path, wrong, ::geteuid());
}

Status cannot_open(const std::string& path, int error_number) {
  if (error_number == ENOENT || error_number == ESTALE)
    return error(Code::RemoteError, "{} does not exist yet", path);
  return system_error("cannot open " + path, error_number, ErrorKind::FileUnreadable);
}

}  // namespace

Result<std::shared_ptr<IdFile>> IdFile::write(const std::string& path, const UniqueId& id) {
  const std::string draft = fmt::format("{}.{:016x}", path, random_u64());
  std::array<std::byte, UniqueId::kBytes> bytes;
  id.write(bytes);
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd.valid()) return system_error("cannot write " + draft, errno, ErrorKind::FileUnwritable);
  struct stat made {};
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fstat(fd.get(), &made) != 0 || ::rename(draft.c_str(), path.c_str()) != 0) {
    const Status failure = system_error("cannot write " + path, errno, ErrorKind::FileUnwritable);
    ::unlink(draft.c_str());
    return failure;
  }
  return std::shared_ptr<IdFile>(new IdFile(path, made.st_dev, made.st_ino));
}

IdFile::~IdFile() {
  struct stat found {};
  if (::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_)
    ::unlink(path_.c_str());
}

Result<UniqueId> IdFile::read(const std::string& path) {
  struct stat found {};
  // Checked before it is opened: opening a device may have side effects.
  if (::lstat(path.c_str(), &found) != 0) return cannot_open(path, errno);
  RONDO_TRY(judge(path, found));
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return cannot_open(path, errno);
  if (::fstat(fd.get(), &found) != 0) return cannot_open(path, errno);
  RONDO_TRY(judge(path, found));
  std::array<std::byte, UniqueId::kBytes> bytes{};
  if (::read(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return error(Code::RemoteError, "{} does not exist yet", path);
  const auto id = UniqueId::read(bytes);
  if (!id.ok()) return id.status().within(path).as(Code::RemoteError);
  return id;
}

}  // namespace rondo
