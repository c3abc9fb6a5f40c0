// What SANITIZE and FORMAT UNIT share.
#pragma once

#include <vector>

#include "target/scsi/command.h"
#include "target/scsi/medium.h"

namespace openiser::target {

struct MediumWork {
  Medium::State working;
  Medium::State failed;
  std::vector<MediumPass> passes;
  bool immediate = false;  // status at once, instead of when it is done
};

// Ends every other task of the unit, on all nexuses, then has the work done.
void work_on_medium(Command& command, MediumWork work);

}  // namespace openiser::target
