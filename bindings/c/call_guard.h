// What every call of the C interface does: no exception leaves it, and errors become objects.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "trawl/result.h"
#include "trawl/trawl.h"

namespace trawl::c {

// A failed call: its status and message.
struct Failure {
  trawl_status status;
  std::string message;
};
using Checked = tl::expected<void, Failure>;

trawl_status status_of(ErrorCode code) noexcept;
inline tl::unexpected<Failure> failure(trawl_status status, std::string message) {
  return tl::unexpected<Failure>(Failure{status, std::move(message)});
}
inline tl::unexpected<Failure> invalid(std::string message) {
  return failure(TRAWL_INVALID_ARGUMENT, std::move(message));
}
inline tl::unexpected<Failure> failure(Error error) {
  return failure(status_of(error.code), std::move(error.message));
}

// Stores an error, if the caller wants one; never throws.
trawl_status report(trawl_error** error, trawl_status status, std::string_view message) noexcept;

// Runs `body`, which returns a Checked.
template <class Body>
trawl_status guarded(trawl_error** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Checked done = body();
    return done ? TRAWL_OK : report(error, done.error().status, done.error().message);
  } catch (const std::bad_alloc&) {
    return report(error, TRAWL_NO_SPACE, "out of memory");
  } catch (const std::exception& thrown) {
    return report(error, TRAWL_IO, thrown.what());
  } catch (...) {
    return report(error, TRAWL_IO, "an unknown C++ exception");
  }
}

// The contents of a view. Valid as long as the view is.
inline tl::expected<std::string_view, Failure> view_of(trawl_str text, const char* name) {
  if (text.size == 0) return std::string_view();
  if (text.data == nullptr || text.size > PTRDIFF_MAX)
    return invalid(std::string(name) + " has a size, but no data");
  return std::string_view(text.data, text.size);
}
inline trawl_str str_of(std::string_view text) noexcept {
  return trawl_str{text.data(), text.size()};
}

// The same for the path of a file or directory.
inline tl::expected<std::string, Failure> path_of(trawl_str text, const char* name) {
  const auto path = view_of(text, name);
  if (!path) return tl::unexpected(path.error());
  if (path->empty()) return invalid(std::string(name) + " is empty");
  if (path->find('\0') != std::string_view::npos)
    return invalid(std::string(name) + " has a zero byte");
  return std::string(*path);
}

inline Checked require(const void* pointer, const char* name) {
  if (pointer == nullptr) return invalid(std::string(name) + " is NULL");
  return {};
}

// An array of `count` elements; NULL only if there are none.
template <class Element>
Checked require_array(const Element* first, std::size_t count, const char* name) {
  if (first == nullptr && count > 0)
    return invalid(std::string(name) + " is NULL, but their count is not 0");
  if (count > PTRDIFF_MAX / sizeof(Element))
    return invalid(std::string(name) + ": no array has that many elements");
  return {};
}

// A member that a program with a newer header has set must be known here.
inline constexpr std::size_t kMaxStruct = 4096;

// A struct with a size that some version of the interface may have: all have multiples of this.
template <class Struct>
Checked require_struct(const Struct* given, const char* name) {
  if (given == nullptr) return invalid(std::string(name) + " is NULL");
  const std::size_t size = given->struct_size;
  if (size < sizeof(std::size_t) || size > kMaxStruct || size % alignof(std::size_t) != 0) {
    return invalid(std::string(name) +
                   " has a struct_size that cannot be: set it with the struct's ..._init()");
  }
  return {};
}

// The struct at `in`, with the defaults of `init` for members that its program does not know.
template <class Struct>
tl::expected<Struct, Failure> read_struct(const Struct* in, void (*init)(Struct*),
                                          const char* name) {
  if (auto given = require_struct(in, name); !given) return tl::unexpected(given.error());
  Struct out;
  init(&out);
  const std::size_t size = in->struct_size;
  const char* const bytes = reinterpret_cast<const char*>(in);
  for (std::size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] != 0) {
      return invalid(std::string(name) +
                     " has a member that this version of libtrawl does not know: install a newer "
                     "one");
    }
  }
  std::memcpy(&out, in, size < sizeof(Struct) ? size : sizeof(Struct));
  out.struct_size = sizeof(Struct);
  return out;
}

// Writes to the caller's struct what it has room for.
template <class Struct>
Checked write_struct(Struct* out, Struct value, const char* name) {
  if (auto given = require_struct(out, name); !given) return given;
  const std::size_t size = out->struct_size;
  value.struct_size = size;
  std::memcpy(out, &value, size < sizeof(Struct) ? size : sizeof(Struct));
  return {};
}

// Sets all members to 0 but the size: what most ..._init() functions do.
template <class Struct>
void clear_struct(Struct* out) noexcept {
  if (out == nullptr) return;
  std::memset(out, 0, sizeof(Struct));
  out->struct_size = sizeof(Struct);
}

}  // namespace trawl::c
