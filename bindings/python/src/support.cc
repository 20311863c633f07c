#include "bindings/python/src/support.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace trawl::python {

namespace {

// relaxed: only a child's only thread, inside fork(), writes it.
std::atomic<std::uint32_t> forks{0};
// The thread that ends the interpreter. Written once, before `ending`.
pthread_t ending_thread;
// release by leave_others_behind(), acquire by is_left_behind(): they see `ending_thread`.
std::atomic<bool> ending{false};
// How many threads are about to take the GIL in retake_gil(). seq_cst with `ending`: a thread sees
// the end, or is seen by it.
std::atomic<int> retaking{0};

// In a child of fork(), which has one thread: the others do not come back for the GIL.
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] {
  forks.fetch_add(1, std::memory_order_relaxed);
  retaking.store(0, std::memory_order_relaxed);
});

constexpr double kLastUnixTime = 4e9;  // in 2096

std::string type_name(PyObject* object) {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  const char* text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : "object";
}

}  // namespace

bool is_left_behind() noexcept {
  // acquire: pairs with the store of leave_others_behind(), before which it wrote the thread.
  return ending.load(std::memory_order_acquire) &&
         ::pthread_equal(ending_thread, ::pthread_self()) == 0;
}

void retake_gil(PyThreadState* state) noexcept {
  // seq_cst, as all here: pairs with leave_others_behind(), which either sees this thread or is
  // seen.
  retaking.fetch_add(1, std::memory_order_seq_cst);
  if (ending.load(std::memory_order_seq_cst) &&
      ::pthread_equal(ending_thread, ::pthread_self()) == 0) {
    retaking.fetch_sub(1, std::memory_order_seq_cst);
    for (;;)
      ::pause();
  }
  PyEval_RestoreThread(state);
  // seq_cst: pairs with leave_others_behind().
  retaking.fetch_sub(1, std::memory_order_seq_cst);
}

void leave_others_behind() {
  ending_thread = ::pthread_self();
  // seq_cst, as below: pairs with retake_gil().
  ending.store(true, std::memory_order_seq_cst);
  const WithoutGil others_run;
  while (retaking.load(std::memory_order_seq_cst) > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void let_forked_children_exit() {
  static const std::uint32_t parents = fork_generation();
  [[maybe_unused]] static const int handler = ::on_exit(
      [](int status, void*) {
        if (fork_generation() == parents) return;
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
}

std::uint32_t fork_generation() noexcept {
  return forks.load(std::memory_order_relaxed);
}

Ref message_of(std::string_view text) {
  return Ref(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

void raise(PyObject* type, const std::string& message) {
  if (const Ref text = message_of(message); text) PyErr_SetObject(type, text.get());
  throw PythonError();
}

PyObject* refuse_to_pickle(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    raise(PyExc_TypeError, "cannot pickle or copy a " + type_name(self) + " object");
  });
}

void require_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
    raise(PyExc_ImportError, "trawl works in the main interpreter only, not in subinterpreters");
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
    if (PyErr_ExceptionMatches(PyExc_OverflowError) != 0) {
      PyErr_Clear();
      raise(PyExc_ValueError, std::string(name) + " is larger than any float");
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

std::chrono::milliseconds ms_of(double seconds) noexcept {
  return std::chrono::milliseconds(std::max(std::llround(seconds * 1000), seconds > 0 ? 1LL : 0LL));
}

SystemTime wall_time_of(PyObject* object, const char* name) {
  const double value = real_of(object, name);
  if (!(value <= kLastUnixTime) || std::isinf(value))
    raise(PyExc_ValueError, std::string(name) + " must be a Unix time before 2096");
  return SystemTime(std::chrono::duration_cast<SystemTime::duration>(
      std::chrono::duration<double>(std::max(value, 0.0))));
}

namespace {

// An object's __index__(), whose own exceptions are kept.
Ref index_of(PyObject* object, const char* name) {
  if (PyIndex_Check(object) == 0)
    raise(PyExc_TypeError, std::string(name) + " must be an int, not " + type_name(object));
  return Ref(checked(PyNumber_Index(object)));
}

}  // namespace

std::uint64_t unsigned_of(PyObject* object, const char* name, std::uint64_t most) {
  const Ref index = index_of(object, name);
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred() != nullptr || value > most) {
    PyErr_Clear();
    raise(PyExc_ValueError, std::string(name) + " must be from 0 to " + std::to_string(most));
  }
  return value;
}

std::int64_t signed_of(PyObject* object, const char* name, std::int64_t least, std::int64_t most) {
  const Ref index = index_of(object, name);
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

PyObject* allocate_object(PyTypeObject* type, PyObject*, PyObject*) {
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

void raise_unmade(PyObject* object) {
  raise(PyExc_RuntimeError,
        "this " + type_name(object) +
            " was not made: call super().__init__() in the subclass' __init__()");
}

void require_unmade(PyObject* object, const void* value) {
  if (value != nullptr) raise(PyExc_RuntimeError, "this " + type_name(object) + " is made already");
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
