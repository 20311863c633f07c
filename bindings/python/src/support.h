// What every part of the extension uses: owned references, the GIL, text from Python, errors.
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <Python.h>
#include <cxxabi.h>

#include "trawl/clocks.h"
#include "trawl/result.h"

namespace trawl::python {

// Whether the interpreter ends and this is not the thread that ends it: such a thread may not touch
// Python's objects, whether it comes from C++ or is unwound by Python.
bool is_left_behind() noexcept;
// Takes the GIL again. A thread that is left behind sleeps instead for the little that remains:
// before 3.14 Python would end it inside of C++, and with it the process.
void retake_gil(PyThreadState* state) noexcept;
// The calling thread ends the interpreter. Returns when no other thread is about to take the GIL
// here.
void leave_others_behind();

// An owned reference; null after a failed call, with a Python exception set.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && !is_left_behind()) Py_DECREF(object_);
  }
  static Ref of_borrowed(PyObject* object) noexcept {
    Py_XINCREF(object);
    return Ref(object);
  }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Lets other Python threads run until the end of the scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { retake_gil(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// A Python exception is set: unwinds to the entry of the call, which returns null.
struct PythonError {};

// Sets the exception of trawl that belongs to an error.
void set_error(const Error& error);
// The exception for an object that belongs to the parent of this process.
void set_forked();

// A str for a message, in which bytes that are not UTF-8 are escaped: it can always be printed.
Ref message_of(std::string_view text);

[[noreturn]] void raise(PyObject* type, const std::string& message);

// For the slot of __reduce__: objects that own memory or files of C++ can be neither pickled nor
// copied.
PyObject* refuse_to_pickle(PyObject* self, PyObject*);
inline constexpr PyMethodDef kNoPickle{"__reduce__", &refuse_to_pickle, METH_NOARGS, nullptr};

// Raises an error in other interpreters than the main one: the types, and what they refer to,
// belong to that one.
void require_main_interpreter();

template <class Value>
Value value_of(Result<Value> result) {
  if (!result) {
    set_error(result.error());
    throw PythonError();
  }
  if constexpr (!std::is_void_v<Value>) return std::move(*result);
}

inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return object;
}
inline void checked(int result) {
  if (result < 0) throw PythonError();
}

// Runs `body`, so that no C++ exception reaches Python; the end of a thread by Python passes.
// Returns `failed` after one.
template <class Returned, class Body>
Returned guarded(Returned failed, Body&& body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;  // the interpreter ends while this thread runs Python code in `body`
  } catch (const PythonError&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& thrown) {
    PyErr_SetString(PyExc_RuntimeError, thrown.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
  return failed;
}
template <class Body>
PyObject* guarded(Body&& body) {
  return guarded<PyObject*>(nullptr, std::forward<Body>(body));
}

// The bytes of a str (as UTF-8) or of bytes; they live as long as the object.
std::string_view text_of(PyObject* object, const char* name);
// The same, or an empty view for None and null.
std::string_view text_or_empty(PyObject* object, const char* name);
// A str of UTF-8, in which bytes that are not are replaced by lone surrogates (PEP 383).
Ref str_of(std::string_view text);
Ref bytes_of(std::string_view bytes);

// Seconds, an int or float, from 0 to `most_seconds`.
double seconds_of(PyObject* object, const char* name, double most_seconds);
// Rounded, but never from some time to none.
std::chrono::milliseconds ms_of(double seconds) noexcept;
std::uint64_t unsigned_of(PyObject* object, const char* name, std::uint64_t most);
// A Unix time in seconds: a number, and none that no clock shows.
SystemTime wall_time_of(PyObject* object, const char* name);
std::int64_t signed_of(PyObject* object, const char* name, std::int64_t least, std::int64_t most);
double real_of(PyObject* object, const char* name);

// The objects of an iterable, held until the tuple goes. str and bytes are refused: their letters
// are not what was meant.
Ref items_of(PyObject* iterable, const char* name);

// The tp_new of types whose tp_init makes the C++ value: the pointer to it is null until then, also
// if a subclass does not call its base's __init__().
PyObject* allocate_object(PyTypeObject* type, PyObject*, PyObject*);
// The exceptions for an object without a value, and for a second __init__().
[[noreturn]] void raise_unmade(PyObject* object);
void require_unmade(PyObject* object, const void* value);

// For tables of methods.
template <class Function>
PyCFunction method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}
inline constexpr int kWithKeywords = METH_VARARGS | METH_KEYWORDS;

// Adds a heap type made from `spec` to the module.
void add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject** type = nullptr);

// Each adds its part to the module.
void add_errors(PyObject* module);
void add_filters(PyObject* module);
void add_sizing(PyObject* module);
void add_documents(PyObject* module);
void add_frontier(PyObject* module);

// How often this process is the child of a fork.
std::uint32_t fork_generation() noexcept;
// From now on children of fork() end by _exit() when they call exit(): RocksDB's static destructors
// would wait for threads that only the parent has.
void let_forked_children_exit();

}  // namespace trawl::python
