// NoDatabaseLog: RocksDB without the log file of its own. If that cannot be written (above all on a
// full disk), Debian's build of the library ends the process at the next line.
#pragma once

#include <cstdarg>

#include <rocksdb/env.h>

namespace trawl {

class NoDatabaseLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

}  // namespace trawl
