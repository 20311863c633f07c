#include "crawler/http/content_decoder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"

namespace trawl {

Result<std::unique_ptr<ContentDecoder>> ContentDecoder::create(std::string_view content_encoding,
                                                               std::uint64_t max_between) {
  std::unique_ptr<ContentDecoder> decoder;
  std::string_view rest = content_encoding;
  while (!rest.empty()) {
    // The coding applied last is listed last, and is decoded first.
    const std::size_t comma = rest.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const std::string_view name = trim(rest.substr(begin));
    rest = rest.substr(0, begin == 0 ? 0 : comma);
    auto coding = ContentCoding::create(name);
    if (coding == nullptr) continue;
    if (decoder == nullptr) decoder.reset(new ContentDecoder(max_between));
    if (decoder->stages_.size() == kMaxCodings) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("the body has more than {} content codings", kMaxCodings));
    }
    Stage stage{.coding = std::move(coding), .buffer = nullptr, .waiting = {}};
    if (!decoder->stages_.empty()) stage.buffer = std::make_unique<std::array<char, 16 * 1024>>();
    decoder->stages_.push_back(std::move(stage));
  }
  return decoder;
}

std::size_t ContentDecoder::decode(std::size_t stage, std::string_view& input,
                                   std::span<char> out) {
  Stage& own = stages_[stage];
  if (stage == 0) return own.coding->decode(input, out);
  std::size_t written = 0;
  for (;;) {
    written += own.coding->decode(own.waiting, out.subspan(written));
    if (written == out.size() || own.coding->broken()) return written;
    const std::size_t more = decode(stage - 1, input, *own.buffer);
    between_ += more;
    if (more == 0 || exceeded()) return written;
    own.waiting = {own.buffer->data(), more};
  }
}

bool ContentDecoder::broken() const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [](const Stage& stage) { return stage.coding->broken(); });
}

bool ContentDecoder::complete() const {
  return std::all_of(stages_.begin(), stages_.end(),
                     [](const Stage& stage) { return stage.coding->complete(); });
}

std::size_t ContentDecoder::memory() const {
  std::size_t bytes = sizeof(*this);
  for (const Stage& stage : stages_)
    bytes += stage.coding->memory() + (stage.buffer == nullptr ? 0 : stage.buffer->size());
  return bytes;
}

}  // namespace trawl
