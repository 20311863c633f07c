#include "crawler/http/body_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/take_pages.h"

namespace trawl {

namespace {

// Initial capacity of a body's string; a Content-Length alone makes it allocate at most the second
// value.
constexpr std::size_t kFirstRoom = 16 * 1024;
constexpr std::size_t kMostFirstRoom = 256 * 1024;
// Once that much came, a buffer grows by this factor at most, up to the announced length.
constexpr std::size_t kGrowth = 8;
constexpr std::size_t kPiece = 32 * 1024;  // bytes decoded at a time
constexpr std::size_t kUsualRatio = 4;     // assumed compression ratio

// A body whose length was announced gets so much address space at once, so that it is not copied as
// it grows. The system gives memory for what is written only.
constexpr std::size_t kMostReserved = 8u << 20;

// Sets a capacity of exactly `bytes`, which std::string::reserve() does not guarantee, or of
// `at_most` bytes if the system has so much address space.
void set_capacity(std::string& text, std::size_t bytes, std::size_t at_most) {
  std::string larger;
  try {
    larger.reserve(std::max(bytes, at_most));
  } catch (const std::bad_alloc&) {
    larger.reserve(bytes);
  }
  larger.append(text);
  text = std::move(larger);
}

std::size_t bounded_size(std::uint64_t bytes) {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(bytes, std::numeric_limits<std::size_t>::max() / 2));
}

}  // namespace

void BodyReader::begin(const HttpRequest& request, const HttpOptions& options,
                       HttpResponse& response) {
  response_ = &response;
  response.charge = BodyCharge(options.budget);
  body_ = {.text = &response.body,
           .expected = kFirstRoom,
           .most = bounded_size(request.max_body),
           .room = 0,
           .announced = false};
  encoded_ = {.text = &response.encoded_body,
              .expected = kFirstRoom,
              .most = bounded_size(request.max_download),
              .room = 0,
              .announced = false};
  decoder_.reset();
  max_body_ = request.max_body;
  max_download_ = request.max_download;
  wants_part_ = request.wants_part;
  truncate_ = request.truncate_body;
  keep_encoded_ = options.capture || options.keep_encoded;
  stopped_ = false;
  budget_limit_ = options.budget == nullptr ? std::numeric_limits<std::uint64_t>::max()
                                            : options.budget->limit();
  taken_ = 0;
  decoder_charged_ = 0;
  wanted_ = 0;
  granted_ = 0;
  failure_.reset();
  reason_.clear();
  announced_.reset();
  ended_early_ = false;
  never_fits_ = false;
}

bool BodyReader::on_head(std::optional<std::uint64_t> content_length) {
  if (!response_->content_encoding.empty()) {
    auto decoder = ContentDecoder::create(response_->content_encoding,
                                          std::max<std::uint64_t>(max_body_, max_download_));
    if (!decoder) {
      fail(FetchError::kBadEncoding, decoder.error().message);
      return true;  // harmless if no body follows
    }
    decoder_ = *std::move(decoder);
  }
  if (!content_length) return true;
  const bool decoded = decoder_ != nullptr;
  if (*content_length > max_download_) {
    announced_ = FetchError::kDownloadTooLarge;
  } else if (!decoded && *content_length > max_body_) {
    announced_ = FetchError::kBodyTooLarge;
  }
  if (announced_ && !truncate_ && !(wants_part_ && wants_part_(*response_))) {
    too_large(*announced_);
    return false;
  }
  const auto length =
      static_cast<std::size_t>(std::min<std::uint64_t>(*content_length, kMostFirstRoom));
  encoded_.expected = length;
  Buffer& as_it_comes = decoded ? encoded_ : body_;
  as_it_comes.most = bounded_size(std::min<std::uint64_t>(*content_length, as_it_comes.most));
  as_it_comes.announced = true;
  body_.expected = decoded ? std::min(length * kUsualRatio, kMostFirstRoom) : length;
  return true;
}

BodyReader::Step BodyReader::take(std::string_view bytes) {
  if (failure_ || stopped_) return Step::kStop;
  std::string_view rest = bytes.substr(std::min(taken_, bytes.size()));
  const std::uint64_t allowed = max_download_ - std::min(max_download_, response_->encoded_bytes);
  const bool too_many = rest.size() > allowed;
  if (too_many) rest = rest.substr(0, static_cast<std::size_t>(allowed));
  const std::size_t size = rest.size();

  Step step = Step::kTaken;
  if (decoder_ != nullptr) {
    step = decode(rest);
  } else {
    const std::uint64_t room = max_body_ - response_->body.size();
    const std::string_view part = rest.substr(0, bounded_size(room));
    if (!make_room(body_, response_->body.size() + part.size())) {
      step = failure_ ? Step::kStop : Step::kPause;
    } else {
      response_->body.append(part);
      response_->encoded_bytes += part.size();
      const bool over = part.size() < rest.size();
      rest = {};
      if (over) return too_large(FetchError::kBodyTooLarge);
    }
  }
  if (step == Step::kPause) {
    taken_ = std::min(taken_, bytes.size()) + size - rest.size();
    return step;
  }
  taken_ = 0;
  if (step == Step::kTaken && too_many) return too_large(FetchError::kDownloadTooLarge);
  return step;
}

// Decodes piece by piece, so that a decompression bomb is detected before it fills memory.
BodyReader::Step BodyReader::decode(std::string_view& input) {
  std::array<char, kPiece> piece;
  std::string& body = response_->body;
  if (keep_encoded_ && !make_room(encoded_, encoded_.text->size() + input.size())) {
    return failure_ ? Step::kStop : Step::kPause;
  }
  for (;;) {
    if (!charge_decoder()) return failure_ ? Step::kStop : Step::kPause;
    // One byte more than allowed shows that the body is too large.
    const std::size_t left = bounded_size(max_body_ - body.size());
    if (body_.room < body.size() + std::min(left, kPiece / 8) &&
        !make_room(body_, body.size() + std::min(left, kPiece / 8))) {
      return failure_ ? Step::kStop : Step::kPause;
    }
    const std::size_t room = std::min(kPiece, body_.room - body.size());
    const std::size_t size = room < left ? room : std::min(kPiece, left + 1);
    const std::string_view before = input;
    const std::size_t written = decoder_->decode(input, {piece.data(), size});
    const std::size_t consumed = before.size() - input.size();
    response_->encoded_bytes += consumed;
    if (keep_encoded_) encoded_.text->append(before.substr(0, consumed));
    body.append(piece.data(), std::min(written, left));
    if (written > left || decoder_->exceeded()) return too_large(FetchError::kBodyTooLarge);
    if (decoder_->broken()) {
      fail(FetchError::kBadEncoding,
           fmt::format("the body is not valid for its Content-Encoding ({})",
                       response_->content_encoding));
      return Step::kStop;
    }
    if (written < size && charge_decoder()) return Step::kTaken;
  }
}

bool BodyReader::finish() {
  if (failure_) {
    // A bad coding of an empty body is not an error.
    if (response_->encoded_bytes > 0 || failure_ != FetchError::kBadEncoding) return false;
    failure_.reset();
    reason_.clear();
    return true;
  }
  if (stopped_ || decoder_ == nullptr || decoder_->complete()) return true;
  ended_early_ = true;
  fail(FetchError::kBadEncoding,
       fmt::format("the body ends before its {} coding does", response_->content_encoding));
  return false;
}

void BodyReader::end() {
  decoder_.reset();
  if (failure_ == FetchError::kMemory || never_fits_) {
    *body_.text = {};
    *encoded_.text = {};
    body_.room = encoded_.room = 0;
  }
  response_->charge.shrink_to(body_.room + encoded_.room);
}

void BodyReader::fail(FetchError failure, std::string reason) {
  failure_ = failure;
  reason_ = std::move(reason);
}

BodyReader::Step BodyReader::too_large(FetchError failure) {
  if (truncate_) {
    stopped_ = response_->truncated = true;
  } else {
    fail(failure, reason_of(failure));
  }
  return Step::kStop;
}

std::string BodyReader::reason_of(FetchError too_large) const {
  if (too_large == FetchError::kBodyTooLarge)
    return fmt::format("the body is larger than {} bytes", max_body_);
  return fmt::format("the body is larger than {} bytes before decompression", max_download_);
}

// Makes room for `size` bytes in total. Returns false if there is none now, or it failed.
bool BodyReader::make_room(Buffer& buffer, std::size_t size) {
  if (size <= buffer.room) return true;
  const auto by = [&](std::size_t factor) {
    const std::size_t guess = std::max({size, buffer.expected, factor * buffer.room});
    return std::max(size, std::min(guess, buffer.most));
  };
  std::size_t room = by(buffer.announced ? kGrowth : 2);
  if (room > size && !charge(room - buffer.room)) {
    room = by(2);
    if (room > size && !charge(room - buffer.room)) room = size;
  }
  if (room == size && !charge(room - buffer.room)) {
    check_that_it_can_fit();
    return false;
  }
  std::string& text = *buffer.text;
  if (text.capacity() < room)
    set_capacity(text, room, buffer.announced ? std::min(buffer.most, kMostReserved) : room);
  if (room > kMostFirstRoom) take_pages(text.data() + text.size(), room - text.size());
  buffer.room = room;
  return true;
}

bool BodyReader::charge(std::uint64_t bytes) {
  const std::uint64_t missing = bytes - std::min(bytes, granted_);
  if (missing > 0 && !response_->charge.grow(missing)) {
    wanted_ = missing;
    return false;
  }
  granted_ -= bytes - missing;
  return true;
}

bool BodyReader::charge_decoder() {
  const std::size_t memory = decoder_->memory();
  if (memory <= decoder_charged_) return true;
  if (!charge(memory - decoder_charged_)) {
    check_that_it_can_fit();
    return false;
  }
  decoder_charged_ = memory;
  return true;
}

// Otherwise the body would be fetched again and again.
void BodyReader::check_that_it_can_fit() {
  if (wanted_ <= budget_limit_ - std::min(budget_limit_, response_->charge.bytes())) return;
  never_fits_ = true;
  fail(FetchError::kBodyTooLarge,
       fmt::format("the body, with the memory to decode it, needs more than fetch.max_memory "
                   "leaves for all bodies: {} bytes",
                   budget_limit_));
}

}  // namespace trawl
