// Errors, texts and names.
#include <memory>

#include "bindings/c/call_guard.h"
#include "bindings/c/text.h"

struct trawl_error {
  trawl_status status;
  std::string message;
};

namespace trawl::c {
namespace {

// For a failure to allocate an error: never freed.
trawl_error* out_of_memory() noexcept {
  static trawl_error error{TRAWL_NO_SPACE, "out of memory"};  // short: needs no allocation
  return &error;
}

}  // namespace

trawl_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return TRAWL_INVALID_ARGUMENT;
    case ErrorCode::kInvalidUrl:
      return TRAWL_INVALID_URL;
    case ErrorCode::kUnsupportedScheme:
      return TRAWL_UNSUPPORTED_SCHEME;
    case ErrorCode::kNotFound:
      return TRAWL_NOT_FOUND;
    case ErrorCode::kAlreadyExists:
      return TRAWL_ALREADY_EXISTS;
    case ErrorCode::kProfileMismatch:
      return TRAWL_PROFILE_MISMATCH;
    case ErrorCode::kInUse:
      return TRAWL_IN_USE;
    case ErrorCode::kCorrupt:
      return TRAWL_CORRUPT;
    case ErrorCode::kUnsupportedVersion:
      return TRAWL_UNSUPPORTED_VERSION;
    case ErrorCode::kNoSpace:
      return TRAWL_NO_SPACE;
    case ErrorCode::kPermission:
      return TRAWL_PERMISSION;
    case ErrorCode::kIo:
      return TRAWL_IO;
    case ErrorCode::kUnavailable:
      return TRAWL_UNAVAILABLE;
    case ErrorCode::kClosed:
      return TRAWL_CLOSED;
  }
  return TRAWL_IO;
}

trawl_status report(trawl_error** error, trawl_status status, std::string_view message) noexcept {
  if (error == nullptr) return status;
  try {
    std::string text;
    for (const char c : message) {  // what a message quotes may have zero bytes
      if (c == '\0') {
        text += "\\0";
      } else {
        text += c;
      }
    }
    *error = new trawl_error{status, std::move(text)};
  } catch (...) {
    *error = out_of_memory();
  }
  return status;
}

}  // namespace trawl::c

const char* trawl_status_name(trawl_status status) {
  switch (status) {
    case TRAWL_OK:
      return "TRAWL_OK";
    case TRAWL_INVALID_ARGUMENT:
      return "TRAWL_INVALID_ARGUMENT";
    case TRAWL_INVALID_URL:
      return "TRAWL_INVALID_URL";
    case TRAWL_UNSUPPORTED_SCHEME:
      return "TRAWL_UNSUPPORTED_SCHEME";
    case TRAWL_NOT_FOUND:
      return "TRAWL_NOT_FOUND";
    case TRAWL_ALREADY_EXISTS:
      return "TRAWL_ALREADY_EXISTS";
    case TRAWL_PROFILE_MISMATCH:
      return "TRAWL_PROFILE_MISMATCH";
    case TRAWL_IN_USE:
      return "TRAWL_IN_USE";
    case TRAWL_CORRUPT:
      return "TRAWL_CORRUPT";
    case TRAWL_UNSUPPORTED_VERSION:
      return "TRAWL_UNSUPPORTED_VERSION";
    case TRAWL_NO_SPACE:
      return "TRAWL_NO_SPACE";
    case TRAWL_PERMISSION:
      return "TRAWL_PERMISSION";
    case TRAWL_IO:
      return "TRAWL_IO";
    case TRAWL_UNAVAILABLE:
      return "TRAWL_UNAVAILABLE";
    case TRAWL_CLOSED:
      return "TRAWL_CLOSED";
    case TRAWL_FORKED:
      return "TRAWL_FORKED";
    default:
      return "unknown status";
  }
}

const char* trawl_version(void) {
  return TRAWL_VERSION;
}

trawl_status trawl_error_status(const trawl_error* error) {
  return error == nullptr ? TRAWL_OK : error->status;
}

const char* trawl_error_message(const trawl_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

void trawl_error_free(trawl_error* error) {
  if (error != trawl::c::out_of_memory()) delete error;
}

trawl_str trawl_text_get(const trawl_text* text) {
  return text == nullptr ? trawl_str{"", 0} : trawl::c::str_of(text->text);
}

void trawl_text_free(trawl_text* text) {
  delete text;
}
