// ZipWriter: writes a ZIP file in one pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

struct ZipEntry {
  std::string name;
  std::uint64_t bytes = 0;  // not compressed
  std::string sha256;       // in hexadecimal digits
};

// Entries are begun, written and ended one after the other, then finish() is called. After an error
// nothing more can be written. Not thread-safe.
class ZipWriter {
 public:
  enum class Method : std::uint8_t { kStored, kDeflated };

  // Errors: those of OutputFile::write().
  static Result<ZipWriter> open(OutputFile file);
  ZipWriter(ZipWriter&&) noexcept;
  ZipWriter& operator=(ZipWriter&&) noexcept;
  ~ZipWriter();

  // `max_bytes`: an upper bound of what will be written; from 4 GiB on the entry is one of ZIP64.
  Result<void> begin(const std::string& name, Method method, std::uint64_t max_bytes);
  Result<void> write(std::string_view bytes);
  Result<ZipEntry> end();
  // A whole entry.
  Result<ZipEntry> add(const std::string& name, Method method, std::string_view bytes);
  // Writes the directory and syncs the file. Returns its size.
  Result<std::uint64_t> finish();

 private:
  struct State;
  explicit ZipWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
