// Result<T> and Error: how every public function of Trawl reports failure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

// Declares tl::expected before its definition, as an attribute of a class must be, so that the
// compiler warns when a Result is dropped. Has no effect if the program included that header
// earlier.
#ifndef TL_EXPECTED_HPP
namespace tl {
template <class T, class E>
class [[nodiscard]] expected;
}
#endif
#include <tl/expected.hpp>

namespace trawl {

// The kind of failure. The message says what was wrong, where, and what to do.
enum class ErrorCode {
  kInvalidArgument,     // a value outside what the call or the key allows
  kInvalidUrl,          // not a URL by the WHATWG URL Standard
  kUnsupportedScheme,   // a well-formed URL of a scheme other than http and https
  kNotFound,            // no such file, directory, lease
  kAlreadyExists,       // the directory already holds a crawl
  kProfileMismatch,     // the directory's crawl has other rules for canonical keys
  kInUse,               // another process has the directory open
  kCorrupt,             // a file is damaged, truncated or not ours
  kUnsupportedVersion,  // a file was written by a newer Trawl
  kNoSpace,             // too little disk space or memory
  kPermission,          // the operating system refused access
  kIo,                  // any other read or write failure
  kUnavailable,         // a needed service is out of reach: the same call may succeed later
  kClosed,              // the object was closed, or stopped after an earlier failure
};

// Why a call failed.
struct [[nodiscard]] Error {
  ErrorCode code;
  std::string message;
};

// The result of a call, or its Error.
template <class T>
using Result = tl::expected<T, Error>;

// `return error(ErrorCode::kNotFound, "...")` from any function that returns a Result.
[[gnu::cold]] inline tl::unexpected<Error> error(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// An error of the operating system: maps the errno value (ENOSPC, EACCES, ...) to a code and
// appends the system's message to `what`: "cannot write state/MANIFEST: No space left on device".
Error system_error(int errno_value, std::string_view what);

}  // namespace trawl
