// What users and clients are told when a device or the connection manager fails.
#include <gtest/gtest.h>

#include <cerrno>

#include "rdmap/errors.h"
#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {
namespace {

ErrorCode system_error(int error) {
  return {error, boost::system::system_category()};
}

TEST(VerbsErrors, OfOpeningSayWhatToDo) {
  EXPECT_EQ(error_of_opening(EACCES), errc::verbs_no_permission);
  EXPECT_EQ(error_of_opening(ENOENT), errc::verbs_module_missing);
  EXPECT_EQ(error_of_opening(ENODEV), errc::verbs_no_device);
  EXPECT_EQ(error_of_opening(EADDRINUSE), system_error(EADDRINUSE));
  EXPECT_NE(ErrorCode(errc::verbs_no_permission).message().find("/dev/infiniband"),
            std::string::npos);
  EXPECT_NE(ErrorCode(errc::verbs_module_missing).message().find("modprobe -a ib_uverbs rdma_ucm"),
            std::string::npos);
}

TEST(VerbsErrors, OfRegistrationNameTheLimit) {
  EXPECT_EQ(error_of_registration(ENOMEM), errc::verbs_locked_memory);
  EXPECT_EQ(error_of_registration(EINVAL), system_error(EINVAL));
  EXPECT_NE(ErrorCode(errc::verbs_locked_memory).message().find("ulimit -l"), std::string::npos);
}

TEST(VerbsErrors, EveryStatusButSuccessIsOne) {
  EXPECT_FALSE(error_of_status(IBV_WC_SUCCESS));
  for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status)
    EXPECT_TRUE(error_of_status(static_cast<ibv_wc_status>(status))) << status;
  EXPECT_EQ(error_of_status(IBV_WC_WR_FLUSH_ERR), errc::flushed);
  EXPECT_EQ(error_of_status(IBV_WC_RNR_RETRY_EXC_ERR), errc::ddp_untagged_no_buffer);
  EXPECT_EQ(error_of_status(IBV_WC_RETRY_EXC_ERR), system_error(ETIMEDOUT));
}

// The status of an event is an errno or, of a rejection, a reason.
TEST(VerbsErrors, OfSetUpTellARefusalFromARejection) {
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_REJECTED, 8), system_error(ECONNREFUSED));
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED), system_error(ECONNREFUSED));
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_REJECTED, 28), errc::rejected);
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT), system_error(ETIMEDOUT));
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV), errc::verbs_no_device);
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_ADDR_ERROR, -EINVAL), errc::verbs_no_device);
  EXPECT_EQ(error_of_event(RDMA_CM_EVENT_DEVICE_REMOVAL, 0), errc::device_removed);
  EXPECT_TRUE(error_of_event(RDMA_CM_EVENT_CONNECT_ERROR, 0));
}

}  // namespace
}  // namespace openiser::rdmap
