#include "crawler/warc/warc_index.h"

#include <fmt/format.h>

#include "crawler/warc/cdxj_line.h"
#include "crawler/warc/gzip_member.h"
#include "crawler/warc/warc_record_info.h"

namespace trawl {

Result<void> each_index_line(const InputFile& warc, const std::string& name,
                             const std::function<Result<void>(std::string_view)>& use) {
  GzipMemberReader reader(warc, 0);
  for (;;) {
    const auto member = reader.next();
    if (!member) return tl::unexpected(member.error());
    if (!*member) return {};
    const auto facts = read_record_info(**member);
    if (!facts) {
      return error(ErrorCode::kCorrupt, fmt::format("{}: the record at offset {} is damaged",
                                                    warc.path(), (*member)->offset));
    }
    std::string line = cdxj_start_of(*facts, **member);
    if (line.empty()) continue;
    line += cdxj_end((*member)->length, (*member)->offset, name);
    line.pop_back();  // its end
    if (auto used = use(line); !used) return used;
  }
}

}  // namespace trawl
