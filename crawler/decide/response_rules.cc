#include "crawler/decide/response_rules.h"

#include <algorithm>
#include <string>

#include "crawler/parse/headers/media_type.h"

namespace trawl {

ResponseRules::ResponseRules(std::span<const ResponseRuleText> rules) {
  for (const ResponseRuleText& rule : rules)
    rules_.push_back({rule.include, MediaTypes(std::span(&rule.type, 1)), rule.statuses});
}

const ResponseRules::Rule* ResponseRules::find(std::string_view content_type, int status) const {
  for (const Rule& rule : rules_) {
    const bool of_status =
        rule.statuses.empty() || std::ranges::any_of(rule.statuses, [&](const StatusRange& range) {
          return status >= range.first && status <= range.last;
        });
    if (of_status && rule.types.matches(content_type)) return &rule;
  }
  return nullptr;
}

bool KeptResponses::has(std::string_view content_type, int status) const {
  if (const auto ruled = rules_.decide(content_type, status)) return *ruled;
  return types_.empty() || types_.matches(content_type);
}

bool ReadResponses::has(std::string_view content_type, int status, bool svg) const {
  if (const auto ruled = rules_.decide(content_type, status)) return *ruled;
  if (!is_2xx(status)) return false;
  if (!types_.empty()) return types_.matches(content_type);
  return is_html_media_type(content_type) || (svg && is_svg_media_type(content_type));
}

bool ReadResponses::may_have(std::string_view content_type, int status, bool svg) const {
  return has(content_type, status, svg) ||
         (types_.empty() && media_type(content_type).empty() && has("text/html", status));
}

}  // namespace trawl
