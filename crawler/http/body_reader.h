// BodyReader: takes in a response's body as it comes: its limits, its decoding, its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crawler/http/content_decoder.h"
#include "crawler/http/http_client.h"

namespace trawl {

class BodyReader {
 public:
  enum class Step {
    kTaken,
    kPause,  // there is no room for wanted() bytes; once there is, take the same bytes again
    kStop,   // failure() says why; if nothing failed, as much was read as was asked for
  };

  // For the next response, whose bodies and charge are kept in `response`, which must stay.
  void begin(const HttpRequest& request, const HttpOptions& options, HttpResponse& response);
  // With the headers in `response`. False: no need to begin with the body; failure() says why.
  bool on_head(std::optional<std::uint64_t> content_length);
  // `bytes` may begin with some that were there before kPause.
  Step take(std::string_view bytes);
  // At the body's end. False: it is cut off; failure() says why.
  bool finish();
  // After finish() or a failure: frees what only reading needs, and the bodies as well if it failed
  // for want of memory.
  void end();
  // Ends it with `failure`.
  void fail(FetchError failure, std::string reason);

  std::optional<FetchError> failure() const noexcept { return failure_; }
  const std::string& reason() const noexcept { return reason_; }
  // Why the whole of a body cannot be had of which only a part is read; nothing: it may be whole.
  std::optional<FetchError> announced() const noexcept { return announced_; }
  std::string reason_of(FetchError too_large) const;
  // The failure is that the body ended in the middle of its coding.
  bool ended_early() const noexcept { return ended_early_; }
  std::uint64_t wanted() const noexcept { return wanted_; }
  // What wanted() asked for has been granted: the charge holds it.
  void granted() noexcept { granted_ += wanted_; }

 private:
  struct Buffer {
    std::string* text = nullptr;
    std::size_t expected = 0;  // the first guess of its size
    std::size_t most = 0;      // it can become
    std::size_t room = 0;      // its capacity, which is charged
  };

  Step decode(std::string_view& input);
  bool make_room(Buffer& buffer, std::size_t size);
  bool charge(std::uint64_t bytes);
  // For the memory that the decoder has taken; as make_room().
  bool charge_decoder();
  void check_that_it_can_fit();
  Step too_large(FetchError failure);

  HttpResponse* response_ = nullptr;
  Buffer body_;
  Buffer encoded_;  // only when both are kept
  std::unique_ptr<ContentDecoder> decoder_;
  std::uint64_t max_body_ = 0;
  std::uint64_t max_download_ = 0;
  std::function<bool(const HttpResponse&)> wants_part_;
  bool truncate_ = false;
  bool keep_encoded_ = false;
  bool stopped_ = false;
  std::uint64_t budget_limit_ = 0;
  std::size_t taken_ = 0;  // bytes at the front of the next chunk that are taken already
  std::size_t decoder_charged_ = 0;
  std::uint64_t wanted_ = 0;
  std::uint64_t granted_ = 0;  // charged, but not used yet
  std::optional<FetchError> failure_;
  std::string reason_;
  std::optional<FetchError> announced_;
  bool ended_early_ = false;
  bool never_fits_ = false;  // not even if no other body had any memory
};

}  // namespace trawl
