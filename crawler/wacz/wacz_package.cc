// The order in the file: archive/, indexes/, pages/, then datapackage.json, which has the digests
// of all before it, and datapackage-digest.json, which has its digest. So everything is read once.
#include "crawler/wacz/wacz_package.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/file_io.h"
#include "base/file_line_reader.h"
#include "base/rfc3339.h"
#include "crawler/wacz/compressed_index.h"
#include "crawler/wacz/wacz_pages.h"
#include "crawler/wacz/zip_writer.h"
#include "crawler/warc/cdxj_sort.h"
#include "crawler/warc/warc_index.h"
#include "crawler/warc/warc_names.h"

namespace trawl {

namespace {

using nlohmann::ordered_json;
using Method = ZipWriter::Method;

constexpr std::size_t kCopied = 1u << 20;
constexpr std::size_t kLongestLine = 16u << 20;
constexpr std::size_t kWriteBuffer = 256u << 10;

using UseLine = std::function<Result<void>(std::string_view)>;

// Calls `use` with the lines of `file` that are whole; longer ones than kLongestLine are left out.
Result<void> each_line(const InputFile& file, const UseLine& use) {
  FileLineReader reader(file, kLongestLine);
  for (;;) {
    const auto read = reader.next();
    if (!read) return tl::unexpected(read.error());
    if (!*read) return {};
    if (!reader.whole() || reader.too_long()) continue;
    if (auto used = use(reader.line()); !used) return used;
  }
}

class WaczPackage {
 public:
  WaczPackage(const WaczSource& source, std::string to, ZipWriter zip)
      : source_(source), to_(std::move(to)), zip_(std::move(zip)) {}

  Result<WaczSummary> write() {
    auto stems = closed_warc_stems(source_.directory);
    if (!stems) return tl::unexpected(stems.error());
    if (stems->empty()) {
      return error(ErrorCode::kNotFound,
                   fmt::format("there are no WARC files in {}", source_.directory.string()));
    }
    for (const std::string& stem : *stems)
      warcs_.emplace_back(source_.directory, stem);
    return add_archives()
        .and_then([&] { return add_index_and_pages(); })
        .and_then([&] { return add_package(); })
        .and_then([&] { return zip_.finish(); })
        .map([&](std::uint64_t bytes) {
          summary_.warc_files = warcs_.size();
          summary_.bytes = bytes;
          return summary_;
        });
  }

 private:
  Result<void> add_archives() {
    for (const WarcNames& warc : warcs_) {
      if (auto added = add_file(warc.closed, "archive/" + warc.file); !added) return added;
    }
    return {};
  }

  Result<void> add_file(const std::string& path, const std::string& name) {
    const auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    const auto size = file->size();
    if (!size) return tl::unexpected(size.error());
    if (auto begun = zip_.begin(name, Method::kStored, *size); !begun) return begun;
    std::string block(kCopied, '\0');
    for (std::uint64_t at = 0; at < *size;) {
      const auto wanted = std::min<std::uint64_t>(block.size(), *size - at);
      const auto n = file->read_at(block.data(), static_cast<std::size_t>(wanted), at);
      if (!n) return tl::unexpected(n.error());
      if (*n == 0)
        return error(ErrorCode::kCorrupt, path + " became shorter while it was packaged");
      if (auto put = zip_.write(std::string_view(block).substr(0, *n)); !put) return put;
      at += *n;
    }
    return end_entry();
  }

  // The sorted lines are needed for the index, and may be for the pages.
  Result<void> add_index_and_pages() {
    auto sorted = TemporaryFile::create(to_);
    if (!sorted) return tl::unexpected(sorted.error());
    return sort_index(sorted->name.path()).and_then([&]() -> Result<void> {
      const auto lines = InputFile::open(sorted->name.path());
      if (!lines) return tl::unexpected(lines.error());
      return add_index(*lines).and_then([&] { return add_pages(*lines); });
    });
  }

  // Writes all lines of all indexes to `path`, sorted.
  Result<void> sort_index(const std::string& path) {
    auto unsorted = TemporaryFile::create(to_);
    if (!unsorted) return tl::unexpected(unsorted.error());
    std::string buffer;
    const auto flush = [&] {
      auto written = unsorted->file.write(buffer);
      buffer.clear();
      return written;
    };
    const UseLine add = [&](std::string_view line) {
      buffer.append(line).append("\n");
      return buffer.size() < kWriteBuffer ? Result<void>() : flush();
    };
    for (const WarcNames& warc : warcs_) {
      if (auto added = add_lines_of(warc, add); !added) return added;
    }
    return flush().and_then([&] { return sort_lines(unsorted->name.path(), path); });
  }

  static Result<void> add_lines_of(const WarcNames& warc, const UseLine& add) {
    const auto index = InputFile::open(warc.cdxj);
    if (index) return each_line(*index, add);
    if (index.error().code != ErrorCode::kNotFound) return tl::unexpected(index.error());
    const auto file = InputFile::open(warc.closed);
    if (!file) return tl::unexpected(file.error());
    return each_index_line(*file, warc.file, add);
  }

  Result<void> add_index(const InputFile& lines) {
    const auto size = lines.size();
    if (!size) return tl::unexpected(size.error());
    if (auto begun = zip_.begin(fmt::format("indexes/{}", CompressedIndex::kName), Method::kStored,
                                *size + kCopied);
        !begun)
      return begun;
    CompressedIndex index(zip_);
    return each_line(lines, [&](std::string_view line) { return index.add(line); })
        .and_then([&] { return index.finish(); })
        .and_then([&] { return end_entry(); })
        .and_then([&] {
          summary_.records = index.lines();
          return add_text("indexes/index.idx", Method::kDeflated, index.directory());
        });
  }

  Result<void> add_pages(const InputFile& index) {
    const auto pages = InputFile::open((source_.directory / "pages.jsonl").string());
    if (!pages && pages.error().code != ErrorCode::kNotFound) return tl::unexpected(pages.error());
    const InputFile& from = pages ? *pages : index;
    const auto size = from.size();
    if (!size) return tl::unexpected(size.error());
    // Each line is made of a part of one of `from`.
    const auto begun = zip_.begin("pages/pages.jsonl", Method::kDeflated, *size + kCopied);
    if (!begun) return begun;
    std::string buffer = wacz_pages_head();
    const auto flush = [&] {
      auto written = zip_.write(buffer);
      buffer.clear();
      return written;
    };
    return each_line(from,
                     [&](std::string_view line) {
                       const bool is_page = pages ? append_wacz_page(line, buffer)
                                                  : append_wacz_page_of_index(line, buffer);
                       if (is_page) ++summary_.pages;
                       return buffer.size() < kWriteBuffer ? Result<void>() : flush();
                     })
        .and_then(flush)
        .and_then([&] { return end_entry(); });
  }

  Result<void> add_package() {
    const std::string now = to_rfc3339(std::chrono::system_clock::now(), 0);
    ordered_json package{{"profile", "data-package"}, {"wacz_version", "1.1.1"},
                         {"title", source_.title},    {"created", now},
                         {"modified", now},           {"software", "trawl " TRAWL_VERSION}};
    if (!source_.description.empty()) package["description"] = source_.description;
    if (!source_.main_page.empty()) package["mainPageUrl"] = source_.main_page;
    package["resources"] = resources_;
    const std::string text =
        package.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    auto entry = zip_.add("datapackage.json", Method::kStored, text);
    if (!entry) return tl::unexpected(entry.error());
    const ordered_json digest{{"path", entry->name}, {"hash", "sha256:" + entry->sha256}};
    const auto added = zip_.add("datapackage-digest.json", Method::kStored, digest.dump(2) + "\n");
    return added ? Result<void>() : tl::unexpected(added.error());
  }

  Result<void> add_text(const std::string& name, Method method, std::string_view text) {
    return zip_.begin(name, method, text.size())
        .and_then([&] { return zip_.write(text); })
        .and_then([&] { return end_entry(); });
  }

  Result<void> end_entry() {
    return zip_.end().map([&](const ZipEntry& entry) {
      // Names of a data package are lower case.
      const std::string name = to_lower(entry.name.substr(entry.name.rfind('/') + 1));
      resources_.push_back({{"name", name},
                            {"path", entry.name},
                            {"hash", "sha256:" + entry.sha256},
                            {"bytes", entry.bytes}});
    });
  }

  const WaczSource& source_;
  const std::string to_;
  ZipWriter zip_;
  std::vector<WarcNames> warcs_;
  ordered_json resources_ = ordered_json::array();
  WaczSummary summary_;
};

}  // namespace

Result<WaczSummary> write_wacz(const WaczSource& source, const std::string& to) {
  auto created = TemporaryFile::create(to);
  if (!created) return tl::unexpected(created.error());
  auto zip = ZipWriter::open(std::move(created->file));
  if (!zip) return tl::unexpected(zip.error());
  const auto summary = WaczPackage(source, to, *std::move(zip)).write();
  if (!summary) return summary;
  return created->name.publish().map([&] { return *summary; });
}

}  // namespace trawl
