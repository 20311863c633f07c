// The exceptions: trawl.Error and one for each kind of failure.
#include <array>

#include "bindings/python/src/support.h"

namespace trawl::python {

namespace {

struct Kind {
  const char* name;
  PyObject* second_base;  // of Python's own; null: none
  PyObject* type = nullptr;
};

// Python's module lives as long as the process.
PyObject* base_error = nullptr;
std::array<Kind, 15> kinds;

// The number of an error's kind.
std::size_t number_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 0;
    case ErrorCode::kInvalidUrl:
      return 1;
    case ErrorCode::kUnsupportedScheme:
      return 2;
    case ErrorCode::kNotFound:
      return 3;
    case ErrorCode::kAlreadyExists:
      return 4;
    case ErrorCode::kProfileMismatch:
      return 5;
    case ErrorCode::kInUse:
      return 6;
    case ErrorCode::kCorrupt:
      return 7;
    case ErrorCode::kUnsupportedVersion:
      return 8;
    case ErrorCode::kNoSpace:
      return 9;
    case ErrorCode::kPermission:
      return 10;
    case ErrorCode::kIo:
      return 11;
    case ErrorCode::kUnavailable:
      return 12;
    case ErrorCode::kClosed:
      return 13;
  }
  return 11;
}
constexpr std::size_t kForked = 14;

}  // namespace

void set_error(const Error& error) {
  PyObject* const type = kinds[number_of(error.code)].type;
  if (const Ref text = message_of(error.message); text) PyErr_SetObject(type, text.get());
}

void set_forked() {
  PyErr_SetString(
      kinds[kForked].type,
      "the frontier was opened before fork(): only the parent may use it; open it after "
      "fork()");
}

void add_errors(PyObject* module) {
  kinds = {{{"InvalidArgumentError", PyExc_ValueError},
            {"InvalidUrlError", PyExc_ValueError},
            {"UnsupportedSchemeError", PyExc_ValueError},
            {"NotFoundError", nullptr},
            {"AlreadyExistsError", nullptr},
            {"ProfileMismatchError", nullptr},
            {"InUseError", nullptr},
            {"CorruptError", nullptr},
            {"UnsupportedVersionError", nullptr},
            {"NoSpaceError", PyExc_OSError},
            {"PermissionDeniedError", PyExc_OSError},
            {"StorageError", PyExc_OSError},
            {"UnavailableError", nullptr},
            {"ClosedError", nullptr},
            {"ForkedError", nullptr}}};
  base_error = checked(PyErr_NewExceptionWithDoc("trawl.Error", "A failed call of Trawl.",
                                                 PyExc_Exception, nullptr));
  checked(PyModule_AddObjectRef(module, "Error", base_error));
  for (Kind& kind : kinds) {
    const Ref bases(kind.second_base == nullptr
                        ? checked(PyTuple_Pack(1, base_error))
                        : checked(PyTuple_Pack(2, base_error, kind.second_base)));
    kind.type = checked(
        PyErr_NewException((std::string("trawl.") + kind.name).c_str(), bases.get(), nullptr));
    checked(PyModule_AddObjectRef(module, kind.name, kind.type));
  }
}

}  // namespace trawl::python
