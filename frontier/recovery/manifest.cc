#include "frontier/recovery/manifest.h"

#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/coding.h"
#include "base/file_io.h"

namespace trawl {

namespace {

constexpr std::string_view kMagic = "TRAWLMAN";
constexpr std::uint32_t kVersion = 4;
constexpr std::uint32_t kOldestVersion = 3;  // without layer files, options and rate
constexpr std::size_t kMaxBytes = 1 << 20;

std::uint64_t checksum(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::filesystem::path Manifest::path_in(const std::filesystem::path& directory) {
  return directory / "MANIFEST";
}

std::filesystem::path Manifest::checkpoint_path(const std::filesystem::path& directory,
                                                std::uint64_t number) {
  return directory / fmt::format("filter-{:06}.ckpt", number);
}

std::filesystem::path Manifest::layer_path(const std::filesystem::path& directory,
                                           std::uint64_t number) {
  return directory / fmt::format("filter-{:06}.layer", number);
}

bool Manifest::is_at(const std::filesystem::path& file) {
  const auto opened = InputFile::open(file.string());
  if (!opened) return false;
  char begin[kMagic.size()];
  const auto n = opened->read_at(begin, sizeof begin, 0);
  return n && std::string_view(begin, *n) == kMagic;
}

Result<std::optional<Manifest>> Manifest::read(const std::filesystem::path& directory) {
  const std::string path = path_in(directory).string();
  const auto contents = read_file(path, kMaxBytes);
  if (!contents) {
    if (contents.error().code == ErrorCode::kNotFound) return std::nullopt;
    return tl::unexpected(contents.error());
  }
  const std::string_view bytes = *contents;
  const auto damaged = [&](std::string_view why) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format(
            "{} is damaged ({}). It holds the key of the fingerprints, without which the URLs "
            "seen are lost: restore it from a backup, or dump the queue "
            "with `trawl frontier dump` and load it into a new one",
            path, why));
  };
  if (!bytes.starts_with(kMagic)) return damaged("it does not begin with a manifest's header");
  // The checksum comes before the version, so that a damaged version number is reported as damage.
  // Every version ends with a checksum.
  if (bytes.size() < kMagic.size() + 12 ||
      Decoder(bytes.substr(bytes.size() - 8)).fixed<std::uint64_t>() !=
          checksum(bytes.substr(0, bytes.size() - 8))) {
    return damaged("its checksum is wrong");
  }
  Decoder in(bytes.substr(kMagic.size()));
  const auto version = in.fixed<std::uint32_t>();
  if (version < kOldestVersion || version > kVersion) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("{} has version {}; this version of Trawl reads version {}: {}", path,
                             version, kVersion,
                             version > kVersion
                                 ? "use a newer one"
                                 : "finish this crawl with the version of Trawl that began it"));
  }
  if (const auto algorithm = in.fixed<std::uint32_t>(); algorithm != KeyedHash::kAlgorithm) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("{} is of a crawl with hash algorithm {}; this version of Trawl has algorithm "
                    "{}: finish this crawl with the version that began it, or save its queue with "
                    "`trawl frontier dump \"{}\"` and load it into a new state directory with "
                    "`trawl frontier load NEW_DIR FILE --config CONFIG` (URLs that were fetched "
                    "before are then fetched again if links lead to them)",
                    path, algorithm, KeyedHash::kAlgorithm, directory.string()));
  }
  Manifest manifest;
  for (auto& byte : manifest.hash_key)
    byte = in.fixed<std::uint8_t>();
  const auto ledger = in.fixed<std::uint8_t>();
  manifest.ledger = ledger == 1;
  manifest.profile = in.string();
  manifest.log_start = in.fixed<std::uint64_t>();
  manifest.next_checkpoint = in.fixed<std::uint64_t>();
  if (version > kOldestVersion) {
    manifest.expected_urls = in.fixed<std::uint64_t>();
    manifest.false_positive_rate = in.fixed<double>();
    manifest.replayed_per_second = in.fixed<double>();
  }
  const std::uint64_t count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    CheckpointEntry entry;
    entry.number = in.fixed<std::uint64_t>();
    entry.sequence = in.fixed<std::uint64_t>();
    entry.end = in.fixed<std::uint64_t>();
    const std::uint64_t layers = version > kOldestVersion ? in.varint() : 0;
    for (std::uint64_t layer = 0; layer < layers && in.ok(); ++layer)
      entry.layers.push_back(in.fixed<std::uint64_t>());
    manifest.checkpoints.push_back(std::move(entry));
  }
  if (!in.ok() || in.rest().size() != 8) return damaged("its length is wrong");
  if (ledger > 1) return damaged("its ledger flag is neither 0 nor 1");
  if (!(manifest.replayed_per_second > 0) || !(manifest.false_positive_rate >= 0) ||
      !(manifest.false_positive_rate < 1))
    return damaged("a rate in it is impossible");
  return manifest;
}

Result<void> Manifest::publish(const std::filesystem::path& directory) const {
  std::string out(kMagic);
  put_fixed(out, kVersion);
  put_fixed(out, KeyedHash::kAlgorithm);
  for (const auto byte : hash_key)
    put_fixed(out, byte);
  put_fixed(out, std::uint8_t{ledger});
  put_string(out, profile);
  put_fixed(out, log_start);
  put_fixed(out, next_checkpoint);
  put_fixed(out, expected_urls);
  put_fixed(out, false_positive_rate);
  put_fixed(out, replayed_per_second);
  put_varint(out, checkpoints.size());
  for (const CheckpointEntry& entry : checkpoints) {
    put_fixed(out, entry.number);
    put_fixed(out, entry.sequence);
    put_fixed(out, entry.end);
    put_varint(out, entry.layers.size());
    for (const std::uint64_t layer : entry.layers)
      put_fixed(out, layer);
  }
  put_fixed(out, checksum(out));
  return replace_file(path_in(directory).string(), out);
}

Result<std::uint64_t> Manifest::take_checkpoint_number(const std::filesystem::path& directory) {
  const std::uint64_t number = next_checkpoint++;
  return publish(directory).map([&] { return number; });
}

}  // namespace trawl
