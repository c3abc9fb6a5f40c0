// What PERSISTENT RESERVE OUT says in its parameter list, and the TransportIDs in it.
#include <gtest/gtest.h>

#include "target/scsi/reservations/parameter_list.h"
#include "target/scsi/reservations/transport_id.h"
#include "tests/support/bytes.h"
#include "tests/support/reserve_out.h"

namespace openiser::test {
namespace {

using target::Condition;
using target::ItNexus;
using target::ReserveOut;
using target::Sense;
using Action = target::ReserveOutAction;

const std::string kPort = "iqn.b,i,0x23d000000001";
const ItNexus kA{"iqn.a,i,0x800000000001", 1};

class ReserveOutList : public ::testing::Test {
 protected:
  std::variant<ReserveOut, Sense> read(const ByteVector& list, Action action) {
    const ByteVector whole = exact(list);
    return target::read_parameter_list(whole, {.from = kA,
                                               .action = action,
                                               .type = 5,
                                               .can_survive_power_loss = survives,
                                               .target_ports = ports,
                                               .known = known});
  }
  // "" or what is wrong: "length", or the field of an invalid parameter, "20.3".
  std::string fault(const ByteVector& list, Action action = Action::register_key) {
    const auto read_one = read(list, action);
    const auto* sense = std::get_if<Sense>(&read_one);
    if (!sense) return "";
    if (sense->condition == Condition::parameter_list_length_error) return "length";
    EXPECT_EQ(sense->condition, Condition::invalid_field_in_parameter_list);
    EXPECT_FALSE(sense->field->in_cdb);
    std::string text = std::to_string(sense->field->byte);
    if (sense->field->bit) text += "." + std::to_string(*sense->field->bit);
    return text;
  }
  ReserveOut command(const ByteVector& list, Action action = Action::register_key) {
    auto read_one = read(list, action);
    EXPECT_TRUE(std::holds_alternative<ReserveOut>(read_one));
    return std::get<ReserveOut>(std::move(read_one));
  }

  bool survives = true;
  std::vector<std::uint16_t> ports{1, 2};
  std::vector<ItNexus> known;
};

TEST_F(ReserveOutList, Basic) {
  const ReserveOut got = command(basic_list(0x0102030405060708, 0x1112131415161718, 0x01));
  EXPECT_EQ(got.from, kA);
  EXPECT_EQ(got.type, 5);
  EXPECT_EQ(got.key, 0x0102030405060708U);
  EXPECT_EQ(got.service_action_key, 0x1112131415161718U);
  EXPECT_TRUE(got.survive_power_loss);
  EXPECT_FALSE(got.names_others);
  EXPECT_TRUE(got.other_ports.empty());
}

TEST_F(ReserveOutList, IsOf24BytesAndNoMore) {
  for (int action = 0; action != 7; ++action) {
    const auto list = basic_list(1, 2);
    for (std::size_t size = 0; size != 24; ++size) {
      EXPECT_EQ(fault({list.begin(), list.begin() + static_cast<std::ptrdiff_t>(size)},
                      static_cast<Action>(action)),
                "length");
    }
    EXPECT_EQ(fault(list, static_cast<Action>(action)), "");
    EXPECT_EQ(fault(joined({list, ByteVector(1)}), static_cast<Action>(action)), "length");
  }
}

TEST_F(ReserveOutList, SpecIPtIsForRegisterAlone) {
  for (int action = 1; action != 7; ++action) {
    EXPECT_EQ(fault(list_with_ids(1, 0x08, {}), static_cast<Action>(action)), "20.3") << action;
  }
  EXPECT_EQ(fault(list_with_ids(1, 0x08, {})), "");
}

TEST_F(ReserveOutList, OtherFlagsAreIgnoredWhereNothingIsRegistered) {
  survives = false;
  for (const Action action : {Action::reserve, Action::release, Action::clear, Action::preempt,
                              Action::preempt_and_abort}) {
    const ReserveOut got = command(basic_list(1, 2, 0x05), action);
    EXPECT_FALSE(got.survive_power_loss);
    EXPECT_TRUE(got.other_ports.empty());
  }
}

TEST_F(ReserveOutList, AptplWhereNothingCanBeKept) {
  survives = false;
  EXPECT_EQ(fault(basic_list(0, 1, 0x01)), "20.0");
  EXPECT_EQ(fault(basic_list(0, 1, 0x01), Action::register_and_ignore_existing_key), "20.0");
  EXPECT_EQ(fault(move_list(1, 2, 0x01, 1, transport_id(kPort)), Action::register_and_move),
            "17.0");
}

TEST_F(ReserveOutList, AllTargetPorts) {
  const ReserveOut got = command(basic_list(0, 1, 0x04));
  EXPECT_EQ(got.other_ports, (std::vector<ItNexus>{{kA.initiator_port, 2}}));
}

TEST_F(ReserveOutList, OthersByTransportId) {
  const auto ids = joined({transport_id(kPort), transport_id("iqn.c,i,0x000000000007"),
                           transport_id(kPort), transport_id(kA.initiator_port)});
  const ReserveOut got = command(list_with_ids(3, 0x08, ids));
  EXPECT_TRUE(got.names_others);
  EXPECT_EQ(got.others, (std::vector<ItNexus>{{kPort, 1}, {"iqn.c,i,0x000000000007", 1}}))
      << "each once, and not who registers anyway";
  const ReserveOut all = command(list_with_ids(3, 0x0c, transport_id(kPort)));
  EXPECT_EQ(all.others, (std::vector<ItNexus>{{kPort, 1}, {kPort, 2}}));
  EXPECT_EQ(all.other_ports, (std::vector<ItNexus>{{kA.initiator_port, 2}}));
}

TEST_F(ReserveOutList, OthersByTheInitiatorsName) {
  known = {{"iqn.b,i,0x000000000001", 1}, {"iqn.b,i,0x000000000002", 2}, {"iqn.bb,i,0x1", 1}};
  const ReserveOut got = command(list_with_ids(3, 0x08, transport_id("iqn.b", 0)));
  EXPECT_EQ(got.others,
            (std::vector<ItNexus>{{"iqn.b,i,0x000000000001", 1}, {"iqn.b,i,0x000000000002", 1}}));
  EXPECT_EQ(fault(list_with_ids(3, 0x08, transport_id("iqn.nobody", 0))), "28");
}

TEST_F(ReserveOutList, IdsCutOffAtEveryByte) {
  const auto whole = list_with_ids(3, 0x08, joined({transport_id(kPort), transport_id(kPort)}));
  for (std::size_t size = 24; size != whole.size(); ++size) {
    ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(fault(cut), "length") << size;
    if (size <= 28) continue;
    store_be32(&cut[24], static_cast<std::uint32_t>(size - 28));
    const std::size_t first = 28 + transport_id(kPort).size();
    EXPECT_EQ(fault(cut), size == first ? "" : size < first ? "28" : std::to_string(first)) << size;
  }
  EXPECT_EQ(fault(whole), "");
  EXPECT_EQ(fault(joined({whole, ByteVector(4)})), "length");
}

TEST_F(ReserveOutList, Move) {
  const ReserveOut got =
      command(move_list(1, 2, 0x03, 2, transport_id(kPort)), Action::register_and_move);
  EXPECT_EQ(got.destination, (ItNexus{kPort, 2}));
  EXPECT_TRUE(got.unregister);
  EXPECT_TRUE(got.survive_power_loss);
}

TEST_F(ReserveOutList, MovesThatCannotBe) {
  const auto id = transport_id(kPort);
  const auto move = Action::register_and_move;
  EXPECT_EQ(fault(move_list(1, 2, 0, 3, id), move), "18") << "no such port";
  EXPECT_EQ(fault(move_list(1, 2, 0, 1, transport_id("iqn.b", 0)), move), "24") << "not a port";
  EXPECT_EQ(fault(move_list(1, 2, 0, 1, joined({id, id})), move), "24") << "two of them";
  EXPECT_EQ(fault(move_list(1, 2, 0, 1, {}), move), "24");
  const auto whole = move_list(1, 2, 0, 1, id);
  for (std::size_t size = 0; size != whole.size(); ++size) {
    EXPECT_EQ(fault({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, move),
              "length");
  }
  EXPECT_EQ(fault(joined({whole, ByteVector(1)}), move), "length");
}

// --- TransportIDs ---

std::string decoded(const ByteVector& id) {
  const auto got = target::decode_transport_id(exact(id));
  return got ? got->name : "none";
}

TEST(TransportId, OfAPort) {
  EXPECT_EQ(decoded(transport_id(kPort)), kPort);
  EXPECT_EQ(decoded(transport_id("IQN.B,i,0x23D000000001")), kPort);
  EXPECT_EQ(decoded(transport_id("iqn.b,i,0x7")), "iqn.b,i,0x000000000007");
  EXPECT_EQ(to_hex(target::encode_transport_id(kPort)),
            "4500001869716e2e622c692c3078323364303030303030303031"
            "0000");
  EXPECT_EQ(to_hex(target::encode_transport_id("iqn.b,i,0x1")),
            "4500001469716e2e622c692c3078310000000000"
            "00000000");
}

TEST(TransportId, OfAnyNameThereAndBack) {
  for (std::size_t size = 1; size <= 223; ++size) {
    const std::string name = std::string(size, 'n') + ",i,0x23d000000001";
    const auto id = target::encode_transport_id(name);
    EXPECT_EQ(id.size() % 4, 0U);
    EXPECT_EQ(id.back(), std::byte{0});
    EXPECT_EQ(decoded(id), name);
  }
  EXPECT_EQ(decoded(transport_id(std::string(224, 'n') + ",i,0x1")), "none");
}

TEST(TransportId, OfAnInitiator) {
  const auto got = target::decode_transport_id(transport_id("iqn.b", 0));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->is_port);
  EXPECT_EQ(got->name, "iqn.b");
}

TEST(TransportId, ThatIsNone) {
  ByteVector good = transport_id(kPort);
  for (const auto& [at, value] : {std::pair(0, 0x46),
                                  {0, 0x85},
                                  {0, 0xc5},
                                  {3, 0x10},
                                  {3, 0x17},
                                  {2, 0x01},
                                  {27, 'x'},
                                  {26, 'x'},
                                  {4, ' '},
                                  {15, 'g'}}) {
    ByteVector bad = good;
    store_u8(&bad[static_cast<std::size_t>(at)], static_cast<std::uint8_t>(value));
    EXPECT_EQ(decoded(bad), "none") << at << " " << value;
  }
  EXPECT_EQ(decoded(transport_id("iqn.b")), "none") << "a port without an ISID";
  EXPECT_EQ(decoded(transport_id("iqn.b,i,0x")), "none");
  EXPECT_EQ(decoded(transport_id("iqn.b,i,0x0123456789abc")), "none") << "13 digits";
  EXPECT_EQ(decoded(transport_id(",i,0x1")), "none");
  EXPECT_EQ(decoded(transport_id("", 0)), "none");
  for (std::size_t size = 0; size != good.size(); ++size) {
    EXPECT_EQ(decoded({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}), "none");
  }
}

}  // namespace
}  // namespace openiser::test
