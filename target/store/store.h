// Where the bytes of a logical unit live. A store is one file that implements this; file, memory
// and null come with the project. A store is shared by all threads and sessions; requests are
// asynchronous and complete on the thread that submitted them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/result.h"
#include "rdmap/tcp/event_loop.h"

namespace openiser::target {

// Bytes of the medium below the store.
struct StoreSpace {
  std::uint64_t used = 0;       // by this store
  std::uint64_t available = 0;  // to it and whatever else is there
};

// One I/O, owned by the submitter and kept in place until done(). Offsets and lengths are in bytes
// and within the store.
class StoreRequest {
 public:
  // find_extent: how far from `offset` the store is all data, or all hole. prefetch: the range is
  // going to be read; advice, which never fails. query_space: how much room the store takes and
  // could take; for stores that tell (StoreProperties::tells_space).
  enum class Operation : std::uint8_t {
    read,
    write,
    flush,
    discard,
    write_zeroes,
    find_extent,
    prefetch,
    query_space
  };

  Operation operation = Operation::read;
  // Writes: the data is on stable storage when the request is done.
  bool force_unit_access = false;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  // Set by find_extent, which also cuts `length` to where that ends. Left as it was, false, where
  // it is not known.
  bool is_hole = false;
  // Set by prefetch where all of the range is known to be in memory now.
  bool is_cached = false;
  // Set by query_space.
  StoreSpace space;
  // Read: where to, or write: from where; together `length` bytes. Valid until done().
  std::span<const MutableBytes> pieces;

  // Set before done(): no error, or the error of the operating system (generic category: ENOSPC,
  // EIO, EROFS, ...).
  ErrorCode error;

  virtual void done() = 0;

  bool changes_data() const {
    return operation == Operation::write || operation == Operation::discard ||
           operation == Operation::write_zeroes;
  }

 protected:
  ~StoreRequest() = default;
};

// The I/O machinery of one thread: io_uring where the kernel has it, a pool of threads where it has
// not. Stores that do their work at once need none of it.
class StoreEngine {
 public:
  enum class Kind : std::uint8_t { automatic, io_uring, threads };
  // Tells of completions on `loop`'s thread.
  static std::unique_ptr<StoreEngine> create(rdmap::EventLoop& loop, Kind kind = Kind::automatic);
  virtual ~StoreEngine() = default;
  virtual const char* name() const = 0;

  // `fd` stays open until done().
  virtual void submit(int fd, StoreRequest& request) = 0;
  // Starts what has been submitted since the last call. Happens by itself at the end of the loop's
  // turn; calling it starts things sooner.
  virtual void flush() = 0;
};

struct StoreProperties {
  std::uint64_t size = 0;  // bytes
  bool read_only = false;
  bool discard = false;           // discard deallocates; reads give zeroes afterwards
  bool volatile_cache = false;    // flush is needed for writes to be on stable storage
  bool tells_space = false;       // query_space is answered
  bool volatile_content = false;  // all of it goes with the process
  std::uint32_t alignment = 1;    // of offsets and lengths of reads and writes
  std::string description;        // "file /srv/disk1.img", for logs and status
};

class Store {
 public:
  virtual ~Store() = default;
  virtual StoreProperties properties() const = 0;
  // done() may be called from inside submit().
  virtual void submit(StoreEngine& engine, StoreRequest& request) = 0;
  // Makes it at least `size` bytes large; any thread, and it may block. EOPNOTSUPP where a store is
  // as large as it was made.
  virtual Status grow(std::uint64_t size);
};

struct FileStoreOptions {
  std::uint64_t size = 0;  // made, or grown, to it; 0: as large as it is
  bool read_only = false;
  bool direct = false;  // past the page cache; EOPNOTSUPP where the file system cannot
  // For somebody else's lock on the file; then the error is EBUSY.
  std::chrono::milliseconds lock_wait{0};
};
Result<std::unique_ptr<Store>> open_file_store(const std::string& path,
                                               const FileStoreOptions& options);

// Throws std::system_error if there are no addresses left for it.
std::unique_ptr<Store> make_memory_store(std::uint64_t size, bool read_only = false);
// Reads give zeroes, writes vanish: for measuring everything else.
std::unique_ptr<Store> make_null_store(std::uint64_t size);

}  // namespace openiser::target
