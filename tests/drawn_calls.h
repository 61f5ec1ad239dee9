#pragma once

// Functions of tensors drawn at random, called with sizes that are chosen later: what a user's code
// does that is called again with other sizes.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lazuli/lazuli.h"
#include "random.h"

namespace lazuli::tests {

class DrawnCalls {
   public:
    static constexpr int kSizes = 3;
    using Sizes = std::array<std::int64_t, kSizes>;

    explicit DrawnCalls(std::uint64_t seed) : random_(seed) {
        Roles first;
        for (std::size_t rank = 1 + random_.below(3); rank > 0; --rank) first.push_back(any_role());
        (void)add_param(first);
        for (std::size_t left = 2 + random_.below(7); left > 0; --left) draw();
    }

    /// The result at these sizes; operands are the same for the same sizes.
    Tensor operator()(const Sizes& sizes) const {
        std::vector<Tensor> values;
        for (const Call& call : calls_) values.push_back(result_of(call, values, sizes));
        return values.back();
    }

   private:
    /// What a size is: equal words are equal sizes whatever these are.
    using Roles = std::vector<std::string>;

    enum class Op : std::uint8_t {
        param,
        elementwise,
        binary,
        less_sum,
        sum,
        softmax,
        permute,
        merge,
        tail,
        head,
        every_second,
        twice,
        pad,
        flip,
        matmul,
        cumsum,
        repeat,
        positions,
        outer,
        where,
        kCount
    };
    struct Call {
        Op op;
        std::size_t a = 0;
        std::size_t b = 0;
        int axis = 0;
        Roles roles;  // of the result
        std::uint64_t number = 0;
    };

    std::string any_role() {
        constexpr const char* kAll[] = {"a", "b", "c", "a", "b", "3", "1"};
        return kAll[random_.below(std::size(kAll))];
    }
    static std::int64_t size_of(const std::string& role, const Sizes& sizes) {
        return role[0] >= 'a' ? sizes[static_cast<std::size_t>(role[0] - 'a')] : role[0] - '0';
    }
    static bool is_plain(const Roles& roles) {
        return std::ranges::all_of(roles, [](const std::string& role) { return role.size() == 1; });
    }

    std::size_t add(Call call) {
        call.number = calls_.size();
        calls_.push_back(std::move(call));
        return calls_.size() - 1;
    }
    std::size_t add_param(Roles roles) { return add({.op = Op::param, .roles = std::move(roles)}); }

    void draw() {
        const std::size_t a = calls_.size() - 1;
        Roles roles = calls_[a].roles;
        const auto op =
            static_cast<Op>(1 + random_.below(static_cast<std::size_t>(Op::kCount) - 1));
        const std::size_t rank = roles.size();
        if (rank == 0 && op != Op::elementwise) return;
        const int axis = rank == 0 ? 0 : static_cast<int>(random_.below(rank));
        std::string& role =
            rank == 0 ? roles.emplace_back() : roles[static_cast<std::size_t>(axis)];
        std::size_t b = a;
        switch (op) {
            case Op::param:
            case Op::kCount: return;
            case Op::elementwise:
                if (rank == 0) roles.clear();
                break;
            case Op::binary:
            case Op::where:
                if (!is_plain(roles)) break;
                b = add_param(random_.below(2) == 0 ? roles : Roles{roles.back()});
                break;
            case Op::less_sum:
            case Op::softmax:
            case Op::flip:
            case Op::cumsum:
            case Op::positions: break;
            case Op::sum: roles.erase(roles.begin() + axis); break;
            case Op::permute: std::ranges::rotate(roles, roles.begin() + axis); break;
            case Op::merge:
                // With every second position, odd and even sizes have views of different forms,
                // which are different programs.
                if (static_cast<std::size_t>(axis) + 1 >= rank ||
                    std::ranges::any_of(roles, [](const std::string& each) {
                        return each.find('/') != std::string::npos;
                    }))
                    return;
                role = "(" + role + "*" + roles[static_cast<std::size_t>(axis) + 1] + ")";
                roles.erase(roles.begin() + axis + 1);
                break;
            case Op::tail:
            case Op::head: role += "-1"; break;
            case Op::every_second:
                if (role.find('*') != std::string::npos) return;
                role += "/2";
                break;
            case Op::twice: role += "+" + role; break;
            case Op::pad: role += "+3"; break;
            case Op::matmul: {
                if (rank < 2 || !is_plain(roles)) return;
                const std::string other = any_role();
                b = add_param({roles.back(), other});
                roles.back() = other;
                break;
            }
            case Op::repeat:
                if (rank > 2) return;
                roles.insert(roles.begin(), any_role());
                break;
            case Op::outer:
                if (rank != 1) return;
                roles.push_back(roles[0]);
                break;
        }
        (void)add({.op = op, .a = a, .b = b, .axis = axis, .roles = std::move(roles)});
    }

    static Tensor operand(const Shape& shape, std::uint64_t seed) {
        Random random(seed * 977 + 13);
        std::vector<float> values(static_cast<std::size_t>(shape.numel()));
        for (float& value : values) value = static_cast<float>(random.below(2001)) / 1000.0F - 1.0F;
        return Tensor::from(values, shape);
    }

    static Tensor result_of(const Call& call, const std::vector<Tensor>& values,
                            const Sizes& sizes) {
        if (call.op == Op::param) {
            Shape shape;
            for (const std::string& role : call.roles) shape.push_back(size_of(role, sizes));
            return operand(shape, call.number);
        }
        const Tensor& x = values[call.a];
        const Tensor& y = values[call.b];
        const int axis = call.axis;
        const auto sliced = [&](std::int64_t start, std::int64_t stop, std::int64_t step) {
            Ints starts;
            Ints stops;
            Ints steps;
            for (int i = 0; i < x.shape().rank(); ++i) {
                starts.push_back(i == axis ? std::min(start, x.shape()[i]) : 0);
                stops.push_back(i == axis ? std::max<std::int64_t>(stop, starts[i]) : x.shape()[i]);
                steps.push_back(i == axis ? step : 1);
            }
            return x.slice(starts, stops, steps);
        };
        switch (call.op) {
            case Op::param:
            case Op::kCount: break;
            case Op::elementwise: return tanh(x) * 1.5F + 0.25F;
            case Op::binary: return x * y + y;
            case Op::less_sum: return x - x.sum({axis}, true) * 0.125F;
            case Op::sum: return x.sum({axis});
            case Op::softmax: return softmax(x, axis);
            case Op::permute: {
                Ints order;
                for (int i = 0; i < x.shape().rank(); ++i)
                    order.push_back((i + axis) % x.shape().rank());
                return x.permute(Axes(order));
            }
            case Op::merge: {
                Shape shape;
                for (int i = 0; i < x.shape().rank(); ++i) {
                    if (i == axis + 1) {
                        shape[axis] *= x.shape()[i];
                    } else {
                        shape.push_back(x.shape()[i]);
                    }
                }
                return x.reshape(shape);
            }
            case Op::tail: return sliced(1, x.shape()[axis], 1);
            case Op::head: return sliced(0, x.shape()[axis] - 1, 1);
            case Op::every_second: return sliced(0, x.shape()[axis], 2);
            case Op::twice: return concat({x, x * 0.5F}, axis);
            case Op::pad: {
                Ints before;
                Ints behind;
                for (int i = 0; i < x.shape().rank(); ++i) {
                    before.push_back(i == axis ? 1 : 0);
                    behind.push_back(i == axis ? 2 : 0);
                }
                return x.pad(before, behind) + 1;
            }
            case Op::flip: return x.flip({axis});
            case Op::matmul: return matmul(x, y);
            case Op::cumsum: return x.cumsum(axis);
            case Op::repeat: {
                Shape shape{size_of(call.roles[0], sizes)};
                for (const std::int64_t size : x.shape()) shape.push_back(size);
                return x.broadcast_to(shape) * 2;
            }
            case Op::positions: return x + cast(arange(x.shape()[x.shape().rank() - 1]), f32);
            case Op::outer: {
                const std::int64_t size = x.shape()[0];
                return x.reshape({size, 1}) * x.reshape({1, size});
            }
            case Op::where: return where(x > 0, x, y);
        }
        return x;
    }

    Random random_;
    std::vector<Call> calls_;
};

}  // namespace lazuli::tests
