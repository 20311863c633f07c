#include "bindings/python/src/support.h"

#include <atomic>
#include <cmath>

#include <pthread.h>

namespace trawl::python {

namespace {

// relaxed: only a child's only thread, inside fork(), writes it.
std::atomic<std::uint32_t> forks{0};
[[maybe_unused]] const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

std::string type_name(PyObject* object) {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : "object";
}

}  // namespace

std::uint32_t fork_generation() noexcept {
  return forks.load(std::memory_order_relaxed);
}

std::string_view text_of(PyObject* object, const char* name) {
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) throw PythonError();  // a lone surrogate: UnicodeEncodeError
    return {text, static_cast<std::size_t>(size)};
  }
  if (PyBytes_Check(object)) {
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    checked(PyBytes_AsStringAndSize(object, &bytes, &size));
    return {bytes, static_cast<std::size_t>(size)};
  }
  raise(PyExc_TypeError, std::string(name) + " must be str or bytes, not " + type_name(object));
}

std::string_view text_or_empty(PyObject* object, const char* name) {
  if (object == nullptr || object == Py_None) return {};
  return text_of(object, name);
}

Ref str_of(std::string_view text) {
  return Ref(checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape")));
}

Ref bytes_of(std::string_view bytes) {
  return Ref(
      checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()))));
}

double real_of(PyObject* object, const char* name) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      PyErr_Clear();
      raise(PyExc_TypeError, std::string(name) + " must be a number, not " + type_name(object));
    }
    throw PythonError();
  }
  return value;
}

double seconds_of(PyObject* object, const char* name, double most_seconds) {
  const double value = real_of(object, name);
  if (!(value >= 0 && value <= most_seconds)) {
    raise(PyExc_ValueError, std::string(name) + " must be from 0 to " +
                                std::to_string(static_cast<long long>(most_seconds)) + " seconds");
  }
  return value;
}

std::uint64_t unsigned_of(PyObject* object, const char* name, std::uint64_t most) {
  const Ref index(PyNumber_Index(object));
  if (!index) {
    PyErr_Clear();
    raise(PyExc_TypeError, std::string(name) + " must be an int, not " + type_name(object));
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred() != nullptr || value > most) {
    PyErr_Clear();
    raise(PyExc_ValueError, std::string(name) + " must be from 0 to " + std::to_string(most));
  }
  return value;
}

std::int64_t signed_of(PyObject* object, const char* name, std::int64_t least, std::int64_t most) {
  const Ref index(PyNumber_Index(object));
  if (!index) {
    PyErr_Clear();
    raise(PyExc_TypeError, std::string(name) + " must be an int, not " + type_name(object));
  }
  const long long value = PyLong_AsLongLong(index.get());
  if (PyErr_Occurred() != nullptr || value < least || value > most) {
    PyErr_Clear();
    raise(PyExc_ValueError, std::string(name) + " must be from " + std::to_string(least) + " to " +
                                std::to_string(most));
  }
  return value;
}

Ref items_of(PyObject* iterable, const char* name) {
  if (PyUnicode_Check(iterable) || PyBytes_Check(iterable)) {
    raise(PyExc_TypeError,
          std::string(name) + " must be an iterable of keys, not one " + type_name(iterable));
  }
  return Ref(checked(PySequence_Tuple(iterable)));
}

void add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject** type) {
  Ref made(checked(PyType_FromSpec(&spec)));
  if (type != nullptr) {
    *type = reinterpret_cast<PyTypeObject*>(made.get());
    Py_INCREF(made.get());
  }
  checked(PyModule_AddObjectRef(module, name, made.get()));
}

}  // namespace trawl::python
