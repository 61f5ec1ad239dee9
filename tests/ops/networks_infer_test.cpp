// Types, shapes and refusals of the ops that networks are made of, to the letter.

#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "lazuli/op.h"

namespace lazuli {
namespace {

using Specs = std::vector<TensorSpec>;
using Attributes = std::vector<Attribute>;

std::string result(std::string_view op, const Specs& inputs, const Attributes& attrs = {},
                   const TensorSpec* wanted = nullptr) {
    try {
        return infer(op, inputs, attrs, wanted).str();
    } catch (const Error& e) {
        return e.what();
    }
}

constexpr std::int64_t operator""_i(unsigned long long v) { return static_cast<std::int64_t>(v); }

TEST(InferNetworks, Activations) {
    EXPECT_EQ(result("silu", {{f16, {2}}}), "f16[2]");
    EXPECT_EQ(result("silu", {{i32, {2}}}),
              "silu: does not take i32[2] (takes f16, bf16, f32, f64)");
    EXPECT_EQ(result("squared_relu", {{u8, {}}}), "u8[]");
    EXPECT_EQ(result("affine", {{c64, {2, 1}}, {c64, {3}}, {c64, {}}}), "c64[2, 3]");
    EXPECT_EQ(result("glu", {{f32, {2, 6}}}, {1_i}), "f32[2, 3]");
    EXPECT_EQ(result("glu", {{f32, {2, 5}}}, {1_i}),
              "glu: axis 1 of f32[2, 5] has 5 elements, which are not two halves");
    EXPECT_EQ(result("glu", {{f32, {}}}, {0_i}), "glu: axis 0 is out of range for [] (rank 0)");
}

TEST(InferNetworks, Norms) {
    EXPECT_EQ(result("log_softmax", {{f32, {2, 3}}}, {2_i}),
              "log_softmax: axis 2 is out of range for [2, 3] (rank 2)");
    EXPECT_EQ(result("l2_norm", {{f32, {}}}, {0_i, 1e-12}),
              "l2_norm: axis 0 is out of range for [] (rank 0)");
    EXPECT_EQ(result("group_norm", {{f32, {2, 6}}, {f32, {6}}, {f32, {6}}}, {4_i, 1e-5}),
              "group_norm: 4 groups do not divide the 6 channels of f32[2, 6]");
    EXPECT_EQ(result("group_norm", {{f32, {2, 6}}, {f32, {6}}, {f32, {5}}}, {2_i, 1e-5}),
              "group_norm: operands have one element a channel, [6]; given [5] for [2, 6]");
    EXPECT_EQ(result("group_norm", {{f32, {6}}, {f32, {6}}, {f32, {6}}}, {2_i, 1e-5}),
              "group_norm: needs [images, channels, sizes...], given f32[6]");
    EXPECT_EQ(result("batch_norm", {{f32, {2, 6}}, {f32, {6}}, {f64, {6}}, {f32, {6}}, {f32, {6}}},
                     {1e-5}),
              "batch_norm: operands have different types: f32[2, 6], f32[6], f64[6], f32[6], "
              "f32[6]");
}

TEST(InferNetworks, Classes) {
    EXPECT_EQ(result("embedding", {{bf16, {5, 3}}, {u8, {2, 2}}}), "bf16[2, 2, 3]");
    EXPECT_EQ(result("embedding", {{f32, {5}}, {i64, {2}}}),
              "embedding: the table is [rows, length], not f32[5] (ids i64[2])");
    EXPECT_EQ(result("embedding", {{f32, {5, 3}}, {f32, {2}}}),
              "embedding: does not take f32[2] (takes i8, i16, i32, i64, u8, u16, u32, u64)");
    const TensorSpec wanted{f32, {3, 4}};
    EXPECT_EQ(result("one_hot", {{i64, {3}}}, {}, &wanted), "f32[3, 4]");
    EXPECT_EQ(result("one_hot", {{i64, {2}}}, {}, &wanted),
              "one_hot: of i64[2] come its sizes and the number of classes, not f32[3, 4]");
    EXPECT_EQ(result("cross_entropy", {{f16, {2, 3}}, {i32, {2}}}, {0.0, -100_i}), "f16[]");
    EXPECT_EQ(result("cross_entropy", {{f32, {2, 3}}, {i32, {3}}}, {0.0, -100_i}),
              "cross_entropy: needs logits [..., classes] and a target for each row: f32[2, 3] and "
              "i32[3]");
    EXPECT_EQ(result("cross_entropy", {{i32, {2, 3}}, {i32, {2}}}, {0.0, -100_i}),
              "cross_entropy: logits are floats, not i32[2, 3] (targets i32[2])");
    EXPECT_EQ(result("cross_entropy", {{f32, {2, 3}}, {i32, {2}}}, {1.5, -100_i}),
              "cross_entropy: label_smoothing 1.5 is not from 0 to 1: f32[2, 3] and i32[2]");
    EXPECT_EQ(result("dropout", {{f32, {2}}, {u64, {}}}, {2.0}),
              "dropout: p 2 is not from 0 to 1 (f32[2])");
    EXPECT_EQ(result("dropout", {{f32, {2}}, {u64, {2}}}, {0.5}),
              "dropout: a key is one number, u64[], not u64[2] (beside f32[2])");
}

TEST(InferNetworks, Positions) {
    EXPECT_EQ(result("tril", {{DType::boolean, {2, 3}}}, {0_i}), "bool[2, 3]");
    EXPECT_EQ(result("triu", {{f32, {3}}}, {0_i}),
              "triu: needs at least two dimensions, given f32[3]");
    EXPECT_EQ(result("rope", {{f32, {2, 5, 4}}, {i32, {5}}}, {1e4, false}), "f32[2, 5, 4]");
    EXPECT_EQ(result("rope", {{f32, {5, 3}}, {i32, {5}}}, {1e4, false}),
              "rope: needs [..., tokens, length] with an even length, given f32[5, 3] (positions "
              "i32[5])");
    EXPECT_EQ(result("rope", {{f32, {1, 4}}, {i32, {5}}}, {1e4, false}),
              "rope: positions [5] do not broadcast to the tokens [1] of f32[1, 4]");
    EXPECT_EQ(result("rope", {{f32, {5, 4}}, {i32, {5}}}, {0.0, false}),
              "rope: base 0 must be above 0 (f32[5, 4])");
}

TEST(InferNetworks, Windows) {
    EXPECT_EQ(result("max_pool", {{i8, {1, 2, 5}}}, {Ints{2}, Ints{2}, Ints{0, 1}}), "i8[1, 2, 3]");
    EXPECT_EQ(result("max_pool", {{f32, {2, 5}}}, {Ints{2}, Ints{2}, Ints{0, 0}}),
              "max_pool: needs [images, channels, sizes...] with one to three sizes, given f32[2, "
              "5]");
    EXPECT_EQ(result("max_pool", {{f32, {1, 2, 5}}}, {Ints{7}, Ints{1}, Ints{0, 1}}),
              "max_pool: a window of 7 does not fit 6 elements, padding included (dimension 0): "
              "[1, 2, 5]");
    EXPECT_EQ(result("avg_pool", {{f32, {1, 2, 5}}}, {Ints{2}, Ints{0}, Ints{0, 0}, true}),
              "avg_pool: stride 0 must be at least 1 (dimension 0): f32[1, 2, 5]");
    EXPECT_EQ(result("avg_pool", {{f32, {1, 2, 5}}}, {Ints{2, 2}, Ints{1}, Ints{0, 0}, true}),
              "avg_pool: window [2, 2] and strides [1] need one entry, padding [0, 0] two, for "
              "each of the 1 sizes of [1, 2, 5]");
    EXPECT_EQ(result("interpolate", {{f32, {1, 2, 0}}}, {Ints{3}, true}),
              "interpolate: 3 elements cannot be made of 0 (dimension 0): f32[1, 2, 0] to [3]");
    EXPECT_EQ(result("interpolate", {{f32, {1, 2, 3}}}, {Ints{3, 3}, true}),
              "interpolate: needs [images, channels, sizes...] with one or two sizes and as many "
              "new ones: f32[1, 2, 3] to [3, 3]");
    const auto transposed = [](const Shape& x, const Shape& w, const Ints& padding,
                               std::int64_t groups) {
        return result("convolution_transpose", {{f32, x}, {f32, w}},
                      {Ints{2}, padding, Ints{0}, Ints{1}, groups});
    };
    EXPECT_EQ(transposed({1, 4, 5}, {4, 3, 3}, {0, 0}, 2), "f32[1, 6, 11]");
    EXPECT_EQ(transposed({1, 4, 5}, {3, 3, 3}, {0, 0}, 1),
              "convolution_transpose: channels differ (4 vs 3): [1, 4, 5] by [3, 3, 3]");
    EXPECT_EQ(transposed({1, 4, 5}, {4, 3, 3}, {0, 0}, 3),
              "convolution_transpose: 3 groups do not divide the channels: [1, 4, 5] by [4, 3, 3]");
    EXPECT_EQ(transposed({1, 4, 5}, {4, 3, 3}, {0, 0}, 0),
              "convolution_transpose: groups 0 must be at least 1: f32[1, 4, 5], f32[4, 3, 3]");
    EXPECT_EQ(transposed({1, 4, 1}, {4, 3, 3}, {2, 2}, 1),
              "convolution_transpose: padding leaves -1 along dimension 0: [1, 4, 1] by [4, 3, 3]");
}

TEST(InferNetworks, Attention) {
    const auto general = [](const Shape& q, const Shape& k, const Shape& v, std::int64_t window = 0,
                            Specs more = {}, bool masked = false) {
        Specs inputs{{f32, q}, {f32, k}, {f32, v}};
        inputs.insert(inputs.end(), more.begin(), more.end());
        return result("attention_general", inputs, {0.0, false, window, 0.0, masked});
    };
    EXPECT_EQ(general({6, 5, 4}, {2, 7, 4}, {2, 7, 3}), "f32[6, 5, 3]");
    EXPECT_EQ(general({6, 5, 4}, {4, 7, 4}, {4, 7, 3}),
              "attention_general: 4 heads of keys do not divide 6 heads: f32[6, 5, 4], f32[4, 7, "
              "4], f32[4, 7, 3]");
    EXPECT_EQ(general({6, 5, 4}, {2, 7, 3}, {2, 7, 3}),
              "attention_general: queries and keys differ in length (4 vs 3): f32[6, 5, 4], f32[2, "
              "7, 3], f32[2, 7, 3]");
    EXPECT_EQ(general({6, 5, 4}, {2, 7, 4}, {2, 7, 3}, -1),
              "attention_general: window -1 must be at least 0: f32[6, 5, 4], f32[2, 7, 4], f32[2, "
              "7, 3]");
    EXPECT_EQ(general({6, 5, 4}, {2, 7, 4}, {2, 7, 3}, 0, {{f32, {5}}}),
              "attention_general: slopes are one a head, [6]: f32[6, 5, 4], f32[2, 7, 4], f32[2, "
              "7, 3], f32[5]");
    EXPECT_EQ(general({6, 5, 4}, {2, 7, 4}, {2, 7, 3}, 0, {}, true),
              "attention_general: 0 operands behind the values, 1 of them a mask: f32[6, 5, 4], "
              "f32[2, 7, 4], f32[2, 7, 3]");
}

TEST(InferNetworks, Rwkv7) {
    const TensorSpec runs{i64, {2, 3}};
    EXPECT_EQ(result("token_shift", {{f16, {5, 4}}, {f32, {2, 4}}, {f16, {6, 1, 4}}, runs}),
              "f16[6, 5, 4]");
    EXPECT_EQ(result("token_shift", {{f16, {5, 4}}, {f16, {2, 4}}, {f16, {4}}, runs}),
              "token_shift: takes floats and a state of f32: f16[5, 4], f16[2, 4], f16[4], i64[2, "
              "3]");
    EXPECT_EQ(result("token_shift", {{f32, {5, 4}}, {f32, {2, 3}}, {f32, {4}}, runs}),
              "token_shift: needs [tokens, channels] and [states, channels]: f32[5, 4], f32[2, 3], "
              "f32[4], i64[2, 3]");
    EXPECT_EQ(result("shift_state", {{f32, {5, 4}}, {f32, {2, 4}}, {i64, {3}}}),
              "shift_state: runs are [runs, 3] (state, first token, tokens), not i64[3]: f32[5, "
              "4], f32[2, 4], i64[3]");
    EXPECT_EQ(
        result("channel_mix_v7",
               {{f32, {5, 4}}, {f32, {2, 4}}, {f32, {4}}, {f32, {8, 4}}, {f32, {4, 8}}, runs}),
        "f32[5, 4]");
    EXPECT_EQ(
        result("channel_mix_v7",
               {{f32, {5, 4}}, {f32, {2, 4}}, {f32, {4}}, {f32, {8, 4}}, {f32, {4, 7}}, runs}),
        "channel_mix_v7: needs a mix that broadcasts to the tokens, a key of [hidden, "
        "channels] and a value of [made, hidden]: f32[5, 4], f32[2, 4], f32[4], f32[8, 4], "
        "f32[4, 7], i64[2, 3]");
    EXPECT_EQ(result("pack_kvakk", {{f32, {2}}, {f32, {2}}, {f32, {2}}, {f32, {3}}}),
              "pack_kvakk: operands have different shapes: f32[2], f32[2], f32[2], f32[3]");
    const Specs good{
        {f32, {5, 2, 4}}, {f32, {5, 2, 4}}, {f32, {4, 5, 2, 4}}, {f32, {1, 2, 4, 4}}, runs};
    // 160 bytes of output, filled up to 192, and 128 of state.
    EXPECT_EQ(result("time_mix_v7", good), "u8[320]");
    Specs bad = good;
    bad[3].shape = {1, 2, 4, 3};
    EXPECT_EQ(result("time_mix_v7", bad),
              "time_mix_v7: needs a state of [states, heads, size, size]: f32[5, 2, 4], f32[5, 2, "
              "4], f32[4, 5, 2, 4], f32[1, 2, 4, 3], i64[2, 3]");
}

}  // namespace
}  // namespace lazuli
