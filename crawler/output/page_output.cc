#include "crawler/output/page_output.h"

#include <algorithm>

namespace trawl {

std::uint64_t PageOutput::memory() const noexcept {
  std::uint64_t bytes = sizeof *this + parts.capacity() * sizeof(std::string);
  if (page.text) bytes += page.text->capacity();
  if (warc) bytes += warc->bytes.capacity() + warc->cdxj.capacity() + warc->replaceable.memory();
  for (const std::string& part : parts)
    bytes += part.capacity();
  return bytes;
}

bool PageOutput::holds_bytes() const noexcept {
  return warc || (page.text && !page.text->empty()) ||
         std::ranges::any_of(parts, [](const auto& part) { return !part.empty(); });
}

void PageOutput::release_written(std::size_t sink) noexcept {
  if (sink < parts.size()) std::string().swap(parts[sink]);
  if (holds_bytes()) return;
  // In this order: memory must count as free before its charge is granted to another fetch.
  queued.release();
  charge.release();
}

void PageOutput::discard() noexcept {
  warc.reset();
  std::vector<std::string>().swap(parts);
  page.text.reset();
  queued.release();
  charge.release();
}

}  // namespace trawl
