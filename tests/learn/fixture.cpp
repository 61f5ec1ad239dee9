#include "fixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "folder.h"
#include "lazuli/grad.h"
#include "lazuli/index.h"
#include "lazuli/ops.h"

namespace lazuli::tests {

namespace {

std::string path_of(const std::string& name) {
    return std::string(LAZULI_SOURCE_DIR) + "/tests/learn/fixtures/" + name;
}

double greatest(const Tensor& got, const Tensor& want, bool relative) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (got.shape() != want.shape()) return kInfinite;
    const std::vector<double> a = got.cast(f64).to_vector<double>();
    const std::vector<double> b = want.cast(f64).to_vector<double>();
    double out = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(a[i] - b[i]);
        if (std::isnan(difference)) return kInfinite;
        out = std::max(out, relative ? difference / std::max(1.0, std::abs(b[i])) : difference);
    }
    return out;
}

}  // namespace

Fixture::Fixture(const std::string& name)
    : described(nlohmann::json::parse(read_text(path_of(name + ".json")))),
      file(SafetensorsFile::open(path_of(name + ".safetensors"))) {}

Tensor Fixture::operator[](const std::string& name) const { return file.tensor(name); }

std::vector<Tensor> Fixture::entries(const std::string& name) const {
    const Tensor all = file.tensor(name);
    const auto count = static_cast<std::size_t>(all.size(0));
    const Shape shape = all[0].shape();
    std::vector<Tensor> out;
    const auto cut = [&]<class T>(const std::vector<T>& values) {
        const std::size_t each = values.size() / count;
        for (std::size_t i = 0; i < count; ++i)
            out.push_back(Tensor::from(std::span(values).subspan(i * each, each), shape));
    };
    if (all.dtype() == i64)
        cut(all.to_vector<std::int64_t>());
    else if (all.dtype() == f64)
        cut(all.to_vector<double>());
    else
        cut(all.to_vector<float>());
    return out;
}

double apart(const Tensor& a, const Tensor& b) { return greatest(a, b, false); }
double relatively_apart(const Tensor& got, const Tensor& want) { return greatest(got, want, true); }

double largest(const Tensor& x) {
    double out = 0;
    for (const double value : x.cast(f64).to_vector<double>()) out = std::max(out, std::abs(value));
    return out;
}

std::string bits(const Tensor& x) {
    const auto text = [](const auto& numbers) {
        return std::string(reinterpret_cast<const char*>(numbers.data()),
                           numbers.size() * sizeof numbers[0]);
    };
    switch (size_of(x.dtype())) {
        case 1: return text(x.cast(u8).to_vector<std::uint8_t>());
        case 2: return text(x.bitcast(u16).to_vector<std::uint16_t>());
        case 4: return text(x.bitcast(u32).to_vector<std::uint32_t>());
        default: return text(x.bitcast(u64).to_vector<std::uint64_t>());
    }
}

std::map<std::string, std::string> bits(const NamedTensors& state) {
    std::map<std::string, std::string> out;
    for (const auto& [name, tensor] : state) out[name] = bits(tensor);
    return out;
}

std::map<std::string, Tensor> gradients_of(nn::Module& model, const std::function<Tensor()>& loss) {
    const std::vector<nn::NamedParameter> places = model.trainable();
    std::vector<Tensor> values;
    for (const auto& [name, parameter] : places) values.push_back(*parameter);
    const auto put = [&](const std::vector<Tensor>& tensors) {
        for (std::size_t i = 0; i < tensors.size(); ++i) *places[i].parameter = tensors[i];
    };
    const ValueAndGrad made = value_and_grad_of(
        [&](const std::vector<Tensor>& arguments) {
            put(arguments);
            return std::vector<Tensor>{loss()};
        },
        values);
    put(values);
    std::map<std::string, Tensor> out;
    for (std::size_t i = 0; i < places.size(); ++i) out[places[i].name] = made.gradients[i];
    return out;
}

}  // namespace lazuli::tests
