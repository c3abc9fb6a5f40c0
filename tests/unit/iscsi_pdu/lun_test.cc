#include "iscsi/pdu/lun.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/bytes.h"

namespace openiser::iscsi {
namespace {

using test::hex;

Lun lun_of(std::string_view digits) {
  Lun lun{};
  const auto bytes = hex(digits);
  std::copy(bytes.begin(), bytes.end(), lun.begin());
  return lun;
}

TEST(Lun, PeripheralDeviceAddressing) {
  EXPECT_EQ(decode_lun(lun_of("0000")), 0U);
  EXPECT_EQ(decode_lun(lun_of("00ff")), 255U);
}

TEST(Lun, FlatSpace) {
  EXPECT_EQ(decode_lun(lun_of("4000")), 0U);
  EXPECT_EQ(decode_lun(lun_of("7fff")), 16383U);
}

TEST(Lun, ExtendedFlatSpace) {
  EXPECT_EQ(decode_lun(lun_of("d2000000")), 0U);
  EXPECT_EQ(decode_lun(lun_of("d2003fff")), 16383U);
  EXPECT_EQ(decode_lun(lun_of("d2ffffff")), 0xffffffU);
}

TEST(Lun, OtherFormsStandForNone) {
  for (const char* digits : {"0100", "3f00", "8000", "c101", "d1000000", "e2000000", "ffff"}) {
    EXPECT_FALSE(decode_lun(lun_of(digits)).has_value()) << digits;
  }
}

TEST(Lun, FurtherLevelsStandForNone) {
  for (const char* digits : {"00000001", "40000001", "d200000001", "0000000000000001"}) {
    EXPECT_FALSE(decode_lun(lun_of(digits)).has_value()) << digits;
  }
}

TEST(Lun, EveryNumberComesBack) {
  for (std::uint32_t lun = 0; lun <= 16383; ++lun) {
    ASSERT_EQ(decode_lun(encode_lun(static_cast<std::uint16_t>(lun))), lun);
  }
}

TEST(Lun, SmallOnesUsePeripheralDeviceAddressing) {
  EXPECT_EQ(encode_lun(255), lun_of("00ff"));
  EXPECT_EQ(encode_lun(256), lun_of("4100"));
}

TEST(Lun, IsTheSameInEveryForm) {
  for (const auto& forms : {std::array{"0005", "4005", "d2000005"}, {"00ff", "40ff", "d20000ff"}}) {
    for (const char* a : forms) {
      for (const char* b : forms) EXPECT_TRUE(same_lun(lun_of(a), lun_of(b))) << a << ' ' << b;
    }
  }
  EXPECT_TRUE(same_lun(lun_of("412c"), lun_of("d200012c")));
}

TEST(Lun, IsNotTheSameAsAnother) {
  EXPECT_FALSE(same_lun(lun_of("0005"), lun_of("4006")));
  EXPECT_FALSE(same_lun(lun_of("0005"), lun_of("4105"))) << "256 more";
  EXPECT_FALSE(same_lun(lun_of("412c"), lun_of("d201012c")));
}

TEST(Lun, ThatStandsForNoneIsTheSameAsItself) {
  EXPECT_TRUE(same_lun(lun_of("c101"), lun_of("c101")));
  EXPECT_FALSE(same_lun(lun_of("c101"), lun_of("8000")));
  EXPECT_FALSE(same_lun(lun_of("0105"), lun_of("0005"))) << "another bus";
  EXPECT_FALSE(same_lun(lun_of("00050001"), lun_of("0005"))) << "a further level";
}

}  // namespace
}  // namespace openiser::iscsi
