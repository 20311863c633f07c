// LineSink: a sink that is one file of lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/one_thread.h"
#include "crawler/output/line_file.h"
#include "crawler/output/output_sink.h"

namespace trawl {

// A page leaves its part, which has whole lines, followed by what encode_page() appends. A derived
// class has `static constexpr std::string_view kFile`, the name of the file, and
// `static bool is_wanted(const CrawlConfig&)`; line_sink_kind() makes a kind of these.
class LineSink : public OutputSink {
 public:
  explicit LineSink(LineFile file) : file_(std::move(file)) {}

  bool keeps(const PageOutput& page, std::string_view part) const noexcept override;
  void begin() override;
  Result<void> add(PageOutput& page, std::string_view part) override;
  Result<void> flush(bool sync) override;
  void take_back() noexcept override;
  Result<void> close() override { return flush(false); }

 protected:
  // The first line of a new file, with its newline.
  virtual std::string_view header() const { return {}; }
  // Appends the page's lines, each with its newline, to `lines`. By the thread that writes.
  virtual void encode_page([[maybe_unused]] const PageOutput& page,
                           [[maybe_unused]] std::string& lines) const {}

 private:
  Result<void> append_buffer();

  LineFile file_;
  std::string buffer_;
  std::uint64_t size_at_begin_ = 0;
  OneAtATime using_;
};

template <class Sink>
constexpr SinkKind line_sink_kind() {
  return {.stage = SinkKind::Stage::kLines,
          .is_wanted = &Sink::is_wanted,
          .open = [](const SinkOpening& opening) -> Result<std::unique_ptr<OutputSink>> {
            auto file = LineFile::open(opening.directory / Sink::kFile);
            if (!file) return tl::unexpected(file.error());
            if (file->cut_at_open() > 0) {
              opening.repairs->push_back(
                  fmt::format("{} ended with an incomplete line of {} bytes, which was removed",
                              file->path(), file->cut_at_open()));
            }
            return std::make_unique<Sink>(std::move(*file));
          },
          .owns = [](std::string_view name, const CrawlConfig&) { return name == Sink::kFile; },
          .probe =
              [](const CrawlConfig&, const std::filesystem::path& directory) {
                return LineFile::probe(directory / Sink::kFile);
              }};
}

}  // namespace trawl
