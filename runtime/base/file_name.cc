// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.h"

#include <unistd.h>

#include "base/error_kinds.h"

namespace rondo {

std::string marks_of(std::string_view name) {
  std::string marks;
  for (size_t at = name.find('%'); at != std::string_view::npos; at = name.find('%', at + 2))
    marks += at + 1 < name.size() ? name[at + 1] : '\0';
  return marks;
}

Status check_file_name(std::string_view argument, std::string_view name, std::string_view marks) {
  const std::string accepted = std::string(marks) + '%';
  if (marks_of(name).find_first_not_of(accepted) == std::string::npos) return {};
  std::string allowed;
  for (const char one : marks) allowed += fmt::format("%{}, ", one);
  return error(ErrorKind::FileNameInvalid,
               "{} is '{}': after a % it may only have {}or %% for a percent sign", argument, name, allowed);
}

Result<std::string> process_file_name(Setting which) {
  const std::string name = setting(which).value_or("");
  const std::string_view variable = setting_info(which).variable;
  RONDO_TRY(check_file_name(variable, name, kProcessMarks));
  if (!name.empty() && marks_of(name).find_first_of("pr") == std::string::npos)
    return error(ErrorKind::FileNameInvalid,
                 "{} is '{}': it must have %p (the process id) or %r (the rank) in it, or processes would "
                 "overwrite one another's files",
                 variable, name);
  return name;
}

std::string expanded_file_name(std::string_view name, int rank) {
  std::string expanded;
  for (size_t at = 0; at < name.size(); ++at) {
    const char mark = name[at] == '%' && at + 1 < name.size() ? name[++at] : '\0';
    switch (mark) {
      case '\0': expanded += name[at]; break;
      case 'h': expanded += host_name(); break;
      case 'p': expanded += std::to_string(::getpid()); break;
      case 'r': expanded += std::to_string(rank); break;
      default: expanded += mark;
    }
  }
  return expanded;
}

std::string host_name() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace rondo
