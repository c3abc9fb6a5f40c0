// `iser mount` and `iser umount`: a file system on an attached LUN.
#pragma once

#include <string>

#include "initiator/mount/attachment.h"

namespace openiser::initiator {

struct MountRequest {
  AttachRequest attach;
  std::string dir;
  std::string options;  // as of mount -o
  std::string mkfs;     // file system type to make first; empty: none
};

// Throws SessionError; nothing is left attached then. Forks: see attach().
Attachment mount_lun(const MountRequest& request);
// Unmounts `dir`, flushes and detaches. Throws SessionError.
void unmount(const std::string& dir);

}  // namespace openiser::initiator
