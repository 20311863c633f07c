// What a failure of libcurl means.
#include "crawler/http/curl_failure.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(CurlFailure, TheTextOfAnotherConnectionSaysNothingOfThisOne) {
  CurlFailure failure{.code = CURLE_RECV_ERROR,
                      .text = "nghttp2_session_mem_recv() returned -904:Flooding was detected",
                      .sent = true,
                      .head_complete = true,
                      .http1 = true};
  EXPECT_EQ(kind_of(failure), FetchError::kBadResponse);
  EXPECT_EQ(text_of(failure), curl_easy_strerror(CURLE_RECV_ERROR));
  failure.os_error = ECONNRESET;
  EXPECT_EQ(kind_of(failure), FetchError::kConnectionLost);
  failure.http1 = false;
  EXPECT_EQ(text_of(failure), failure.text);
}

TEST(CurlFailure, TextsTellWhatACodeMeans) {
  CurlFailure failure{.code = CURLE_RECV_ERROR, .text = "", .sent = true, .head_complete = true};
  EXPECT_EQ(kind_of(failure), FetchError::kConnectionLost);
  failure.text = "Illegal or missing hexadecimal sequence in chunked-encoding";
  EXPECT_EQ(kind_of(failure), FetchError::kBadResponse);
  failure.text = "Out of memory in chunked-encoding";
  EXPECT_EQ(kind_of(failure), FetchError::kHeadersTooLarge);
}

}  // namespace
}  // namespace trawl
