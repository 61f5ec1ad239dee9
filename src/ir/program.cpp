#include "lazuli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "ir/encoding.h"
#include "ir/graph.h"
#include "ir/op_table.h"
#include "ir/sizes.h"
#include "ir/text.h"
#include "lazuli/error.h"

namespace lazuli {

bool ir::is_name(std::string_view text) {
    return !text.empty() &&
           (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '_' || c == '.';
           });
}

struct Program::Data {
    std::vector<Param> params;
    std::vector<std::uint64_t> words;
    std::vector<std::uint32_t> offsets;  // where each operation starts in `words`
    std::vector<ProgramResult> results;
    std::uint64_t hash = 0;

    /// Looked for once, by whoever asks first.
    struct Variables {
        Variables() = default;
        Variables(Variables&&) noexcept {}  // of a program that nobody has asked yet
        std::once_flag looked;
        std::vector<Dim> all;
    };
    mutable Variables variables = {};

    std::uint64_t compute_hash() const {
        std::vector<std::uint64_t> rest;
        for (const Param& param : params) {
            rest.push_back(ir::header_word(0, param.spec.dtype, param.spec.shape.rank(), 0, 0));
            for (const std::int64_t dim : param.spec.shape.raw())
                rest.push_back(static_cast<std::uint64_t>(dim));
        }
        for (const ProgramResult& result : results) rest.push_back(result.value.raw);
        return ir::program_hash(words, rest);
    }
};

// ---- reading ----

TensorSpec Operation::spec() const {
    const int rank = ir::header_rank(*word_);
    const std::uint64_t* dims = word_ + 1 + ir::input_words(input_count());
    TensorSpec out{dtype(), {}};
    out.shape.resize(rank);
    std::int64_t* sizes = out.shape.data();
    for (int i = 0; i < rank; ++i) sizes[i] = static_cast<std::int64_t>(dims[i]);
    return out;
}

Attrs Operation::attrs() const {
    const std::size_t before =
        1 + ir::input_words(input_count()) + static_cast<std::size_t>(ir::header_rank(*word_));
    return {def(), {word_ + before, ir::header_attr_words(*word_)}};
}

Program::Program() {
    static const auto empty = std::make_shared<const Data>();
    data_ = empty;
}

std::span<const Param> Program::params() const { return data_->params; }
std::span<const ProgramResult> Program::results() const { return data_->results; }
std::size_t Program::size() const { return data_->offsets.size(); }
Operation Program::operation(std::size_t i) const {
    return Operation(data_->words.data() + data_->offsets[i]);
}
std::uint64_t Program::hash() const { return data_->hash; }
std::span<const std::uint64_t> Program::words() const { return data_->words; }

std::vector<Dim> Program::variables() const {
    std::call_once(data_->variables.looked,
                   [&] { data_->variables.all = ir::find_variables(*this); });
    return data_->variables.all;
}

TensorSpec Program::spec(ValueRef value) const {
    return value.is_param() ? data_->params[value.index()].spec : operation(value.index()).spec();
}

bool Program::operator==(const Program& other) const {
    const Data& a = *data_;
    const Data& b = *other.data_;
    return a.hash == b.hash && a.words == b.words &&
           std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                      [](const Param& x, const Param& y) { return x.spec == y.spec; }) &&
           std::equal(
               a.results.begin(), a.results.end(), b.results.begin(), b.results.end(),
               [](const ProgramResult& x, const ProgramResult& y) { return x.value == y.value; });
}

bool is_constant_class(const Scalar& value) {
    const auto in_class = [](double v) {
        return v == 0 || v == 1 || v == -1 || v == 2 || v == 0.5 || std::isinf(v) || std::isnan(v);
    };
    switch (value.kind()) {
        case Kind::boolean: return true;
        case Kind::integer:
            return !value.is_large_unsigned() && in_class(static_cast<double>(value.to_int()));
        case Kind::floating: return in_class(value.to_double());
        case Kind::complex: return in_class(value.to_double()) && value.to_complex().imag() == 0;
    }
    __builtin_unreachable();
}

// ---- verifying ----

namespace {

[[noreturn]] void malformed(const std::string& where, const std::string& why) {
    throw ArgumentError(fmt::format("malformed program: {}: {}", where, why));
}

/// Whether no size is negative. Throws ShapeError where there are too many elements.
bool has_sizes(const TensorSpec& spec) {
    for (int i = 0; i < spec.shape.rank(); ++i) {
        if (spec.shape.dim(i).bounds().low < 0) return false;
    }
    if (spec.shape.is_concrete()) (void)spec.nbytes();
    return true;
}

void check_names(const char* what, const std::vector<std::string>& names) {
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) malformed(what, fmt::format("the name '{}' stands twice", *twice));
    for (const std::string& n : names) {
        if (!ir::is_name(n))
            malformed(what, fmt::format("'{}' is not a name (letters, digits, '_' and '.')", n));
    }
}

}  // namespace

void Program::verify() const {
    const Data& d = *data_;
    std::vector<std::string> names;
    for (const Param& param : d.params) {
        names.push_back(param.name);
        if (!has_sizes(param.spec))
            malformed(fmt::format("parameter {}", param.name),
                      fmt::format("negative size in {}", param.spec.str()));
    }
    check_names("parameters", names);
    names.clear();
    for (const Dim variable : variables()) names.push_back(variable.str());
    check_names("sizes", names);
    std::vector<TensorSpec> specs(d.offsets.size());
    const auto spec_of = [&](ValueRef v, std::size_t limit,
                             const std::string& where) -> const TensorSpec* {
        const std::size_t bound = v.is_param() ? d.params.size() : limit;
        if (v.index() >= bound) malformed(where, "an operand is no earlier value");
        return v.is_param() ? &d.params[v.index()].spec : &specs[v.index()];
    };
    for (std::size_t i = 0; i < d.offsets.size(); ++i) {
        const Operation operation = this->operation(i);
        const OpDef& def = operation.def();
        const std::string where = fmt::format("%{} = {}", i, def.name);
        if (has(def.traits, Trait::leaf)) malformed(where, "a leaf cannot stand in a program");
        std::vector<const TensorSpec*> inputs;
        for (std::size_t k = 0; k < operation.input_count(); ++k)
            inputs.push_back(spec_of(operation.input(k), i, where));
        ir::check_attr_words(def, operation.attrs().words());
        const TensorSpec stated = operation.spec();
        const TensorSpec found = infer(InferArgs{def, inputs, operation.attrs(), &stated});
        if (!(found == stated))
            malformed(where,
                      fmt::format("is {} but the program says {}", found.str(), stated.str()));
        specs[i] = stated;
    }
    names.clear();
    for (const ProgramResult& result : d.results) {
        names.push_back(result.name);
        (void)spec_of(result.value, d.offsets.size(), "return");
    }
    check_names("results", names);
}

// ---- building ----

struct ProgramBuilder::State {
    Program::Data data;
    std::vector<TensorSpec> specs;
};

ProgramBuilder::ProgramBuilder() : state_(std::make_unique<State>()) {}
ProgramBuilder::~ProgramBuilder() = default;

const TensorSpec& Value::spec() const { return builder_->spec(ref_); }

const TensorSpec& ProgramBuilder::spec(ValueRef value) const {
    return value.is_param() ? state_->data.params[value.index()].spec
                            : state_->specs[value.index()];
}

Value ProgramBuilder::param(std::string name, TensorSpec spec) {
    auto& params = state_->data.params;
    if (name.empty()) name = fmt::format("p{}", params.size());
    if (!has_sizes(spec))
        throw ShapeError(fmt::format("param {}: negative size in {}", name, spec.str()),
                         "sizes >= 0", spec.shape.str());
    params.push_back({std::move(name), std::move(spec)});
    return {*this, ValueRef::param(params.size() - 1)};
}

Value ProgramBuilder::op(std::string_view name, std::span<const Value> inputs,
                         std::span<const Attribute> attrs, const TensorSpec* wanted) {
    const OpId id = require_op(name);
    const OpDef& def = op_def(id);
    if (attrs.size() != def.attrs.size()) {
        throw ArgumentError(fmt::format("{}: takes {} attributes, {} given", def.name,
                                        def.attrs.size(), attrs.size()));
    }
    AttrWords words;
    for (std::size_t i = 0; i < attrs.size(); ++i) words.append(def.name, def.attrs[i], attrs[i]);
    return op(id, inputs, words.words(), wanted);
}

Value ProgramBuilder::op(OpId id, std::span<const Value> inputs,
                         std::span<const std::uint64_t> attr_words, const TensorSpec* wanted) {
    const OpDef& def = op_def(id);
    if (has(def.traits, Trait::leaf))
        throw ArgumentError(fmt::format("{}: a leaf cannot stand in a program", def.name));
    if (inputs.size() > ir::kMaxInputs)
        throw ArgumentError(fmt::format("{}: too many operands", def.name));
    ir::check_attr_words(def, attr_words);
    std::vector<const TensorSpec*> specs;
    specs.reserve(inputs.size());
    for (const Value& input : inputs) {
        if (&input.builder() != this)
            throw ArgumentError(fmt::format("{}: an operand belongs to another builder", def.name));
        specs.push_back(&input.spec());
    }
    TensorSpec spec = infer(InferArgs{def, specs, Attrs(def, attr_words), wanted});

    Program::Data& d = state_->data;
    d.offsets.push_back(static_cast<std::uint32_t>(d.words.size()));
    d.words.push_back(
        ir::header_word(id, spec.dtype, spec.shape.rank(), inputs.size(), attr_words.size()));
    for (std::size_t i = 0; i < inputs.size(); i += 2) {
        const std::uint64_t second = i + 1 < inputs.size() ? inputs[i + 1].ref().raw : 0;
        d.words.push_back(inputs[i].ref().raw | (second << 32));
    }
    for (const std::int64_t dim : spec.shape.raw())
        d.words.push_back(static_cast<std::uint64_t>(dim));
    d.words.insert(d.words.end(), attr_words.begin(), attr_words.end());
    state_->specs.push_back(std::move(spec));
    return {*this, ValueRef::op(d.offsets.size() - 1)};
}

Value ProgramBuilder::constant(const Scalar& value, TensorSpec spec) {
    const Attribute attr = value.as(spec.dtype);
    return op("constant", {}, std::span(&attr, 1), &spec);
}

void ProgramBuilder::result(const Value& value, std::string name) {
    if (&value.builder() != this)
        throw ArgumentError("result: the value belongs to another builder");
    auto& results = state_->data.results;
    if (name.empty()) name = fmt::format("r{}", results.size());
    results.push_back({std::move(name), value.ref()});
}

Program ProgramBuilder::build() {
    auto data = std::make_shared<Program::Data>(std::move(state_->data));
    state_ = std::make_unique<State>();
    data->hash = data->compute_hash();
    Program program{std::move(data)};
    std::vector<std::string> names;
    for (const Param& p : program.params()) names.push_back(p.name);
    check_names("parameters", names);
    names.clear();
    for (const ProgramResult& r : program.results()) names.push_back(r.name);
    check_names("results", names);
    return program;
}

Program ProgramBuilder::from_words(std::vector<Param> params, std::vector<std::uint64_t> words,
                                   std::vector<ProgramResult> results) {
    auto data = std::make_shared<Program::Data>();
    data->params = std::move(params);
    data->words = std::move(words);
    data->results = std::move(results);
    const auto known_ops = static_cast<std::uint32_t>(op_count());
    for (std::size_t at = 0; at < data->words.size();) {
        const std::uint64_t header = data->words[at];
        const std::size_t length = ir::operation_length(header);
        if (ir::header_op(header) >= known_ops || length > data->words.size() - at)
            malformed(fmt::format("word {}", at), "no operation starts here");
        data->offsets.push_back(static_cast<std::uint32_t>(at));
        at += length;
    }
    data->hash = data->compute_hash();
    return Program{std::move(data)};
}

}  // namespace lazuli
