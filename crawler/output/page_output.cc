#include "crawler/output/page_output.h"

#include "crawler/output/page_line.h"

namespace trawl {

void PageOutput::add_link(std::string_view from, const LinkRecord& link) {
  append_link_line(link_lines, from, link);
}

void PageOutput::add_skipped(std::string_view from, const SkippedRecord& skipped) {
  append_skipped_line(skipped_lines, from, skipped);
}

std::uint64_t PageOutput::memory() const noexcept {
  const auto of = [](const std::optional<WarcRecords>& records) {
    return records ? records->bytes.capacity() + records->cdxj.capacity() : 0;
  };
  return sizeof *this + of(warc) + link_lines.capacity() + skipped_lines.capacity();
}

void PageOutput::discard() noexcept {
  warc.reset();
  std::string().swap(link_lines);
  std::string().swap(skipped_lines);
  charge.release();
}

}  // namespace trawl
