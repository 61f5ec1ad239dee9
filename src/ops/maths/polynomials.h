#pragma once

// Written by scripts/fit-polynomials, which says what they are.

#include <array>

namespace lazuli::ops {

// clang-format off
/// f32, error 2^-28.28.
inline constexpr std::array kExp = {
    0x1.fffffc0000000p-2,
    0x1.5554920000000p-3,
    0x1.5558f40000000p-5,
    0x1.123a1a0000000p-7,
    0x1.6a23060000000p-10};
/// f32, error 2^-26.18.
inline constexpr std::array kExpm1 = {
    0x1.fffffe0000000p-2,
    0x1.5554b00000000p-3,
    0x1.5556740000000p-5,
    0x1.1227ae0000000p-7,
    0x1.6bec3a0000000p-10};
/// f32, error 2^-28.91.
inline constexpr std::array kExp2 = {
    0x1.62e4300000000p-1,
    0x1.ebfbdc0000000p-3,
    0x1.c6aee60000000p-5,
    0x1.3b2d500000000p-7,
    0x1.5f3f2c0000000p-10,
    0x1.41fb620000000p-13};
/// f32, error 2^-27.69.
inline constexpr std::array kLog = {
    0x1.5555060000000p-2,
    -0x1.fffef00000000p-3,
    0x1.99d0260000000p-3,
    -0x1.559dc80000000p-3,
    0x1.1ed7400000000p-3,
    -0x1.f3118c0000000p-4,
    0x1.1e65de0000000p-3,
    -0x1.0804ea0000000p-3};
/// f32, error 2^-27.96.
inline constexpr std::array kSin = {
    -0x1.5555460000000p-3,
    0x1.1107320000000p-7,
    -0x1.9940740000000p-13};
/// f32, error 2^-33.0.
inline constexpr std::array kCos = {
    0x1.55554a0000000p-5,
    -0x1.6c0c2a0000000p-10,
    0x1.99e8aa0000000p-16};
/// f32, error 2^-30.87.
inline constexpr std::array kErf = {
    0x1.06eba80000000p-3,
    -0x1.8127420000000p-2,
    0x1.ce2df40000000p-4,
    -0x1.b80cb40000000p-6,
    0x1.54b5e40000000p-8,
    -0x1.a99ef80000000p-11,
    0x1.5ac3420000000p-14};
/// f32, error 2^-34.69.
inline constexpr std::array kLogErfc = {
    0x1.77fc920000000p-13,
    -0x1.2129560000000p+0,
    -0x1.44403c0000000p-1,
    -0x1.bbb6e60000000p-4,
    0x1.9c12020000000p-6,
    -0x1.1222040000000p-8,
    0x1.ca21640000000p-12,
    -0x1.6574ea0000000p-16};
/// f64, error 2^-57.93.
inline constexpr std::array kExp64 = {
    0x1.000000000000ap-1,
    0x1.55555555554f9p-3,
    0x1.5555555550847p-5,
    0x1.1111111127dd0p-7,
    0x1.6c16c18436faap-10,
    0x1.a01a0129c7644p-13,
    0x1.a01999e6a45ecp-16,
    0x1.71df265b7af5bp-19,
    0x1.28ad97d725da4p-22,
    0x1.ad7e2d3e7e3f1p-26};
/// f64, error 2^-59.48.
inline constexpr std::array kLog64 = {
    0x1.5555555555593p-1,
    0x1.999999997fb3cp-2,
    0x1.2492494216cf5p-2,
    0x1.c71c51e8c6461p-3,
    0x1.746645fc43320p-3,
    0x1.39a0fa5a55aa1p-3,
    0x1.2f0d54d149093p-3};
/// f64, error 2^-73.54.
inline constexpr std::array kLogTail64 = {
    0x1.9999999999996p-2,
    0x1.2492492493048p-2,
    0x1.c71c71c57e148p-3,
    0x1.745d18337092fp-3,
    0x1.3b136269c9e9bp-3,
    0x1.1120c11b08660p-3,
    0x1.de319e1ed7ff3p-4,
    0x1.eb20557b74b2ap-4};
/// f64, error 2^-38.0.
inline constexpr std::array kLog2Of32 = {
    0x1.71547652bc270p+0,
    -0x1.71547652ee31cp-1,
    0x1.ec709d8d68f3ep-2,
    -0x1.715475c3e878ep-2,
    0x1.2776e33ca18d2p-2,
    -0x1.ec710a3572c05p-3,
    0x1.a60ad61120649p-3,
    -0x1.71426e4de26cep-3,
    0x1.4986f21dd6872p-3,
    -0x1.28fd31ea6b3ddp-3,
    0x1.f9c37ce18cc39p-4,
    -0x1.c9a1b0f674d4bp-4,
    0x1.432b4e4845ebap-3,
    -0x1.346316b6ed972p-3};
/// f64, error 2^-34.52.
inline constexpr std::array kExp2Of32 = {
    0x1.ffffffffab257p-1,
    0x1.62e42ff11911fp-1,
    0x1.ebfbe0a5aa25ep-3,
    0x1.c6b08aaab4e0ep-5,
    0x1.3b29db733ca54p-7,
    0x1.5d8a734af5139p-10,
    0x1.446ac9050a9b3p-13,
    0x1.fe16622b83e21p-17};
/// f64, error 2^-57.92.
inline constexpr std::array kSin64 = {
    -0x1.5555555555548p-3,
    0x1.111111110f78fp-7,
    -0x1.a01a019bf5911p-13,
    0x1.71de356056d84p-19,
    -0x1.ae5e5487ffefcp-26,
    0x1.5d8e04fcef32bp-33};
/// f64, error 2^-63.94.
inline constexpr std::array kCos64 = {
    0x1.555555555554bp-5,
    -0x1.6c16c16c14f49p-10,
    0x1.a01a019c7d0b3p-16,
    -0x1.27e4f7e55ec0ap-22,
    0x1.1ee9d3f0ea716p-29,
    -0x1.8fa29ac7e718bp-37};
/// f64, error 2^-56.93.
inline constexpr std::array kErf64 = {
    0x1.06eba8214db68p-3,
    -0x1.812746b0379bdp-2,
    0x1.ce2f21a040d16p-4,
    -0x1.b82ce311fa946p-6,
    0x1.565bccf92b4fep-8,
    -0x1.c02db03ddc069p-11,
    0x1.f9a2baa962e23p-14,
    -0x1.f4ca4d73d8b20p-17,
    0x1.b97fd3f92ae2cp-20,
    -0x1.5c072765d6055p-23,
    0x1.d71b108cca640p-27,
    -0x1.abae493f2ead1p-31};
/// f64, error 2^-56.7.
inline constexpr std::array kErfc64 = {
    0x1.058671b52c776p+0,
    -0x1.5fd386754effbp-1,
    0x1.1e2deea6b1128p-2,
    -0x1.2a88e6107af3ep-5,
    -0x1.606e41550b9bep-6,
    0x1.a89eaff233c1cp-8,
    0x1.9517bb5599608p-9,
    -0x1.b6fbf257bee0ep-11,
    -0x1.5ba43939a697ap-11,
    0x1.204bb3970764cp-15,
    0x1.2efdb2ccbe4afp-13,
    0x1.1ebd067158b30p-15,
    -0x1.6ddcaa839fffdp-16,
    -0x1.0f4ad20a6c9d6p-16,
    -0x1.d8be7966360c7p-22,
    0x1.706a4ce6fb306p-19,
    0x1.3a525d088f6bdp-20,
    0x1.e7656beb0d6c4p-19,
    -0x1.45a84f0c8510cp-18,
    0x1.ef48bbdfc2f87p-20,
    -0x1.c94a828e73d75p-23};
/// f64, error 2^-59.43.
inline constexpr std::array kAtan64 = {
    -0x1.555555555553cp-2,
    0x1.9999999995736p-3,
    -0x1.24924922a6600p-3,
    0x1.c71c70e372a93p-4,
    -0x1.745cf89363f1cp-4,
    0x1.3b11142170b52p-4,
    -0x1.10eb8066aa3c6p-4,
    0x1.df0c257037a20p-5,
    -0x1.9cc4a4eb635f6p-5,
    0x1.37b1fbae56a28p-5,
    -0x1.251c719edbf05p-6};
/// f64, error 2^-55.9.
inline constexpr std::array kAsin64 = {
    0x1.5555555555390p-3,
    0x1.333333336e82dp-4,
    0x1.6db6db42792c8p-5,
    0x1.f1c72c3953dfap-6,
    0x1.6e89f43859651p-6,
    0x1.1c6be21110819p-6,
    0x1.c6fdba5d8eb67p-7,
    0x1.8ec32611b77cdp-7,
    0x1.abce30a2dfe15p-8,
    0x1.3ff54f41333c8p-6,
    -0x1.09d3ef32cfda4p-6,
    0x1.056d9c819db56p-5};
// clang-format on

}  // namespace lazuli::ops
