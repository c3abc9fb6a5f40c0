// One session of libiscsi's.
#pragma once

#include <iscsi/iscsi.h>
#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>

namespace openiser::bench {

class LibiscsiSession {
 public:
  // Logs in. Throws std::runtime_error.
  LibiscsiSession(const std::string& url, unsigned number, bool header_digest);
  ~LibiscsiSession();

  struct Capacity {
    std::uint64_t blocks;
    std::uint32_t block_size;
  };
  Capacity capacity();

  // Memory behind `data` stays valid until `done` was called; `done` frees the task.
  void read(std::uint64_t lba, std::uint32_t block_size, scsi_iovec* data, iscsi_command_cb done,
            void* context);
  void write(std::uint64_t lba, std::uint32_t block_size, scsi_iovec* data, iscsi_command_cb done,
             void* context);

  pollfd waits_for() const;
  // Throws std::runtime_error when the connection is lost.
  void serve(const pollfd& ready);

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void check(const scsi_task* task) const;

  template <auto kFree>
  struct Free {
    template <class T>
    void operator()(T* p) const {
      kFree(p);
    }
  };
  std::unique_ptr<iscsi_context, Free<iscsi_destroy_context>> context_;
  std::unique_ptr<iscsi_url, Free<iscsi_destroy_url>> url_;
};

}  // namespace openiser::bench
