// StoreLoader: what a directory holds, when a server starts.
#pragma once

#include <memory>

#include "trawl/result.h"

#include "crawler/resp/filter_store.h"

namespace trawl::resp {

class StoreLoader {
 public:
  explicit StoreLoader(FilterStore& store) : store_(store) {}
  // Errors: those of FilterStore::open().
  Result<void> read();

 private:
  Result<void> load_catalog(const Catalog& catalog);
  Result<void> load_entry(const Catalog::Entry& entry);
  Result<ServedFilter::Body> load_body(const Catalog::Entry& entry, std::uint64_t bytes);
  Result<void> replay(const LogRecord& record);
  Result<void> replay_keys(ServedFilter& filter, const LogRecord& record);
  void load_files();
  void load_file(const std::filesystem::path& path, const std::string& name);
  void remove_leftovers(const Catalog& catalog) const;
  std::uint64_t memory_left() const;

  FilterStore& store_;
  std::unique_ptr<bool[]> fresh_;
  std::size_t fresh_size_ = 0;
  std::uint64_t next_mapped_ = std::uint64_t{1} << 62;  // numbers of files, which are not stored
};

}  // namespace trawl::resp
