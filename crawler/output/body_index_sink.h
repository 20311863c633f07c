// BodyIndexSink: enters the bodies of pages in the index by which copies are found.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "crawler/output/content_index.h"
#include "crawler/output/output_sink.h"

namespace trawl {

// After the records, because an entry makes others refer to a record; before the lines, which have
// its answer: `written.duplicate_of`.
class BodyIndexSink final : public OutputSink {
 public:
  explicit BodyIndexSink(std::unique_ptr<ContentIndex> index) : index_(std::move(index)) {}

  bool keeps(const PageOutput& page, std::string_view) const noexcept override {
    return page.has_comparable_body();
  }
  Result<void> add(PageOutput& page, std::string_view) override {
    if (!page.has_comparable_body()) return {};
    auto first = index_->claim(page.page.digest, {page.lease.url, page.written.date});
    if (!first) return tl::unexpected(first.error());
    if (*first && (*first)->url != page.lease.url)
      page.written.duplicate_of = std::move((*first)->url);
    return {};
  }
  // The index was opened for the durability that is wanted.
  Result<void> flush(bool) override { return index_->commit(); }
  Result<void> close() override { return {}; }

  const ContentIndex& index() const noexcept { return *index_; }

 private:
  std::unique_ptr<ContentIndex> index_;
};

}  // namespace trawl
