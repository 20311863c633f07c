// BodyIndexSink: enters the bodies of pages in the index by which copies are found.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "crawler/output/content_index.h"
#include "crawler/output/output_sink.h"

namespace trawl {

// Of equal bodies the first that is written, in the order of the queue, has the record with the
// body: so whatever the fetchers knew when they made their records, there is one. No revisit refers
// to what is not there: the record that it refers to was written before it, or failed, after which
// nothing is written. What is entered becomes durable after the records, so that it never outlives
// them.
class BodyIndexSink final : public OutputSink {
 public:
  explicit BodyIndexSink(std::unique_ptr<ContentIndex> index) : index_(std::move(index)) {}

  // Before the sinks write the page. Sets `written.duplicate_of` and `written.earlier_body`.
  Result<void> enter(PageOutput& page) {
    if (!page.has_comparable_body()) return {};
    const bool has_record = page.warc && page.warc->page_bytes > 0;
    auto first = index_->claim(page.page.digest,
                               {page.lease.url, has_record ? page.warc->date : std::string()});
    if (!first) return tl::unexpected(first.error());
    if (!*first) return {};
    FirstCopy& copy = **first;
    if (has_record && !copy.date.empty())
      page.written.earlier_body = {.url = copy.url_of_record(), .date = copy.date, .digest = {}};
    if (copy.url != page.lease.url) page.written.duplicate_of = std::move(copy.url);
    return {};
  }

  bool keeps(const PageOutput& page, std::string_view) const noexcept override {
    return page.has_comparable_body();
  }
  Result<void> add(PageOutput&, std::string_view) override { return {}; }
  // After the records. The index was opened for the durability that is wanted.
  Result<void> flush(bool) override { return index_->commit(); }
  Result<void> close() override { return {}; }

  const ContentIndex& index() const noexcept { return *index_; }

 private:
  std::unique_ptr<ContentIndex> index_;
};

}  // namespace trawl
