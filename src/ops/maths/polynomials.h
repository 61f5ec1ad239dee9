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
/// f64, error 2^-59.23.
inline constexpr std::array kErfc64 = {
    0x1.058671b52c776p+0,
    -0x1.5fd386754eff8p-1,
    0x1.1e2deea6b117cp-2,
    -0x1.2a88e6107d97ep-5,
    -0x1.606e41552c84ap-6,
    0x1.a89eaff8d4897p-8,
    0x1.9517bb733e45ap-9,
    -0x1.b6fbf9e644499p-11,
    -0x1.5ba438f8267eep-11,
    0x1.20545012aff26p-15,
    0x1.2efa40ce96705p-13,
    0x1.1e7466df48632p-15,
    -0x1.6c04def3c8d4ap-16,
    -0x1.0e635ae327f8ep-16,
    -0x1.2d7a4426b85dep-20,
    0x1.e6dff4b40f182p-19,
    0x1.0c9269d20294ep-19,
    0x1.5cd7747ea1f8ep-25,
    -0x1.38d14f4856fb8p-21,
    -0x1.9a8df73b1c3cep-22,
    0x1.e9ed2eba7fdbdp-26,
    0x1.5a8d57c524128p-23,
    0x1.5ce58fbc666fap-26,
    -0x1.13ecf669b789bp-25};
inline constexpr std::array kErfc64Low = {-0x1.4a667a9f4fd36p-56, -0x1.d215a1c853955p-55};
/// f64, error 2^-9.539.
inline constexpr std::array kRcbrt64 = {
    0x1.106d48658b329p+1,
    -0x1.88f0e61beb36dp+1,
    0x1.e98f5de8a4917p+1,
    -0x1.6cc1b8e12f702p+1,
    0x1.36f579ae47c73p+0,
    -0x1.1768537a5fc83p-2,
    0x1.998d87a9fb888p-6};
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
/// f64, error 2^-59.86.
inline constexpr std::array kAsin64 = {
    0x1.5555555555577p-3,
    0x1.333333332e0f9p-4,
    0x1.6db6db7214815p-5,
    0x1.f1c71a9448ca2p-6,
    0x1.6e8bdef09a377p-6,
    0x1.1c49ef56bcb54p-6,
    0x1.ca1fa3abb6823p-7,
    0x1.7584e32bdc234p-7,
    0x1.613fe924e188ep-7,
    0x1.e5c66661c11fbp-9,
    0x1.63a9ced2f11c2p-6,
    -0x1.580f2d3e891eap-6,
    0x1.0b4bee9fd45e8p-5};
/// f64, error 2^-31.15.
inline constexpr std::array kErfinv = {
    0x1.c5bf891e801e2p-1,
    0x1.db29f82ff9314p-3,
    0x1.7a74bd33a8f4fp-7,
    -0x1.322ca78c6cf5fp-9,
    -0x1.093e2e9c33ddcp-13,
    0x1.78c106e7cf721p-15,
    0x1.a3c61be414e14p-19,
    -0x1.82a46c5abcfe1p-20,
    0x1.8a1c89618e195p-25,
    0x1.94ba81561166ep-26,
    -0x1.b80f1748b8da4p-29,
    0x1.22e654f864cb5p-33};
/// f64, error 2^-29.18.
inline constexpr std::array kErfinvFar = {
    0x1.c270f299d9a69p+2,
    -0x1.f0a3709f39c5ap+4,
    0x1.1801d2e114f98p+6,
    -0x1.74c2cf7cf55b2p+6,
    0x1.4c20862be2e2dp+6,
    -0x1.a3581dcc920f2p+5,
    0x1.850ebfea34feep+4,
    -0x1.0f45f7b690117p+3,
    0x1.1fbef051398ecp+1,
    -0x1.d1c8bc7bf58edp-2,
    0x1.1e06cb3b988dep-4,
    -0x1.06431f7b1cf31p-7,
    0x1.5c224f00299d8p-11,
    -0x1.3c34d5352af0cp-15,
    0x1.5fd28f338eac8p-20,
    -0x1.69ccb2122f4aap-26};
/// f64, error 2^-59.0.
inline constexpr std::array kLgamma64 = {
    0x1.eeb95b094c191p-2,
    -0x1.2aed059bd6089p-3,
    0x1.01af62a2929dbp-4,
    -0x1.007aa83cee62bp-5,
    0x1.133423527a9c5p-6,
    -0x1.34dbda1440c8ap-7,
    0x1.64f06650f78f3p-8,
    -0x1.a5035264088aep-9,
    0x1.f814b84a700dbp-10,
    -0x1.313e82125c7a9p-10,
    0x1.750ad4eb96401p-11,
    -0x1.cb46999c4ed15p-12,
    0x1.1c75d86fad5d4p-12,
    -0x1.621f8706bd1d8p-13,
    0x1.badacb4f37deap-14,
    -0x1.16f4fea9bad07p-14,
    0x1.60184d9c33367p-15,
    -0x1.ae3199c02d28cp-16,
    0x1.0cd48392d6ab4p-16,
    -0x1.aa55a39cd2f32p-17,
    0x1.1f9a386c8aa59p-17,
    -0x1.6d346c1366832p-22,
    -0x1.0977624a5eba1p-21,
    -0x1.cdb25fc69f436p-18,
    0x1.56297ad487865p-18,
    0x1.c4392001f6e25p-19,
    -0x1.5732d30224d40p-19,
    -0x1.0a1dae30998acp-19,
    0x1.71aa49a36f63fp-20};
/// f64, error 2^-64.27.
inline constexpr std::array kStirling64 = {
    0x1.5555555555553p-4,
    -0x1.6c16c16bcc30dp-9,
    0x1.a019fe03cc4a5p-11,
    -0x1.380f6628b19a7p-11,
    0x1.b731725743440p-11,
    -0x1.b457839ec124dp-10};
/// f64, error 2^-61.64.
inline constexpr std::array kSinPi64 = {
    -0x1.a51a6625307d3p+0,
    0x1.9f9cb402bc3f2p-1,
    -0x1.86a8e47208900p-3,
    0x1.ac6805cbd7d6bp-6,
    -0x1.3381696be8ecfp-9,
    0x1.37469564e044fp-13,
    -0x1.d3e31bfc0827ep-18,
    0x1.070d8e622c1f0p-22};
// clang-format on

}  // namespace lazuli::ops
