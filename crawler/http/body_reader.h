// BodyReader: receives a response's body: applies limits, decodes, and accounts memory.
#pragma once

#include <cassert>
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
    kPause,  // no room for wanted() bytes; pass the same bytes again once there is room
    kStop,   // failure() says why; if nothing failed, enough was read
  };

  // Starts a response. Bodies and charge are stored in `response`, which must stay valid.
  void begin(const HttpRequest& request, const HttpOptions& options, HttpResponse& response);
  // Call when the headers are in `response`. Returns false if the body need not be read; failure()
  // says why.
  bool on_head(std::optional<std::uint64_t> content_length);
  // Takes the next bytes; after kPause, the same ones again.
  Step take(std::string_view bytes);
  // Call at the body's end. Returns false if it was cut; failure() says why.
  bool finish();
  // Call after finish() or a failure: frees the memory for reading, and the bodies too if memory
  // ran out.
  void end();
  // Ends the body with `failure`.
  void fail(FetchError failure, std::string reason);

  std::optional<FetchError> failure() const noexcept { return failure_; }
  const std::string& reason() const noexcept { return reason_; }
  // Why the whole of a body cannot be had of which only a part is read; nothing: it may be whole.
  std::optional<FetchError> announced() const noexcept { return announced_; }
  std::string reason_of(FetchError too_large) const;
  // Whether the failure is that the body ended in the middle of its coding.
  bool ended_early() const noexcept { return ended_early_; }
  std::uint64_t wanted() const noexcept { return wanted_; }
  // The memory of wanted() was granted: the charge holds it.
  void granted() noexcept {
    assert(wanted_ > 0);
    granted_ += wanted_;
  }

 private:
  struct Buffer {
    std::string* text = nullptr;
    std::size_t expected = 0;  // estimate of its size
    std::size_t most = 0;      // upper bound of its size
    std::size_t room = 0;      // what is charged of its capacity
    bool announced = false;    // `most` is the length that the head announced
  };

  Step decode(std::string_view& input);
  bool make_room(Buffer& buffer, std::size_t size);
  bool charge(std::uint64_t bytes);
  // Charges the decoder's memory; returns as make_room() does.
  bool charge_decoder();
  void check_that_it_can_fit();
  Step too_large(FetchError failure);

  HttpResponse* response_ = nullptr;
  Buffer body_;
  Buffer encoded_;  // used only if both forms are kept
  std::unique_ptr<ContentDecoder> decoder_;
  std::uint64_t max_body_ = 0;
  std::uint64_t max_download_ = 0;
  std::function<bool(const HttpResponse&)> wants_part_;
  bool truncate_ = false;
  bool keep_encoded_ = false;
  bool stopped_ = false;
  std::uint64_t budget_limit_ = 0;
  std::size_t taken_ = 0;  // bytes of the next chunk that were already taken
  std::size_t decoder_charged_ = 0;
  std::uint64_t wanted_ = 0;
  std::uint64_t granted_ = 0;  // charged, not yet used
  std::optional<FetchError> failure_;
  std::string reason_;
  std::optional<FetchError> announced_;
  bool ended_early_ = false;
  bool never_fits_ = false;  // too large even with all memory for bodies
};

}  // namespace trawl
