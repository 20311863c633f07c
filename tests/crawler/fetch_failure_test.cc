#include "crawler/run/fetch_failure.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

std::optional<FailureReason> of_status(int status) {
  HttpResponse response;
  response.status = status;
  return failure_reason_of(response);
}
std::optional<FailureReason> of_failure(FetchError failure) {
  HttpResponse response;
  response.status = 200;  // it may have got so far
  response.failure = failure;
  return failure_reason_of(response);
}

TEST(FetchFailure, StatusesThatMayPassAreTriedAgain) {
  EXPECT_EQ(of_status(429), FailureReason::kTooManyRequests);
  EXPECT_EQ(of_status(503), FailureReason::kUnavailable);
  for (const int status : {408, 425, 502, 504, 520, 524, 599})
    EXPECT_EQ(of_status(status), FailureReason::kServerError) << status;
}

TEST(FetchFailure, AnswersAreAnswers) {
  for (const int status :
       {200, 204, 301, 304, 400, 401, 403, 404, 410, 451, 500, 501, 505, 600, 999})
    EXPECT_FALSE(of_status(status)) << status;
}

TEST(FetchFailure, WhatBrokeOffOnTheWayIsTriedAgain) {
  for (const FetchError failure :
       {FetchError::kConnect, FetchError::kConnectionLost, FetchError::kProxy, FetchError::kTls}) {
    EXPECT_EQ(of_failure(failure), FailureReason::kConnection) << to_string(failure);
  }
  for (const FetchError failure : {FetchError::kConnectTimeout, FetchError::kFirstByteTimeout,
                                   FetchError::kTimeout, FetchError::kTooSlow}) {
    EXPECT_EQ(of_failure(failure), FailureReason::kTimeout) << to_string(failure);
  }
  for (const FetchError failure :
       {FetchError::kBadResponse, FetchError::kBadEncoding, FetchError::kOther}) {
    EXPECT_EQ(of_failure(failure), FailureReason::kServerError) << to_string(failure);
  }
}

TEST(FetchFailure, WhatWillNotPassEndsTheUrl) {
  for (const FetchError failure :
       {FetchError::kBodyTooLarge, FetchError::kDownloadTooLarge, FetchError::kHeadersTooLarge,
        FetchError::kAddressRefused, FetchError::kUnwantedType}) {
    EXPECT_FALSE(of_failure(failure)) << to_string(failure);
    EXPECT_FALSE(is_local_failure(failure)) << to_string(failure);
  }
}

TEST(FetchFailure, ANameThatDoesNotExistIsToldFromOneThatCannotBeAskedFor) {
  HttpResponse response;
  response.failure = FetchError::kResolve;
  response.no_such_host = true;
  EXPECT_EQ(failure_reason_of(response), FailureReason::kNoSuchHost);
  response.no_such_host = false;
  response.resolve_again = true;
  EXPECT_EQ(failure_reason_of(response), FailureReason::kConnection);
  response.failure = FetchError::kProxy;  // it is the proxy's
  EXPECT_EQ(failure_reason_of(response), FailureReason::kConnection);
}

TEST(FetchFailure, WhatWeEndedOurselvesSaysNothingOfTheUrl) {
  EXPECT_TRUE(is_local_failure(FetchError::kMemory));
  EXPECT_TRUE(is_local_failure(FetchError::kAborted));
  EXPECT_FALSE(failure_reason_of(HttpResponse{}));
}

}  // namespace
}  // namespace trawl
