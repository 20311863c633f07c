// PerEncoding: a value per encoding, created on first use.
#pragma once

#include <array>
#include <mutex>

#include "crawler/parse/encoding/encoding_info.h"
#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

template <class Value>
class PerEncoding {
 public:
  // Thread-safe. The reference is valid as long as this object.
  template <class Make>
  const Value& get(PageEncoding encoding, Make make) {
    Entry& entry = entries_[encoding_position(encoding)];
    std::call_once(entry.once, [&] { entry.value = make(encoding); });
    return entry.value;
  }

 private:
  struct Entry {
    std::once_flag once;
    Value value;
  };
  std::array<Entry, kEncodingCount> entries_;
};

}  // namespace trawl
