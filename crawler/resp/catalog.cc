#include "crawler/resp/catalog.h"

#include <string_view>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/coding.h"
#include "base/directory_entries.h"
#include "base/file_io.h"

namespace trawl::resp {

namespace {

constexpr std::string_view kCatalogMagic = "TRAWLCAT";
constexpr std::uint32_t kCatalogVersion = 1;
constexpr std::size_t kMostCatalogBytes = std::size_t{4} << 30;

std::filesystem::path catalog_path(const std::filesystem::path& directory) {
  return directory / "CATALOG";
}

void put_entry(std::string& out, const Catalog::Entry& entry) {
  put_varint(out, entry.filter);
  put_plan(out, entry.plan);
  put_varint(out, entry.files.size());
  for (const std::uint64_t file : entry.files)
    put_varint(out, file);
  put_varint(out, entry.inserted);
  put_varint(out, entry.erased);
  put_varint(out, entry.crowded.size());
  for (const auto& [key, copies] : entry.crowded) {
    put_fixed(out, key.high);
    put_fixed(out, key.low);
    put_varint(out, copies);
  }
}

Catalog::Entry take_entry(Decoder& in) {
  Catalog::Entry entry;
  entry.filter = in.varint();
  entry.plan = take_plan(in);
  for (std::uint64_t files = in.varint(); in.ok() && files > 0; --files)
    entry.files.push_back(in.varint());
  entry.inserted = in.varint();
  entry.erased = in.varint();
  for (std::uint64_t keys = in.varint(); in.ok() && keys > 0; --keys) {
    Fingerprint key;
    key.high = in.fixed<std::uint64_t>();
    key.low = in.fixed<std::uint64_t>();
    entry.crowded[key] = in.varint();
  }
  return entry;
}

Result<Catalog> decode_catalog(std::string_view bytes, const std::string& path) {
  const auto damaged = [&](std::string_view why) {
    return error(ErrorCode::kCorrupt, fmt::format("{} is damaged: {}", path, why));
  };
  constexpr std::size_t kSum = sizeof(std::uint64_t);
  if (bytes.size() < kCatalogMagic.size() + 4 + kSum || !bytes.starts_with(kCatalogMagic))
    return damaged("it does not begin as a catalog");
  Decoder sum(bytes.substr(bytes.size() - kSum));
  bytes.remove_suffix(kSum);
  if (sum.fixed<std::uint64_t>() != XXH3_64bits(bytes.data(), bytes.size()))
    return damaged("its checksum is wrong");
  Decoder in(bytes.substr(kCatalogMagic.size()));
  if (const auto version = in.fixed<std::uint32_t>(); version != kCatalogVersion) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("{} has version {} of the catalog's format, and this trawl knows "
                             "version {}: use the trawl that wrote it, or a newer one",
                             path, version, kCatalogVersion));
  }
  Catalog catalog;
  catalog.first_segment = in.varint();
  catalog.sequence = in.varint();
  catalog.next_filter = in.varint();
  catalog.next_file = in.varint();
  for (std::uint64_t entries = in.varint(); in.ok() && entries > 0; --entries)
    catalog.entries.push_back(take_entry(in));
  if (!in.done()) return damaged("it has impossible values");
  return catalog;
}

}  // namespace

std::filesystem::path catalog_filter_path(const std::filesystem::path& directory,
                                          std::uint64_t file) {
  return directory / fmt::format("filter-{:06}.ckpt", file);
}

std::string encode_catalog(const Catalog& catalog) {
  std::string out(kCatalogMagic);
  put_fixed(out, kCatalogVersion);
  put_varint(out, catalog.first_segment);
  put_varint(out, catalog.sequence);
  put_varint(out, catalog.next_filter);
  put_varint(out, catalog.next_file);
  put_varint(out, catalog.entries.size());
  for (const auto& entry : catalog.entries)
    put_entry(out, entry);
  put_fixed(out, static_cast<std::uint64_t>(XXH3_64bits(out.data(), out.size())));
  return out;
}

Result<std::optional<Catalog>> read_catalog(const std::filesystem::path& directory) {
  const std::string path = catalog_path(directory).string();
  if (!is_entry(path)) return std::nullopt;
  const auto bytes = read_file(path, kMostCatalogBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  auto catalog = decode_catalog(*bytes, path);
  if (!catalog) return tl::unexpected(catalog.error());
  return std::move(*catalog);
}

Result<void> write_catalog(const std::filesystem::path& directory, const Catalog& catalog) {
  return replace_file(catalog_path(directory).string(), encode_catalog(catalog), 0600);
}

}  // namespace trawl::resp
