// minizip writes through the functions below, which keep the error of the first failed operation:
// it only knows that there was one.
#include "crawler/wacz/zip_writer.h"

#include <cassert>
#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <zip.h>
#include <zlib.h>

namespace trawl {

namespace {

constexpr std::uint64_t kZip64From = 0xFFFF'FFFF;
constexpr std::size_t kBuffer = 1u << 20;
constexpr std::size_t kMostAtOnce = 1u << 30;  // minizip's lengths have 32 bits

// A file in which minizip also goes back, to write an entry's size before its bytes.
struct SeekableFile {
  explicit SeekableFile(OutputFile out) : file(std::move(out)) {}

  Result<void> flush() {
    auto written = file.write(buffer);
    buffer.clear();
    return written;
  }
  std::uint64_t size() const { return file.size() + buffer.size(); }
  Result<void> write(std::string_view bytes) {
    if (at != size()) {
      assert(at + bytes.size() <= size());
      if (auto flushed = flush(); !flushed) return flushed;
      auto written = file.write_at(bytes, at);
      at += bytes.size();
      return written;
    }
    at += bytes.size();
    buffer += bytes;
    return buffer.size() < kBuffer ? Result<void>() : flush();
  }

  OutputFile file;
  std::string buffer;
  std::uint64_t at = 0;
  std::optional<Error> error;
};

voidpf open_file(voidpf file, const void*, int) {
  return file;
}
uLong read_file(voidpf, voidpf, void*, uLong) {
  return 0;
}
uLong write_file(voidpf, voidpf stream, const void* bytes, uLong size) {
  auto& file = *static_cast<SeekableFile*>(stream);
  if (file.error) return 0;
  const auto written = file.write({static_cast<const char*>(bytes), size});
  if (written) return size;
  file.error = written.error();
  return 0;
}
ZPOS64_T tell_file(voidpf, voidpf stream) {
  return static_cast<SeekableFile*>(stream)->at;
}
long seek_file(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  auto& file = *static_cast<SeekableFile*>(stream);
  file.at = offset;
  if (origin == ZLIB_FILEFUNC_SEEK_END) file.at += file.size();
  return 0;
}
int close_file(voidpf, voidpf) {
  return 0;
}
int error_of_file(voidpf, voidpf stream) {
  return static_cast<SeekableFile*>(stream)->error ? 1 : 0;
}

// ZIP's times have no zone; this is UTC.
zip_fileinfo info_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm time{};
  gmtime_r(&now, &time);
  zip_fileinfo info{};
  info.tmz_date = {static_cast<uInt>(time.tm_sec),  static_cast<uInt>(time.tm_min),
                   static_cast<uInt>(time.tm_hour), static_cast<uInt>(time.tm_mday),
                   static_cast<uInt>(time.tm_mon),  static_cast<uInt>(time.tm_year + 1900)};
  return info;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

}  // namespace

struct ZipWriter::State {
  explicit State(OutputFile out) : file(std::move(out)) {}
  ~State() {
    if (zip == nullptr) return;
    if (!file.error) file.error = Error{ErrorCode::kClosed, "given up"};  // writes no more
    zipClose(zip, nullptr);
  }

  Result<void> check(int code) const {
    if (code == ZIP_OK) return {};
    if (file.error) return tl::unexpected(*file.error);
    return error(ErrorCode::kIo, fmt::format("cannot write the ZIP file (error {})", code));
  }

  SeekableFile file;
  zipFile zip = nullptr;
  std::unique_ptr<EVP_MD_CTX, FreeContext> sha256{EVP_MD_CTX_new()};
  ZipEntry entry;
};

ZipWriter::ZipWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipWriter::ZipWriter(ZipWriter&&) noexcept = default;
ZipWriter& ZipWriter::operator=(ZipWriter&&) noexcept = default;
ZipWriter::~ZipWriter() = default;

Result<ZipWriter> ZipWriter::open(OutputFile file) {
  auto state = std::make_unique<State>(std::move(file));
  zlib_filefunc64_def functions{.zopen64_file = open_file,
                                .zread_file = read_file,
                                .zwrite_file = write_file,
                                .ztell64_file = tell_file,
                                .zseek64_file = seek_file,
                                .zclose_file = close_file,
                                .zerror_file = error_of_file,
                                .opaque = &state->file};
  state->zip = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
  if (state->zip == nullptr) return error(ErrorCode::kIo, "cannot begin the ZIP file");
  return ZipWriter(std::move(state));
}

Result<void> ZipWriter::begin(const std::string& name, Method method, std::uint64_t max_bytes) {
  state_->entry = {.name = name, .bytes = 0, .sha256 = {}};
  EVP_DigestInit_ex(state_->sha256.get(), EVP_sha256(), nullptr);
  const zip_fileinfo info = info_now();
  const bool deflated = method == Method::kDeflated;
  // Deflated bytes may be a few more than the bytes.
  const bool zip64 = max_bytes >= kZip64From - kZip64From / 1000;
  return state_->check(zipOpenNewFileInZip64(state_->zip, name.c_str(), &info, nullptr, 0, nullptr,
                                             0, nullptr, deflated ? Z_DEFLATED : 0,
                                             deflated ? Z_DEFAULT_COMPRESSION : 0, zip64 ? 1 : 0));
}

Result<void> ZipWriter::write(std::string_view bytes) {
  EVP_DigestUpdate(state_->sha256.get(), bytes.data(), bytes.size());
  state_->entry.bytes += bytes.size();
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMostAtOnce);
    const auto written = state_->check(
        zipWriteInFileInZip(state_->zip, part.data(), static_cast<unsigned>(part.size())));
    if (!written) return written;
    bytes.remove_prefix(part.size());
  }
  return {};
}

Result<ZipEntry> ZipWriter::end() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->sha256.get(), digest, &size);
  for (unsigned i = 0; i < size; ++i)
    state_->entry.sha256 += fmt::format("{:02x}", digest[i]);
  return state_->check(zipCloseFileInZip(state_->zip)).map([&] {
    return std::move(state_->entry);
  });
}

Result<ZipEntry> ZipWriter::add(const std::string& name, Method method, std::string_view bytes) {
  return begin(name, method, bytes.size()).and_then([&] { return write(bytes); }).and_then([&] {
    return end();
  });
}

Result<std::uint64_t> ZipWriter::finish() {
  SeekableFile& file = state_->file;
  return state_->check(zipClose(std::exchange(state_->zip, nullptr), nullptr))
      .and_then([&] { return file.flush(); })
      .and_then([&] { return file.file.sync(); })
      .map([&] { return file.file.size(); });
}

}  // namespace trawl
