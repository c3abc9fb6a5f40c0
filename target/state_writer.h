// The thread that writes state files (state_file.h), so that no event loop waits for a disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace openiser::target {

// One for the daemon. Its thread begins with the first job: who keeps no state has none.
class StateWriter {
 public:
  StateWriter() = default;
  // Does what was posted, then ends the thread.
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  // Any thread. Jobs are done one after the other, in the order they came.
  void post(std::function<void()> job);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace openiser::target
