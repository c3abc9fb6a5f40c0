// LUNs attached to this machine: each has a process of its own that serves an nbd device or a
// FuseFile, and a record in the run folder by which later commands find it. The run folder is
// /run/open-iser for root, else $XDG_RUNTIME_DIR/open-iser; $OPENISER_RUN_DIR overrides.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "initiator/session.h"

namespace openiser::initiator {

struct Attachment {
  std::string name;
  std::string url;
  std::string via;         // "nbd" or "fuse"
  pid_t pid = 0;           // of the process that serves it
  std::string file;        // the block file; empty with nbd
  std::string device;      // the nbd device, or the loop device over the file; empty without one
  std::string mounted_on;  // by `iser mount`; empty otherwise
  std::string wire;
  std::uint64_t size = 0;

  // What to open: the device, or where there is none the file.
  const std::string& path() const { return device.empty() ? file : device; }
};

// The way to the kernel. `automatic`: nbd if there is a device free, else fuse.
enum class Via { automatic, nbd, fuse };

struct AttachRequest {
  Url url;
  std::string name;  // empty: made from target and LUN
  Via via = Via::automatic;
  bool read_only = false;
  bool want_device = true;  // a block device, where one may be had; false: only the file
  SessionOptions session;
};

// Starts the serving process, waits until the LUN is there, and gives its record. Throws
// SessionError or UsageError. Must be called while the program has one thread (it forks).
Attachment attach(const AttachRequest& request);

// Ends it: flushed, logged out, record removed. Throws SessionError, in particular while it is in
// use.
void detach(const std::string& name);

std::vector<Attachment> attachments();
std::optional<Attachment> find_attachment(const std::string& name);
// Notes or clears (empty) where it is mounted.
void note_mount(const std::string& name, const std::string& dir);

}  // namespace openiser::initiator
