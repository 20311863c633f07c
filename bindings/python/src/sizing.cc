// Sizes of filters and their false-positive rates.
#include "trawl/sizing.h"

#include <string>

#include "bindings/python/src/support.h"

namespace trawl::python {

namespace {

FilterKind kind_of(const char* name) {
  const auto kind = filter_kind_named(name);
  if (!kind) {
    raise(PyExc_ValueError, std::string("no such kind of filter: \"") + name +
                                "\"; one of blocked, growing, classic, counting, cuckoo");
  }
  return *kind;
}

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

PyObject* size(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* kind = nullptr;
    PyObject* keys = nullptr;
    double rate = 0;
    if (PyArg_ParseTuple(args, "sOd", &kind, &keys, &rate) == 0) throw PythonError();
    const std::uint64_t capacity = unsigned_of(keys, "capacity", kMost);
    ClassicBloomFilter::Options options;
    options.capacity = capacity;
    options.false_positive_rate = rate;
    const FilterSize found = value_of(filter_size(kind_of(kind), options));
    return checked(
        Py_BuildValue("{s:s,s:K,s:d,s:K,s:I,s:d,s:d,s:K,s:K}", "kind", kind, "capacity",
                      static_cast<unsigned long long>(found.capacity), "target_rate",
                      found.target_rate, "bits", static_cast<unsigned long long>(found.bits),
                      "hashes", found.hashes, "bits_per_key", found.bits_per_key, "rate",
                      found.rate, "file_bytes", static_cast<unsigned long long>(found.file_bytes),
                      "memory", static_cast<unsigned long long>(found.memory_bytes())));
  });
}

PyObject* capacity(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* kind = nullptr;
    double rate = 0;
    PyObject* bits = nullptr;
    if (PyArg_ParseTuple(args, "sdO", &kind, &rate, &bits) == 0) throw PythonError();
    return PyLong_FromUnsignedLongLong(
        value_of(filter_capacity(kind_of(kind), rate, unsigned_of(bits, "bits", kMost))));
  });
}

PyObject* rate(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* kind = nullptr;
    PyObject* keys = nullptr;
    PyObject* bits = nullptr;
    if (PyArg_ParseTuple(args, "sOO", &kind, &keys, &bits) == 0) throw PythonError();
    return PyFloat_FromDouble(value_of(filter_rate(kind_of(kind), unsigned_of(keys, "keys", kMost),
                                                   unsigned_of(bits, "bits", kMost))));
  });
}

PyObject* bits_of_bloom(PyObject*, PyObject* args) {
  double keys = 0;
  double wanted = 0;
  if (PyArg_ParseTuple(args, "dd", &keys, &wanted) == 0) return nullptr;
  return PyFloat_FromDouble(bloom_bits(keys, wanted));
}

PyObject* hashes_of_bloom(PyObject*, PyObject* args) {
  double bits_per_key = 0;
  if (PyArg_ParseTuple(args, "d", &bits_per_key) == 0) return nullptr;
  return PyFloat_FromDouble(bloom_hashes(bits_per_key));
}

PyObject* rate_of_bloom(PyObject*, PyObject* args) {
  double keys = 0;
  double bits = 0;
  double hashes = 0;
  if (PyArg_ParseTuple(args, "ddd", &keys, &bits, &hashes) == 0) return nullptr;
  return PyFloat_FromDouble(bloom_rate(keys, bits, hashes));
}

PyMethodDef functions[] = {
    {"filter_size", &size, METH_VARARGS, "The size of a filter: (kind, capacity, rate) -> dict."},
    {"filter_capacity", &capacity, METH_VARARGS,
     "The most keys that fit: (kind, rate, bits) -> int."},
    {"filter_rate", &rate, METH_VARARGS, "The lowest rate: (kind, keys, bits) -> float."},
    {"bloom_bits", &bits_of_bloom, METH_VARARGS, "m = -n ln p / (ln 2)^2: (keys, rate) -> float."},
    {"bloom_hashes", &hashes_of_bloom, METH_VARARGS, "k = (m / n) ln 2: (bits_per_key) -> float."},
    {"bloom_rate", &rate_of_bloom, METH_VARARGS,
     "p = (1 - e^(-kn/m))^k: (keys, bits, hashes) -> float."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_sizing(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace trawl::python
