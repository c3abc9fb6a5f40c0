// What has to outlive the daemon, in small files of one folder: a file for each kind of state of
// each logical unit. A file is replaced as a whole, and so that a crash at any moment leaves either
// the old or the new one.
//
//   open-iser state KIND VERSION SIZE CRC32C\n   the header, in text
//   SIZE bytes                                   the content, whatever its kind wants
//
// A file that is there and cannot be believed is never taken for one that is not: load() throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "target/state_writer.h"

namespace openiser::target {

// One file. Not guarded: one thread at a time.
class StateFile {
 public:
  // The limit of what save() takes and load() reads, in bytes: what the largest atomic write needs
  // (scsi/atomic_writer.h).
  static constexpr std::size_t kMaxSize = (std::size_t{1} << 20) + 8192;

  // `kind`: a word; `version`: of the content's format. Nothing is touched yet.
  StateFile(std::filesystem::path path, std::string kind, std::uint32_t version)
      : path_(std::move(path)), kind_(std::move(kind)), version_(version) {}

  // The content of the last save(); nothing if there is none. Throws StartError if the file cannot
  // be read, is torn or damaged, or is of another kind or version.
  std::optional<std::vector<std::byte>> load() const;
  // On stable storage when it returns without an error. Blocks: not for event loops. Makes the
  // folder (0700) if it is not there. After an error the old content stands, unless it was the
  // folder that could not be brought to stable storage: then either may be found after a crash.
  Status save(Bytes content) const;
  // As save(): afterwards load() finds nothing.
  Status remove() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string kind_;
  std::uint32_t version_;
};

// The folder of them (`state_directory`), and the thread that writes there. The folder need not be
// there before the first save. Any thread; outlives the units that use it.
class StateFolder {
 public:
  explicit StateFolder(const std::filesystem::path& folder)
      : folder_(std::filesystem::absolute(folder)) {}

  // "<target>.lun<N>.<kind>" in the folder.
  StateFile unit_file(const std::string& target_name, std::uint16_t lun, const std::string& kind,
                      std::uint32_t version) const;
  StateWriter& writer() { return writer_; }

 private:
  const std::filesystem::path folder_;
  StateWriter writer_;
};

}  // namespace openiser::target
