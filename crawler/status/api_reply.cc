#include "crawler/status/api_reply.h"

#include <nlohmann/json.hpp>

namespace trawl {

ApiReply error_reply(int status, std::string_view message) {
  const nlohmann::json json{{"error", message}};
  return {.status = status,
          .body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace trawl
