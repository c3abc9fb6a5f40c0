#include "target/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/last_error.h"
#include "target/start_error.h"

namespace openiser::target {
namespace {

constexpr std::size_t kMaxHeader = 128;

// To stable storage.
ErrorCode sync(int file) {
  return fsync(file) == 0 ? ErrorCode{} : last_error();
}

ErrorCode sync_folder(const std::filesystem::path& folder) {
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened ? sync(opened.get()) : last_error();
}

ErrorCode make_folder(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return sync_folder(folder.parent_path());
  if (errno == EEXIST) return {};
  if (errno != ENOENT || !folder.has_relative_path()) return last_error();
  if (const ErrorCode error = make_folder(folder.parent_path())) return error;
  return mkdir(folder.c_str(), 0700) == 0 ? sync_folder(folder.parent_path()) : last_error();
}

ErrorCode write_all(int file, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return last_error();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

ErrorCode write_file(const std::filesystem::path& path, Bytes header, Bytes content) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return last_error();
  if (const ErrorCode error = write_all(file.get(), header)) return error;
  if (const ErrorCode error = write_all(file.get(), content)) return error;
  return sync(file.get());
}

// Everything in the file, or one byte more than there may be.
std::vector<std::byte> read_up_to(int file, std::size_t limit) {
  std::vector<std::byte> bytes(limit + 1);
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(file, &bytes[size], bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

std::string header_of(const std::string& kind, std::uint32_t version, Bytes content) {
  std::array<char, kMaxHeader> text;
  const int size = std::snprintf(text.data(), text.size(), "open-iser state %s %u %zu %08x\n",
                                 kind.c_str(), version, content.size(), crc32c(content));
  return {text.data(), static_cast<std::size_t>(size)};
}

// "open-iser state KIND VERSION " of a header.
std::string_view without_checks(std::string_view header) {
  for (int i = 0; i < 2; ++i) header = header.substr(0, header.find_last_of(' '));
  return header;
}

// Characters of names that are no part of the folder's structure.
std::string file_name_of(const std::string& target_name) {
  std::string name;
  for (const char c : target_name) name += c == '/' || c == '\0' ? '_' : c;
  return name;
}

}  // namespace

// The header is made again from what was read: nothing in it can differ unnoticed.
std::optional<std::vector<std::byte>> StateFile::load() const {
  const auto fault = [this](const std::string& what) {
    return StartError(path_.string() + ": " + what +
                      "; put it back from a copy, or remove it to go on without what it keeps");
  };
  const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!file) throw fault("cannot be opened: " + last_error().message());
  std::vector<std::byte> all;
  try {
    all = read_up_to(file.get(), kMaxHeader + kMaxSize);
  } catch (const std::system_error& error) {
    throw fault("cannot be read: " + error.code().message());
  }
  const std::string_view text(reinterpret_cast<const char*>(all.data()), all.size());
  const std::size_t line = text.substr(0, kMaxHeader).find('\n');
  if (line == std::string_view::npos) throw fault("is no state file, or torn");
  const Bytes content = Bytes(all).subspan(line + 1);
  const std::string expected = header_of(kind_, version_, content);
  if (text.substr(0, line + 1) == expected) return std::vector(content.begin(), content.end());
  if (without_checks(text.substr(0, line)) != without_checks(expected)) {
    throw fault("is not of the kind and version \"" + kind_ + " " + std::to_string(version_) +
                "\"");
  }
  throw fault("is damaged (its size or checksum is wrong)");
}

Status StateFile::save(Bytes content) const {
  if (content.size() > kMaxSize) return ErrorCode(EFBIG, boost::system::system_category());
  if (const ErrorCode error = make_folder(path_.parent_path())) return error;
  const std::filesystem::path fresh = path_.string() + ".new";
  const std::string header = header_of(kind_, version_, content);
  if (const ErrorCode error = write_file(fresh, std::as_bytes(std::span(header)), content)) {
    unlink(fresh.c_str());
    return error;
  }
  if (rename(fresh.c_str(), path_.c_str()) != 0) {
    const ErrorCode error = last_error();
    unlink(fresh.c_str());
    return error;
  }
  if (const ErrorCode error = sync_folder(path_.parent_path())) return error;
  return {};
}

Status StateFile::remove() const {
  if (unlink(path_.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return last_error();
  }
  if (const ErrorCode error = sync_folder(path_.parent_path())) return error;
  return {};
}

StateFile StateFolder::unit_file(const std::string& target_name, std::uint16_t lun,
                                 const std::string& kind, std::uint32_t version) const {
  return {folder_ / (file_name_of(target_name) + ".lun" + std::to_string(lun) + "." + kind), kind,
          version};
}

}  // namespace openiser::target
