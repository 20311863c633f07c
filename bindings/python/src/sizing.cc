// Sizes of filters and their false-positive rates.
#include "trawl/sizing.h"

#include <limits>
#include <string>

#include "bindings/python/src/support.h"

namespace trawl::python {

namespace {

FilterKind kind_of(PyObject* text) {
  const std::string_view name = text_of(text, "kind");
  const auto kind = filter_kind_named(name);
  if (!kind) {
    raise(PyExc_ValueError, "no such kind of filter: \"" + std::string(name) +
                                "\"; one of blocked, growing, classic, counting, cuckoo");
  }
  return *kind;
}

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

// A number of the textbook's formulas.
double number_of(PyObject* object, const char* name, double most) {
  const double value = real_of(object, name);
  if (!(value >= 0 && value <= most)) {
    raise(PyExc_ValueError,
          std::string(name) + (most == 1 ? " must be from 0 to 1" : " must be finite, at least 0"));
  }
  return value;
}
constexpr double kFinite = std::numeric_limits<double>::max();

PyObject* size(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* kind = nullptr;
    PyObject* keys = nullptr;
    PyObject* rate = nullptr;
    const char* names[] = {"kind", "capacity", "rate", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:filter_size", const_cast<char**>(names),
                                    &kind, &keys, &rate) == 0) {
      throw PythonError();
    }
    ClassicBloomFilter::Options options;
    options.capacity = unsigned_of(keys, "capacity", kMost);
    options.false_positive_rate = real_of(rate, "rate");
    const FilterKind which = kind_of(kind);
    const FilterSize found = value_of(filter_size(which, options));
    return checked(Py_BuildValue(
        "{s:O,s:K,s:d,s:K,s:I,s:d,s:d,s:K,s:K}", "kind", str_of(text_of(kind, "kind")).get(),
        "capacity", static_cast<unsigned long long>(found.capacity), "target_rate",
        found.target_rate, "bits", static_cast<unsigned long long>(found.bits), "hashes",
        found.hashes, "bits_per_key", found.bits_per_key, "rate", found.rate, "file_bytes",
        static_cast<unsigned long long>(found.file_bytes), "memory",
        static_cast<unsigned long long>(found.memory_bytes())));
  });
}

PyObject* capacity(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* kind = nullptr;
    PyObject* rate = nullptr;
    PyObject* bits = nullptr;
    const char* names[] = {"kind", "rate", "bits", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:filter_capacity", const_cast<char**>(names),
                                    &kind, &rate, &bits) == 0) {
      throw PythonError();
    }
    return PyLong_FromUnsignedLongLong(value_of(
        filter_capacity(kind_of(kind), real_of(rate, "rate"), unsigned_of(bits, "bits", kMost))));
  });
}

PyObject* rate(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* kind = nullptr;
    PyObject* keys = nullptr;
    PyObject* bits = nullptr;
    const char* names[] = {"kind", "keys", "bits", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:filter_rate", const_cast<char**>(names),
                                    &kind, &keys, &bits) == 0) {
      throw PythonError();
    }
    return PyFloat_FromDouble(value_of(filter_rate(kind_of(kind), unsigned_of(keys, "keys", kMost),
                                                   unsigned_of(bits, "bits", kMost))));
  });
}

PyObject* bits_of_bloom(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* keys = nullptr;
    PyObject* wanted = nullptr;
    const char* names[] = {"keys", "rate", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OO:bloom_bits", const_cast<char**>(names), &keys,
                                    &wanted) == 0) {
      throw PythonError();
    }
    const double count = number_of(keys, "keys", kFinite);
    const double share = number_of(wanted, "rate", 1);
    if (share == 0) raise(PyExc_ValueError, "rate must be above 0: no filter is without error");
    return PyFloat_FromDouble(bloom_bits(count, share));
  });
}

PyObject* hashes_of_bloom(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* bits_per_key = nullptr;
    const char* names[] = {"bits_per_key", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O:bloom_hashes", const_cast<char**>(names),
                                    &bits_per_key) == 0) {
      throw PythonError();
    }
    return PyFloat_FromDouble(bloom_hashes(number_of(bits_per_key, "bits_per_key", kFinite)));
  });
}

PyObject* rate_of_bloom(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* keys = nullptr;
    PyObject* bits = nullptr;
    PyObject* hashes = nullptr;
    const char* names[] = {"keys", "bits", "hashes", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:bloom_rate", const_cast<char**>(names),
                                    &keys, &bits, &hashes) == 0) {
      throw PythonError();
    }
    const double room = number_of(bits, "bits", kFinite);
    if (room == 0) raise(PyExc_ValueError, "bits must be above 0");
    return PyFloat_FromDouble(
        bloom_rate(number_of(keys, "keys", kFinite), room, number_of(hashes, "hashes", kFinite)));
  });
}

PyMethodDef functions[] = {
    {"filter_size", method(size), kWithKeywords,
     "filter_size(kind, capacity, rate)\n--\n\nThe size of a filter, a dict."},
    {"filter_capacity", method(capacity), kWithKeywords,
     "filter_capacity(kind, rate, bits)\n--\n\nThe most keys that fit."},
    {"filter_rate", method(rate), kWithKeywords,
     "filter_rate(kind, keys, bits)\n--\n\nThe lowest rate."},
    {"bloom_bits", method(bits_of_bloom), kWithKeywords,
     "bloom_bits(keys, rate)\n--\n\nm = -n ln p / (ln 2)^2."},
    {"bloom_hashes", method(hashes_of_bloom), kWithKeywords,
     "bloom_hashes(bits_per_key)\n--\n\nk = (m / n) ln 2."},
    {"bloom_rate", method(rate_of_bloom), kWithKeywords,
     "bloom_rate(keys, bits, hashes)\n--\n\np = (1 - e^(-kn/m))^k."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_sizing(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace trawl::python
