// A LUN of a Session as a BlockDevice. Transfers beyond what the LUN or we take at once are cut
// into commands.
#pragma once

#include <memory>

#include "initiator/block_device.h"
#include "initiator/scsi_query.h"
#include "initiator/session.h"

namespace openiser::initiator {

class Lun final : public BlockDevice {
 public:
  // Throws SessionError: no such LUN, no disk.
  static std::unique_ptr<Lun> open(std::shared_ptr<Session> session, std::uint16_t lun);
  ~Lun() override;

  const BlockDeviceProperties& properties() const override;
  const LunDescription& description() const;
  Session& session() const;

  using BlockDevice::flush;
  using BlockDevice::read;
  using BlockDevice::unmap;
  using BlockDevice::write;
  using BlockDevice::write_zeroes;
  void read(std::uint64_t offset, MutableBytes data, Done done) override;
  void write(std::uint64_t offset, Bytes data, bool force_unit_access, Done done) override;
  void flush(Done done) override;
  void unmap(std::uint64_t offset, std::uint64_t length, Done done) override;
  // WRITE SAME of zeroes where the LUN has it, else written out.
  void write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate,
                    Done done) override;

 private:
  class State;
  explicit Lun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace openiser::initiator
