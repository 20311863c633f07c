#include <cerrno>
#include <cstring>
#include <system_error>

#include "trawl/result.h"

namespace trawl {

namespace {

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return ErrorCode::kNoSpace;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermission;
    case ENOENT:
      return ErrorCode::kNotFound;
    case EEXIST:
      return ErrorCode::kAlreadyExists;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Error system_error(int errno_value, std::string_view what) {
  return Error{code_of(errno_value),
               std::string(what) + ": " + std::generic_category().message(errno_value)};
}

}  // namespace trawl
