// OutputSink: the interface of everything that a crawl writes about its pages.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/output/page_output.h"
#include "crawler/warc/warc_builder.h"

namespace trawl {

// What a sink takes from a page besides its PageRecord. What no sink takes is not collected.
struct SinkInputs {
  bool links = false;
  bool skipped = false;
  bool exchanges = false;  // the request and the response, byte for byte
  bool outlinks = false;   // the links of a page as part of its exchange
  bool bodies = false;     // decompressed, as the sink's part of the page
};

// Encodes exchanges for one sink. Each fetcher thread has its own.
class ExchangeEncoder {
 public:
  virtual ~ExchangeEncoder() = default;
  // Stores the exchange in `page` or appends it to `part`, as in OutputSink::encode_link().
  // `digest`: of exchange.payload; empty: unknown. `revisit`: the earlier exchange with the same
  // payload; null: none.
  virtual void encode(const WarcExchange& exchange, const std::string& digest,
                      const RevisitOf* revisit, PageOutput& page, std::string& part) = 0;
  // The same of what came with an exchange and is not of HTTP.
  virtual void encode([[maybe_unused]] const WarcResource& resource,
                      [[maybe_unused]] PageOutput& page, [[maybe_unused]] std::string& part) {}
};

// A fetcher thread encodes what a sink takes from a page into a part of the page that belongs to
// the sink. Later the pages are written in groups:
//
//   begin(), add() for each page, flush()
//
// One sink after the other gets the whole group, in the order of OutputSinks. If one of them
// returns an error, take_back() is called on all of them, and nothing is written after that.
class OutputSink {
 public:
  OutputSink() = default;
  virtual ~OutputSink() = default;  // without close(): leaves what a crash would
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;

  // Thread-safe; may run during the calls that write.

  virtual SinkInputs inputs() const noexcept { return {}; }
  // Append to `part`, if the sink takes links or skipped URLs. `from`: the page's URL.
  virtual void encode_link([[maybe_unused]] std::string_view from,
                           [[maybe_unused]] const LinkRecord& link,
                           [[maybe_unused]] std::string& part) const {}
  virtual void encode_skipped([[maybe_unused]] std::string_view from,
                              [[maybe_unused]] const SkippedRecord& skipped,
                              [[maybe_unused]] std::string& part) const {}
  // Not null if the sink takes exchanges.
  virtual std::unique_ptr<ExchangeEncoder> exchange_encoder() const { return nullptr; }
  // Whether the sink writes anything for this page.
  virtual bool keeps(const PageOutput& page, std::string_view part) const noexcept = 0;

  // One thread at a time.

  virtual void begin() {}
  // Writes what `page` leaves, or buffers it until flush(). Called for every page of the group,
  // also for those that keeps() does not want. `part` is freed afterwards.
  virtual Result<void> add(PageOutput& page, std::string_view part) = 0;
  // Writes what is buffered. N3: the pages of the group may be completed afterwards, so with `sync`
  // what was added must survive a power loss, without it a crash of the process.
  virtual Result<void> flush(bool sync) = 0;
  // Removes what was written since begin(), if readers would take it for results. The files must
  // end with a whole record in any case.
  virtual void take_back() noexcept {}
  // Called from time to time, at least every tick_interval() if nothing is written.
  virtual Result<void> do_periodic_work() { return {}; }
  virtual std::chrono::milliseconds tick_interval() const noexcept { return std::chrono::hours(1); }
  // Closes the files. No call but the destructor follows.
  virtual Result<void> close() = 0;
};

struct SinkOpening {
  const CrawlConfig& config;
  std::filesystem::path directory;         // output.directory, which exists
  std::vector<std::string>* repairs = {};  // gets a line for the log for each repair
};

// One kind of sink: how it is opened, and what is known about its files without opening it.
struct SinkKind {
  // In this order sinks are written. A page's records come first, because the index of bodies
  // refers to them and lines do.
  enum class Stage : std::uint8_t { kRecords, kLines };
  Stage stage = Stage::kLines;
  // Whether the config asks for it.
  bool (*is_wanted)(const CrawlConfig& config);
  // Opens or creates its files and repairs what a crash left. Errors: kInUse if another process
  // writes to them.
  Result<std::unique_ptr<OutputSink>> (*open)(const SinkOpening& opening);
  // Whether a file of this name is one of its files.
  bool (*owns)(std::string_view name, const CrawlConfig& config);
  // Bytes of an earlier crawl in its files. Errors: those of open(). Changes nothing. Null: none.
  Result<std::uint64_t> (*probe)(const CrawlConfig& config,
                                 const std::filesystem::path& directory) = nullptr;
};

}  // namespace trawl
