// OutputSinks: the sinks of a crawl, and the order in which they are written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "base/one_thread.h"
#include "crawler/output/body_index_sink.h"
#include "crawler/output/built_in_sinks.h"
#include "crawler/output/content_index.h"
#include "crawler/output/output_sink.h"
#include "crawler/output/tally_sink.h"

namespace trawl {

// The order of writing: sinks of records, the index of bodies, sinks of lines; within a stage the
// order of the kinds. Before that, all pages of a group are entered in the index, in memory only.
//
// Const functions are thread-safe, also during the others, which must be called one at a time.
class OutputSinks {
 public:
  // See Output::open().
  static Result<OutputSinks> open(const CrawlConfig& config, const std::filesystem::path& directory,
                                  const std::filesystem::path& state_dir, bool sync,
                                  std::span<const SinkKind> kinds, TallyTarget tally = {});
  // See Output::probe().
  static Result<bool> probe(const CrawlConfig& config, const std::filesystem::path& directory,
                            std::span<const SinkKind> kinds);
  // See Output::repair_records().
  static Result<std::vector<std::string>> repair_records(const CrawlConfig& config,
                                                         const std::filesystem::path& directory,
                                                         std::span<const SinkKind> kinds);

  // What at least one sink takes.
  SinkInputs inputs() const noexcept { return inputs_; }
  // Hand a part of a page to the sinks that take it. `from`: the page's URL. A sink holds
  // at most kMaxPart bytes of a page; further links and skipped URLs of that page are not written.
  void add_link(PageOutput& page, std::string_view from, const LinkRecord& link) const;
  void add_skipped(PageOutput& page, std::string_view from, const SkippedRecord& skipped) const;
  // `body`: of a page that is kept, decompressed. Does nothing if no sink takes bodies.
  void add_body(PageOutput& page, std::string&& body) const;
  // Whether any sink writes something for this page.
  bool keeps(const PageOutput& page) const noexcept;

  // Encoders of exchanges for the sinks that take them. For one fetcher thread.
  class Encoders {
   public:
    // See ExchangeEncoder. Does nothing if no sink takes exchanges.
    void add_exchange(PageOutput& page, const WarcExchange& exchange, const std::string& digest,
                      const RevisitOf* revisit);
    void add_resource(PageOutput& page, const WarcResource& resource);

   private:
    friend class OutputSinks;
    std::size_t sinks_ = 0;  // of the crawl
    std::vector<std::pair<std::size_t, std::unique_ptr<ExchangeEncoder>>> encoders_;
  };
  Encoders encoders() const;

  // N3: writes what the pages leave; with `complete` it is durable on return and the pages may be
  // completed, else the next group makes it so. After an error the lines of the group are taken
  // back. Gives up between two pages if `abandoned` becomes true.
  Result<void> write(std::span<PageOutput* const> group, bool complete,
                     const std::atomic<bool>& abandoned);
  // What is due if nothing is written; at least every tick_interval().
  Result<void> do_periodic_work();
  std::chrono::milliseconds tick_interval() const noexcept;
  // Closes all of them. No call but the destructor and those without an effect on sinks follows.
  Result<void> close();

  // Null after close().
  const ContentIndex* index() const noexcept {
    return bodies_ == nullptr ? nullptr : &bodies_->index();
  }
  const std::string& pages_path() const noexcept { return pages_path_; }
  const std::vector<std::string>& repairs() const noexcept { return repairs_; }

 private:
  OutputSinks() = default;
  Result<void> open_sinks(const CrawlConfig& config, const std::filesystem::path& directory,
                          const std::filesystem::path& state_dir, std::span<const SinkKind> kinds);
  Result<void> write_all(std::span<PageOutput* const> group, bool complete,
                         const std::atomic<bool>& abandoned);
  Result<void> write_sink(std::size_t sink, std::span<PageOutput* const> group, bool complete,
                          const std::atomic<bool>& abandoned);

  std::vector<std::unique_ptr<OutputSink>> sinks_;  // in the order of writing
  SinkInputs inputs_;
  std::vector<std::size_t> link_sinks_, skipped_sinks_, body_sinks_;  // those that take them
  BodyIndexSink* bodies_ = nullptr;                                   // one of `sinks_`
  std::string pages_path_;
  bool sync_ = false;
  std::vector<std::string> repairs_;
  OneAtATime using_;
};

}  // namespace trawl
