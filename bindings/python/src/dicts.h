// Writing the dicts that calls return.
#pragma once

#include <cstdint>
#include <optional>

#include "trawl/clocks.h"

#include "bindings/python/src/support.h"

namespace trawl::python {

inline double unix_seconds(SystemTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
inline Ref none() {
  return Ref::of_borrowed(Py_None);
}
inline Ref time_or_none(const std::optional<SystemTime>& time) {
  return time ? Ref(checked(PyFloat_FromDouble(unix_seconds(*time)))) : none();
}
inline void put(PyObject* dict, const char* name, Ref value) {
  checked(value.get());
  checked(PyDict_SetItemString(dict, name, value.get()));
}
inline void put(PyObject* dict, const char* name, std::uint64_t value) {
  put(dict, name, Ref(PyLong_FromUnsignedLongLong(value)));
}
inline void put(PyObject* dict, const char* name, double value) {
  put(dict, name, Ref(PyFloat_FromDouble(value)));
}

}  // namespace trawl::python
