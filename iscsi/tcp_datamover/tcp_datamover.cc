#include "iscsi/tcp_datamover/tcp_datamover.h"

#include "iscsi/tcp_datamover/initiator_datamover.h"
#include "iscsi/tcp_datamover/target_datamover.h"

namespace openiser::iscsi {

std::unique_ptr<TcpDatamover> make_tcp_datamover(Role role, const Parameters& parameters,
                                                 BufferPool& pool,
                                                 std::vector<std::byte> write_first,
                                                 std::vector<std::byte> already_read) {
  StreamStart start{parameters, pool, std::move(write_first), std::move(already_read)};
  if (role == Role::target) return std::make_unique<TargetDatamover>(std::move(start));
  return std::make_unique<InitiatorDatamover>(std::move(start));
}

}  // namespace openiser::iscsi
