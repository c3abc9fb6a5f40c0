// Owners of what libibverbs and librdmacm allocate.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

namespace openiser::rdmap {

struct VerbsFree {
  void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
  void operator()(ibv_mr* region) const { ibv_dereg_mr(region); }
  void operator()(ibv_mw* window) const { ibv_dealloc_mw(window); }
  void operator()(ibv_cq* queue) const { ibv_destroy_cq(queue); }
  void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
  void operator()(rdma_cm_id* id) const { rdma_destroy_id(id); }
};
template <class T>
using Owned = std::unique_ptr<T, VerbsFree>;

}  // namespace openiser::rdmap
