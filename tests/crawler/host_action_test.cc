// The body of POST /api/v1/host.
#include "crawler/status/host_action.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rfc3339.h"

namespace trawl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const SystemTime kNow = *parse_rfc3339("2026-11-25T08:00:00Z");

std::string failure_of(const std::string& body) {
  const auto action = parse_host_action(body, kNow);
  return action ? "" : action.error().message;
}

TEST(HostAction, TakesHostsAsPeopleWriteThem) {
  EXPECT_EQ(*host_as_written("Example.COM"), "example.com");
  EXPECT_EQ(*host_as_written("example.com:443"), "example.com");
  EXPECT_EQ(*host_as_written("example.com.:8080"), "example.com:8080");
  EXPECT_EQ(*host_as_written("https://Example.com/a?b"), "example.com");
  EXPECT_EQ(*host_as_written("b\u00fccher.example"), "xn--bcher-kva.example");
  EXPECT_EQ(*host_as_written("[::1]:81"), "[::1]:81");
  for (const char* wrong :
       {"", " ", "bad host <script>", "a/b", "user@a", "a:b", "a?b", "ftp://a/"})
    EXPECT_FALSE(host_as_written(wrong)) << wrong;
}

TEST(HostAction, ReadsAllActions) {
  const auto block =
      parse_host_action(R"({"host": "A.test", "action": "block", "until": "1h"})", kNow);
  ASSERT_TRUE(block) << block.error().message;
  EXPECT_EQ(block->host, "a.test");
  EXPECT_EQ(block->until, kNow + std::chrono::hours(1));
  const auto at = parse_host_action(
      R"({"host": "a.test", "action": "block", "until": "2026-11-26T00:00:00Z"})", kNow);
  EXPECT_EQ(at->until, kNow + std::chrono::hours(16));
  EXPECT_EQ(parse_host_action(R"({"host": "a.test", "action": "block"})", kNow)->until,
            std::nullopt);
  EXPECT_EQ(
      parse_host_action(R"({"host": "a.test", "action": "delay", "delay": "2s"})", kNow)->delay,
      std::chrono::seconds(2));
  EXPECT_EQ(parse_host_action(R"({"host": "a.test", "action": "drop"})", kNow)->kind,
            HostAction::Kind::kDrop);
}

// A block that was meant to end must not become one without an end.
TEST(HostAction, RefusesWhatIsNotATime) {
  const auto until = [](const std::string& value) {
    return failure_of(R"({"host": "a.test", "action": "block", "until": )" + value + "}");
  };
  for (const char* wrong : {"3600", "null", "\"\"", "[]", "true", "{}"})
    EXPECT_THAT(until(wrong), HasSubstr("\"until\" is not a text")) << wrong;
  EXPECT_THAT(until("\"2026-11-25T07:59:59Z\""), HasSubstr("not in the future"));
  EXPECT_THAT(until("\"0s\""), HasSubstr("not in the future"));
  EXPECT_THAT(until("\"soon\""), HasSubstr("neither a time"));
  EXPECT_THAT(until("\"2028-01-01T00:00:00Z\""), HasSubstr("more than a year"));
  EXPECT_THAT(until("\"400d\""), HasSubstr("more than a year"));
  const auto delay = [](const std::string& value) {
    return failure_of(R"({"host": "a.test", "action": "delay", "delay": )" + value + "}");
  };
  for (const char* wrong : {"2", "null", "\"\""})
    EXPECT_THAT(delay(wrong), HasSubstr("\"delay\" is not a text")) << wrong;
  EXPECT_THAT(delay("\"soon\""), HasSubstr("delay: "));
  EXPECT_THAT(delay("\"400d\""), HasSubstr("more than a year"));
}

TEST(HostAction, ErrorsAreForTheSender) {
  EXPECT_THAT(failure_of("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure_of(R"({"action": "drop"})"), HasSubstr("\"host\" is missing"));
  EXPECT_THAT(failure_of(R"({"host": "a.test"})"), HasSubstr("\"action\" is missing"));
  EXPECT_THAT(failure_of(R"({"host": "a.test", "action": "eat"})"), HasSubstr("no such action"));
  EXPECT_THAT(failure_of(R"({"host": "bad host", "action": "drop"})"), HasSubstr("is not a host"));
  for (const char* body : {"[]", R"({"host": "bad host", "action": "drop"})",
                           R"({"host": "a.test", "action": "delay", "delay": "400d"})"})
    EXPECT_THAT(failure_of(body), Not(HasSubstr("::")));
}

}  // namespace
}  // namespace trawl
