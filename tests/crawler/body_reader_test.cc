#include "crawler/http/body_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "crawler/http/body_memory_budget.h"
#include "tests/support/address_space.h"
#include "tests/support/sanitized.h"

namespace trawl {
namespace {

constexpr std::size_t kMiB = 1u << 20;

// A body of the length that its head announces, taken in pieces.
class AnnouncedBody {
 public:
  explicit AnnouncedBody(std::size_t bytes) : body_(bytes, 'x') {
    request_.max_body = request_.max_download = kMost;
    HttpOptions options;
    options.budget = budget_;
    reader_.begin(request_, options, response_);
    reader_.on_head(bytes);
  }

  // False if that much is not taken.
  bool take(std::size_t bytes) {
    constexpr std::size_t kPiece = 16u << 10;
    for (std::size_t end = taken_ + bytes; taken_ < end;) {
      const std::string_view piece =
          std::string_view(body_).substr(taken_, std::min(kPiece, end - taken_));
      if (reader_.take(piece) != BodyReader::Step::kTaken) return false;
      taken_ += piece.size();
    }
    return true;
  }
  bool take_all() { return take(body_.size() - taken_) && reader_.finish(); }

  bool is_whole() const { return response_.body == body_; }
  const std::string& body() const { return response_.body; }
  std::size_t charged() const { return budget_->used(); }

 private:
  static constexpr std::size_t kMost = 64 * kMiB;

  const std::string body_;
  const std::shared_ptr<BodyMemoryBudget> budget_ = std::make_shared<BodyMemoryBudget>(kMost);
  HttpRequest request_;
  HttpResponse response_;
  BodyReader reader_;
  std::size_t taken_ = 0;
};

TEST(BodyReader, ABodyOfAnnouncedLengthStaysWhereItIs) {
  AnnouncedBody body(6 * kMiB);
  ASSERT_TRUE(body.take(1));
  const char* const place = body.body().data();
  ASSERT_TRUE(body.take_all());
  EXPECT_EQ(body.body().data(), place);
  EXPECT_TRUE(body.is_whole());
}

TEST(BodyReader, OnlyTheRoomInUseIsCharged) {
  AnnouncedBody body(6 * kMiB);
  ASSERT_TRUE(body.take(1));
  EXPECT_LE(body.charged(), kMiB / 4) << "a head may announce what never comes";
  ASSERT_TRUE(body.take_all());
  EXPECT_EQ(body.charged(), 6 * kMiB);
}

TEST(BodyReader, ALongAnnouncedBodyReservesNoMoreThanItMayNeedSoon) {
  AnnouncedBody body(40 * kMiB);
  ASSERT_TRUE(body.take(1));
  EXPECT_LE(body.body().capacity(), 8 * kMiB);
  ASSERT_TRUE(body.take_all());
  EXPECT_TRUE(body.is_whole());
}

TEST(BodyReader, WithoutAddressSpaceABodyGrowsAsItComes) {
#ifdef TRAWL_SANITIZED
  GTEST_SKIP() << "the sanitizers need the address space";
#endif
  const auto capacity_of_first = [] {
    AnnouncedBody body(8 * kMiB);
    test::leave_address_space(6 * kMiB);  // less than what is announced
    return body.take(1) ? body.body().capacity() : 0;
  };
  EXPECT_EXIT(std::_Exit(capacity_of_first() == kMiB / 4 ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace trawl
