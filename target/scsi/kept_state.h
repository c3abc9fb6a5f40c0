// What a logical unit keeps in its state files (target/state_file.h), and commands that are
// answered when it is there. The content of each begins with the disk that it is about:
//
//   disk <words>\n
//   whatever the kind of state wants
//
// A LUN may come back as another disk, which must not inherit reservations, nor an old one lose
// them unnoticed: state of another disk is refused, as damaged state is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "target/start_error.h"
#include "target/state_file.h"

namespace openiser::target {

class Command;

// One kind of state of a unit. One thread at a time.
class KeptState {
 public:
  // `disk`: in words, without a line end.
  KeptState(StateFile file, std::string disk) : file_(std::move(file)), disk_(std::move(disk)) {}

  // The content that was saved for this disk; nothing if there is none. Throws StartError if it
  // cannot be told, or was saved for another disk.
  std::optional<std::vector<std::byte>> load() const;
  // For content that its kind makes no sense of.
  StartError makes_no_sense() const;
  // On stable storage when it returns without an error; errors are logged. Empty: there is none
  // from now on. Blocks: not for event loops.
  ErrorCode save(Bytes content) const;

 private:
  StateFile file_;
  std::string disk_;
};

// Saves `content` on the thread that writes state, then calls `then` on the command's, to end it.
// The command is held until then, whatever comes. For units that have a folder for their state.
void save_first(Command& command, KeptState state, std::vector<std::byte> content,
                std::function<void(ErrorCode)> then);

}  // namespace openiser::target
