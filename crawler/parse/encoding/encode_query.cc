#include <cstddef>
#include <string>
#include <string_view>

#include "base/ascii_prefix.h"
#include "crawler/parse/encoding/encoding_list.h"
#include "crawler/parse/encoding/page_encoding.h"
#include "crawler/parse/encoding/query_encoder.h"

namespace trawl {

namespace {

// Whether the query is the same in the encoding. In ISO-2022-JP, ASCII bytes that change the state
// are not.
bool is_as_encoded(std::string_view query, EncodingFamily family) {
  if (ascii_prefix_length(query) < query.size()) return false;
  return family != EncodingFamily::kIso2022Jp ||
         query.find_first_of("\x0E\x0F\x1B") == std::string_view::npos;
}

}  // namespace

std::string_view encode_query(std::string_view reference, PageEncoding encoding,
                              std::string& buffer) {
  encoding = encoding.output();
  if (encoding.is_utf8()) return reference;
  const std::size_t question = reference.find_first_of("?#");
  if (question == std::string_view::npos || reference[question] == '#') return reference;
  const std::size_t start = question + 1;
  const std::string_view query = reference.substr(start, reference.find('#', start) - start);
  if (is_as_encoded(query, encoding_info(encoding).family)) return reference;

  buffer.assign(reference, 0, start);
  append_encoded_query(query, encoding, buffer);
  buffer.append(reference, start + query.size());
  return buffer;
}

}  // namespace trawl
