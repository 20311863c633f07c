#include "crawler/resp/checkpoint.h"

#include <system_error>

#include "crawler/resp/catalog.h"

namespace trawl::resp {

namespace {

Result<void> save_item(const Checkpoint::Item& item, const std::vector<std::string>& paths) {
  const auto done = [](const Result<std::uint64_t>& saved) -> Result<void> {
    if (!saved) return tl::unexpected(saved.error());
    return {};
  };
  if (const auto* growing = std::get_if<ServedFilter::Growing>(&item.body))
    return done((*growing)->save(paths.front()));
  if (const auto* fixed = std::get_if<ServedFilter::Fixed>(&item.body))
    return done((*fixed)->save(paths.front()));
  return std::get<ServedFilter::Cuckoo>(item.body)->save(paths);
}

}  // namespace

Result<void> Checkpoint::write() const {
  for (const Item& item : items_) {
    std::vector<std::string> paths;
    for (const std::uint64_t file : item.files)
      paths.push_back(catalog_filter_path(directory_, file).string());
    if (auto saved = save_item(item, paths); !saved) return saved;
  }
  return {};
}

void Checkpoint::remove() const {
  std::error_code ignored;
  for (const Item& item : items_)
    for (const std::uint64_t file : item.files)
      std::filesystem::remove(catalog_filter_path(directory_, file), ignored);
}

}  // namespace trawl::resp
