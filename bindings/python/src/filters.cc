// BloomFilter (growing), BlockedBloomFilter, ClassicBloomFilter, CountingBloomFilter, CuckooFilter.
#include <memory>
#include <type_traits>
#include <vector>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"

#include "bindings/python/src/filter_stats.h"
#include "bindings/python/src/support.h"

namespace trawl::python {

namespace {

// Batches from this many keys on let other threads run.
constexpr std::size_t kBatchWithoutGil = 64;

template <class Filter>
struct FilterObject {
  PyObject_HEAD Filter* filter;
};

// The methods of one kind of filter.
template <class Filter>
class FilterType {
 public:
  static void add_to(PyObject* module, const char* name, const char* qualified, const char* doc) {
    static std::vector<PyMethodDef> methods = made_methods();
    static PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(doc)},
                                  {Py_tp_new, reinterpret_cast<void*>(&allocate_object)},
                                  {Py_tp_init, reinterpret_cast<void*>(&make)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                                  {Py_tp_methods, methods.data()},
                                  {Py_sq_contains, reinterpret_cast<void*>(&contains)},
                                  {Py_sq_length, reinterpret_cast<void*>(&length)},
                                  {0, nullptr}};
    static PyType_Spec spec = {qualified, sizeof(FilterObject<Filter>), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    add_type(module, spec, name, &type_of_filter);
  }

 private:
  static inline PyTypeObject* type_of_filter = nullptr;
  static constexpr bool kErases = requires(Filter filter) { filter.erase(Fingerprint{}); };
  static constexpr bool kMerges = requires(Filter filter) { filter.merge(filter); };

  static std::vector<PyMethodDef> made_methods() {
    std::vector<PyMethodDef> methods = {
        {"add", &add, METH_O,
         "add($self, key, /)\n--\n\nAdds a key, str or bytes. True if this call added it."},
        {"update", &update, METH_O,
         "update($self, keys, /)\n--\n\nAdds the keys of an iterable. Returns how many were new."},
        {"add_many", &add_many, METH_O,
         "add_many($self, keys, /)\n--\n\nAdds the keys of an iterable. Returns bytes: 1 for each "
         "that was new, else 0."},
        {"contains_many", &contains_many, METH_O,
         "contains_many($self, keys, /)\n--\n\nReturns bytes: 1 for each key of an iterable that "
         "is in the filter, else 0."},
        {"save", &save, METH_O,
         "save($self, path, /)\n--\n\nWrites the filter to a file, atomically and durably."},
        {"stats", &stats, METH_NOARGS, "stats($self)\n--\n\nThe filter's statistics, a dict."},
        {"open", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&open)),
         METH_VARARGS | METH_KEYWORDS | METH_CLASS,
         std::is_same_v<Filter, GrowingBloomFilter>
             ? "open($type, path, *, max_memory=0)\n--\n\nReads a file that save() wrote."
             : "open($type, path)\n--\n\nReads a file that save() wrote."}};
    if constexpr (kErases) {
      methods.push_back({"remove", &remove, METH_O,
                         "remove($self, key, /)\n--\n\nRemoves a key that was added. False if it "
                         "was not there."});
    }
    if constexpr (kMerges) {
      methods.push_back({"merge", &merge, METH_O,
                         "merge($self, other, /)\n--\n\nAdds all keys of another filter of equal "
                         "size and hash key."});
    }
    methods.push_back(kNoPickle);
    methods.push_back({nullptr, nullptr, 0, nullptr});
    return methods;
  }

  static Filter*& pointer_of(PyObject* self) {
    return reinterpret_cast<FilterObject<Filter>*>(self)->filter;
  }
  static Filter& of(PyObject* self) {
    Filter* const filter = pointer_of(self);
    if (filter == nullptr) raise_unmade(self);
    return *filter;
  }

  static int make(PyObject* self, PyObject* args, PyObject* kwargs) {
    return guarded(-1, [&] {
      require_unmade(self, pointer_of(self));
      PyObject* capacity = nullptr;
      PyObject* rate = nullptr;
      PyObject* key = nullptr;
      PyObject* max_memory = nullptr;
      PyObject* bits = nullptr;
      PyObject* hashes = nullptr;
      constexpr bool kClassic = std::is_same_v<Filter, ClassicBloomFilter>;
      constexpr bool kGrowing = std::is_same_v<Filter, GrowingBloomFilter>;
      const char* names[] = {"capacity",
                             "false_positive_rate",
                             "hash_key",
                             kGrowing   ? "max_memory"
                             : kClassic ? "bits"
                                        : nullptr,
                             kClassic ? "hashes" : nullptr,
                             nullptr};
      const char* const format = kGrowing ? "|OO$OO" : kClassic ? "|OO$OOO" : "|OO$O";
      const int parsed =
          kGrowing   ? PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names),
                                                   &capacity, &rate, &key, &max_memory)
          : kClassic ? PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names),
                                                   &capacity, &rate, &key, &bits, &hashes)
                     : PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names),
                                                   &capacity, &rate, &key);
      if (parsed == 0) throw PythonError();
      typename Filter::Options options;
      if (capacity != nullptr)
        options.capacity = unsigned_of(capacity, "capacity", std::uint64_t{1} << 62);
      if (rate != nullptr) options.false_positive_rate = real_of(rate, "false_positive_rate");
      if (key != nullptr && key != Py_None) {
        const std::string_view given = text_of(key, "hash_key");
        KeyedHash::Key bytes;
        if (!PyBytes_Check(key) || given.size() != bytes.size())
          raise(PyExc_ValueError, "hash_key must be 16 bytes");
        std::copy(given.begin(), given.end(), bytes.begin());
        options.hash = KeyedHash::from_key(bytes);
      }
      if constexpr (kGrowing) {
        if (max_memory != nullptr)
          options.max_memory_bytes = unsigned_of(max_memory, "max_memory", ~std::uint64_t{0} >> 1);
      }
      if constexpr (kClassic) {
        if (bits != nullptr) options.bits = unsigned_of(bits, "bits", ~std::uint64_t{0} >> 1);
        if (hashes != nullptr)
          options.hashes = static_cast<unsigned>(unsigned_of(hashes, "hashes", 1000));
      }
      auto made = std::make_unique<Filter>(value_of(Filter::create(options)));
      require_unmade(self, pointer_of(self));  // the arguments may have run Python code
      pointer_of(self) = made.release();
      return 0;
    });
  }

  static void dealloc(PyObject* self) {
    delete pointer_of(self);
    PyTypeObject* const type = Py_TYPE(self);
    const auto free_object = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free_object(self);
    Py_DECREF(type);
  }

  static PyObject* add(PyObject* self, PyObject* key) {
    return guarded([&]() -> PyObject* {
      Filter& filter = of(self);
      const Result<bool> added = filter.insert(filter.hash()(text_of(key, "key")));
      return PyBool_FromLong(value_of(added) ? 1 : 0);
    });
  }

  static int contains(PyObject* self, PyObject* key) {
    return guarded(-1, [&] {
      const Filter& filter = of(self);
      return filter.contains(filter.hash()(text_of(key, "key"))) ? 1 : 0;
    });
  }

  static Py_ssize_t length(PyObject* self) {
    return guarded(Py_ssize_t{-1},
                   [&] { return static_cast<Py_ssize_t>(of(self).stats().inserted); });
  }

  static PyObject* remove(PyObject* self, PyObject* key) {
    return guarded([&]() -> PyObject* {
      Filter& filter = of(self);
      if constexpr (kErases)
        return PyBool_FromLong(filter.erase(filter.hash()(text_of(key, "key"))) ? 1 : 0);
      return nullptr;
    });
  }

  static PyObject* merge(PyObject* self, PyObject* other) {
    return guarded([&]() -> PyObject* {
      if constexpr (kMerges) {
        if (PyObject_TypeCheck(other, type_of_filter) == 0)
          raise(PyExc_TypeError, "the other filter must be of the same kind");
        Filter& to = of(self);
        const Filter& from = of(other);
        if (&from != &to) {
          Result<void> merged;
          {
            const WithoutGil others_run;
            merged = to.merge(from);
          }
          value_of(std::move(merged));
        }
      }
      Py_RETURN_NONE;
    });
  }

  // The keys of an iterable, hashed in one pass: keys of a large batch are not in the processor's
  // caches, and are fetched ahead.
  static std::vector<Fingerprint> hashed(const Filter& filter, PyObject* iterable) {
    constexpr Py_ssize_t kAhead = 8;
    const bool is_list = PyList_CheckExact(iterable) != 0;  // no other thread changes it meanwhile
    const Ref items = is_list ? Ref::of_borrowed(iterable) : items_of(iterable, "keys");
    const Py_ssize_t count = is_list ? PyList_Size(items.get()) : PyTuple_Size(items.get());
    const auto item = [&](Py_ssize_t i) {
      return is_list ? PyList_GetItem(items.get(), i) : PyTuple_GetItem(items.get(), i);
    };
    std::vector<Fingerprint> keys;
    keys.reserve(static_cast<std::size_t>(count));
    const KeyedHash hash = filter.hash();
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (i + kAhead < count) {
        const auto* const later = reinterpret_cast<const char*>(item(i + kAhead));
        __builtin_prefetch(later);
        __builtin_prefetch(later + 64);
      }
      keys.push_back(hash(text_of(item(i), "a key")));
    }
    return keys;
  }

  struct Answers {
    std::unique_ptr<bool[]> each;
    std::size_t size = 0;
    std::size_t ones = 0;
  };

  template <class Call>
  static Answers answered(const std::vector<Fingerprint>& keys, Call&& call) {
    Answers answers{std::make_unique<bool[]>(keys.size()), keys.size(), 0};
    Result<std::size_t> ones;
    {
      std::optional<WithoutGil> others_run;
      if (keys.size() >= kBatchWithoutGil) others_run.emplace();
      ones = call(std::span<const Fingerprint>(keys),
                  std::span<bool>(answers.each.get(), keys.size()));
    }
    answers.ones = value_of(std::move(ones));
    return answers;
  }

  static Answers added(PyObject* self, PyObject* iterable) {
    Filter& filter = of(self);
    return answered(hashed(filter, iterable), [&](auto keys, auto answers) {
      return Result<std::size_t>(filter.insert_batch(keys, answers));
    });
  }

  static PyObject* bytes_of_answers(const Answers& answers) {
    static_assert(sizeof(bool) == 1);
    return bytes_of({reinterpret_cast<const char*>(answers.each.get()), answers.size}).release();
  }

  static PyObject* update(PyObject* self, PyObject* iterable) {
    return guarded([&] { return PyLong_FromSize_t(added(self, iterable).ones); });
  }

  static PyObject* add_many(PyObject* self, PyObject* iterable) {
    return guarded([&] { return bytes_of_answers(added(self, iterable)); });
  }

  static PyObject* contains_many(PyObject* self, PyObject* iterable) {
    return guarded([&] {
      const Filter& filter = of(self);
      return bytes_of_answers(answered(hashed(filter, iterable), [&](auto keys, auto answers) {
        return Result<std::size_t>(filter.contains_batch(keys, answers));
      }));
    });
  }

  static std::string path_of(PyObject* path) {
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(path, &encoded) == 0) throw PythonError();
    const Ref owned(encoded);
    return std::string(text_of(encoded, "path"));
  }

  static PyObject* save(PyObject* self, PyObject* path) {
    return guarded([&]() -> PyObject* {
      const Filter& filter = of(self);
      const std::string file = path_of(path);
      Result<std::uint64_t> saved = 0;
      {
        const WithoutGil others_run;
        saved = filter.save(file);
      }
      return PyLong_FromUnsignedLongLong(value_of(std::move(saved)));
    });
  }

  static PyObject* open(PyObject* type, PyObject* args, PyObject* kwargs) {
    return guarded([&]() -> PyObject* {
      constexpr bool kGrowing = std::is_same_v<Filter, GrowingBloomFilter>;
      PyObject* path = nullptr;
      PyObject* max_memory = nullptr;
      const char* names[] = {"path", kGrowing ? "max_memory" : nullptr, nullptr};
      if (PyArg_ParseTupleAndKeywords(args, kwargs, kGrowing ? "O|$O" : "O",
                                      const_cast<char**>(names), &path, &max_memory) == 0) {
        throw PythonError();
      }
      const std::string file = path_of(path);
      const std::uint64_t limit =
          max_memory == nullptr ? 0 : unsigned_of(max_memory, "max_memory", ~std::uint64_t{0} >> 1);
      std::optional<Result<Filter>> loaded;
      {
        const WithoutGil others_run;
        if constexpr (kGrowing)
          loaded.emplace(Filter::load(file, limit));
        else
          loaded.emplace(Filter::load(file));
      }
      auto owned = std::make_unique<Filter>(value_of(std::move(*loaded)));
      PyObject* const self =
          checked(allocate_object(reinterpret_cast<PyTypeObject*>(type), nullptr, nullptr));
      pointer_of(self) = owned.release();
      return self;
    });
  }

  static PyObject* stats(PyObject* self, PyObject*) {
    return guarded([&] { return dict_of(of(self).stats()).release(); });
  }
};

}  // namespace

Ref dict_of(const FilterStats& stats) {
  return Ref(checked(
      Py_BuildValue("{s:K,s:d,s:K,s:K,s:I,s:I,s:d,s:d,s:d,s:O}", "capacity",
                    static_cast<unsigned long long>(stats.capacity), "target_rate",
                    stats.target_rate, "inserted", static_cast<unsigned long long>(stats.inserted),
                    "memory", static_cast<unsigned long long>(stats.memory_bytes), "hashes",
                    stats.hashes, "layers", stats.layers, "fill", stats.fill, "current_rate",
                    stats.current_rate, "expected_false_positives", stats.expected_false_positives,
                    "overfull", stats.overfull() ? Py_True : Py_False)));
}

// What inspect.signature() shows of a class.
#define TRAWL_FILTER_DOC(name, more, text) \
  name "(capacity=1000000, false_positive_rate=1e-06, *, hash_key=None" more ")\n--\n\n" text

void add_filters(PyObject* module) {
  FilterType<GrowingBloomFilter>::add_to(
      module, "BloomFilter", "trawl.BloomFilter",
      TRAWL_FILTER_DOC("BloomFilter", ", max_memory=0", "A Bloom filter for any number of keys."));
  FilterType<BlockedBloomFilter>::add_to(
      module, "BlockedBloomFilter", "trawl.BlockedBloomFilter",
      TRAWL_FILTER_DOC("BlockedBloomFilter", "",
                       "A Bloom filter of a fixed size, one cache line a key."));
  FilterType<ClassicBloomFilter>::add_to(
      module, "ClassicBloomFilter", "trawl.ClassicBloomFilter",
      TRAWL_FILTER_DOC("ClassicBloomFilter", ", bits=0, hashes=0", "The textbook's Bloom filter."));
  FilterType<CountingBloomFilter>::add_to(
      module, "CountingBloomFilter", "trawl.CountingBloomFilter",
      TRAWL_FILTER_DOC("CountingBloomFilter", "",
                       "A Bloom filter from which keys can be removed."));
  FilterType<CuckooFilter>::add_to(
      module, "CuckooFilter", "trawl.CuckooFilter",
      TRAWL_FILTER_DOC("CuckooFilter", "", "A compact filter from which keys can be removed."));
}
#undef TRAWL_FILTER_DOC

}  // namespace trawl::python
