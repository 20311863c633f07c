// TallySink: counts the lines of pages.jsonl, whether they are written or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "crawler/output/output_sink.h"
#include "crawler/tally/crawl_tally.h"

namespace trawl {

// Where the lines are counted.
struct TallyTarget {
  CrawlTally* tally = nullptr;  // null: nowhere
  // Stores the tally, which has the lines of pages.jsonl up to `offset`. Called between two groups.
  std::function<void(std::uint64_t offset)> save;
};

// Written after pages.jsonl, so that a line that is counted is in the file.
class TallySink final : public OutputSink {
 public:
  TallySink(TallyTarget target, std::filesystem::path pages)
      : target_(std::move(target)), pages_(std::move(pages)) {}

  bool keeps(const PageOutput& page, std::string_view) const noexcept override {
    return page.listed;
  }
  Result<void> add(PageOutput& page, std::string_view part) override;
  Result<void> flush(bool) override { return do_periodic_work(); }
  // The crawl stops: what the file has is counted when it is read again.
  void take_back() noexcept override { failed_ = true; }
  Result<void> do_periodic_work() override;
  std::chrono::milliseconds tick_interval() const noexcept override { return kStoreInterval; }
  Result<void> close() override;

 private:
  static constexpr std::chrono::seconds kStoreInterval{60};

  void store();

  TallyTarget target_;
  const std::filesystem::path pages_;
  std::chrono::steady_clock::time_point stored_ = std::chrono::steady_clock::now();
  bool failed_ = false;
};

}  // namespace trawl
