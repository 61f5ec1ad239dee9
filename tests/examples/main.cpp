// Runs every example, or prints them as a page. Every op that has a public function must have one;
// for the other functions scripts/check-examples compares with the headers.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "example.h"

namespace examples {

std::vector<std::string> split_names(std::string_view text) {
    if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
    std::vector<std::string> names;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        names.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    return names;
}

// ---- results as text

namespace {

std::string real_text(double v) {
    if (v == 0) return "0";  // of either sign, which libraries may choose
    if (v == std::trunc(v) && std::fabs(v) < 1e15) return fmt::format("{:.0f}", v);
    return fmt::format("{:.5g}", v);
}

}  // namespace

std::string text_of(const lazuli::Scalar& value) {
    switch (value.kind()) {
        case lazuli::Kind::boolean: return value.to_int() != 0 ? "true" : "false";
        case lazuli::Kind::integer: return value.str();
        case lazuli::Kind::floating: return real_text(value.to_double());
        case lazuli::Kind::complex: {
            const std::complex<double> v = value.to_complex();
            // A part that only rounding left of zero.
            const auto part = [&](double x) { return std::fabs(x) < 1e-12 * std::abs(v) ? 0 : x; };
            const std::string imaginary = real_text(part(v.imag()));
            const char* sign = imaginary.starts_with('-') ? "" : "+";
            return real_text(part(v.real())) + sign + imaginary + "j";
        }
    }
    __builtin_unreachable();
}

std::string text_of(const std::string& text) { return text; }

std::string text_of(lazuli::Truth truth) {
    switch (truth) {
        case lazuli::Truth::no: return "no";
        case lazuli::Truth::yes: return "yes";
        case lazuli::Truth::depends: return "depends";
    }
    __builtin_unreachable();
}

std::string text_of(lazuli::Kind kind) {
    switch (kind) {
        case lazuli::Kind::boolean: return "boolean";
        case lazuli::Kind::integer: return "integer";
        case lazuli::Kind::floating: return "floating";
        case lazuli::Kind::complex: return "complex";
    }
    __builtin_unreachable();
}

std::string printed(const std::function<void()>& code) {
    std::fflush(stdout);
    std::FILE* file = std::tmpfile();
    const int kept = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    code();
    std::fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

ScratchFile::ScratchFile()
    : path_(std::filesystem::temp_directory_path() / fmt::format("lazuli-example-{}", getpid())) {}
ScratchFile::~ScratchFile() { std::filesystem::remove(path_); }

std::string text_of(const lazuli::Tensor& tensor) {
    const lazuli::Tensor dense = tensor.contiguous().eval();
    const lazuli::Shape& shape = dense.shape();
    std::vector<lazuli::Scalar> values;
    const auto read = [&]<class T>(T) {
        for (const auto v : dense.to_vector<T>()) values.emplace_back(static_cast<T>(v));
    };
    switch (dense.dtype()) {
        case lazuli::DType::boolean: read(bool{}); break;
        case lazuli::DType::i8: read(std::int8_t{}); break;
        case lazuli::DType::i16: read(std::int16_t{}); break;
        case lazuli::DType::i32: read(std::int32_t{}); break;
        case lazuli::DType::i64: read(std::int64_t{}); break;
        case lazuli::DType::u8: read(std::uint8_t{}); break;
        case lazuli::DType::u16: read(std::uint16_t{}); break;
        case lazuli::DType::u32: read(std::uint32_t{}); break;
        case lazuli::DType::u64: read(std::uint64_t{}); break;
        case lazuli::DType::f16: read(lazuli::Half{}); break;
        case lazuli::DType::bf16: read(lazuli::BFloat16{}); break;
        case lazuli::DType::f32: read(float{}); break;
        case lazuli::DType::f64: read(double{}); break;
        case lazuli::DType::c64: read(std::complex<float>{}); break;
        case lazuli::DType::c128: read(std::complex<double>{}); break;
    }
    std::size_t at = 0;
    const std::function<std::string(int)> list = [&](int d) -> std::string {
        if (d == shape.rank()) return text_of(values[at++]);
        std::string out;
        for (std::int64_t i = 0; i < shape[d]; ++i) out += (i == 0 ? "" : ", ") + list(d + 1);
        return "[" + out + "]";
    };
    return list(0);
}

std::string guarded(const std::function<std::string()>& run) {
    const auto text = [](const char* kind, const std::exception& error) {
        return fmt::format("{}: {}", kind, error.what());
    };
    try {
        std::string result = run();
        while (result.ends_with('\n')) result.pop_back();
        return result;
    } catch (const lazuli::ShapeError& e) {
        return text("ShapeError", e);
    } catch (const lazuli::DTypeError& e) {
        return text("DTypeError", e);
    } catch (const lazuli::IndexError& e) {
        return text("IndexError", e);
    } catch (const lazuli::ArgumentError& e) {
        return text("ArgumentError", e);
    } catch (const lazuli::DeviceError& e) {
        return text("DeviceError", e);
    } catch (const lazuli::OutOfMemory& e) {
        return text("OutOfMemory", e);
    } catch (const lazuli::ExecutionError& e) {
        return text("ExecutionError", e);
    } catch (const lazuli::ParseError& e) {
        return text("ParseError", e);
    } catch (const lazuli::FileError& e) {
        return text("FileError", e);
    } catch (const lazuli::Error& e) {
        return text("Error", e);
    } catch (const lazuli::InternalError& e) {
        return text("InternalError", e);
    } catch (const std::exception& e) {
        return text("exception", e);
    }
}

namespace {

// In the order of the page.
constexpr Subject kSubjects[] = {
    {"Tensors", "Making them of values, asking what they are, reading and indexing them.", tensors},
    {"Factories", "Tensors made of nothing.", factories},
    {"Elements", "Functions of single elements, operators among them.", elementwise},
    {"Reductions", "Many elements become one.", reductions},
    {"Movement", "The same elements in other places.", movement},
    {"Data", "Picking, putting, sorting and scanning.", data},
    {"Networks", "Products, activations, norms, windows, attention and losses.", networks},
    {"RWKV-7", "The pieces of an RWKV-7 layer.", rwkv7},
    {"Linear algebra", "Factors, solutions, eigenvalues.", linear_algebra},
    {"Fourier transforms", "Along one axis, or several.", fourier},
    {"Random numbers", "Each element depends on a key and its position alone.", random_numbers},
    {"Control", "Loops and conditions as operations.", control},
    {"Gradients", "Derivatives of functions, and gradients that tensors keep.", gradients},
    {"Training data", "Examples from memory and files, their order, and batches ahead of time.",
     datasets},
    {"Modules", "Models and their layers, losses, first values and adapters.", modules},
    {"Optimisers", "From gradients to new values of parameters.", optimisers},
    {"Training", "Steps, checkpoints and curves.", training},
    {"Functions", "Recorded once, and planned once for all sizes of their arguments.", compiled},
    {"The engine",
     "Policies, functions of one's own, eager mode, compiling, passes, graphs, files.", functional},
    {"Programs", "What a recorded graph becomes, and the records of operations.", programs},
    {"Types", "Element types, numbers, shapes, axes, checks and errors.", types},
    {"Views", "Symbolic sizes, and how the elements of a tensor are found in a buffer.", views},
    {"Backends", "What a device of one's own is made of.", backends},
};

// Ops that nobody calls by their name, and what stands for them.
const WithoutFunction kWithoutFunction[] = {
    {"data", "a tensor made of values is one: Tensor, Tensor::from, lift"},
    {"constant", "full, zeros and ones make it, and numbers beside tensors"},
    {"view", "what movements such as permute and slice are recorded as"},
    {"part", "one of the results of an op that has several, such as linalg::qr or loop"},
    {"bundle", "results as one tensor, in the gradient of an op that has several"},
    {"anew", "what a checkpoint computes again stands on"},
    {"time_mix_v7_grad", "what flows back through time_mix_v7"},
    {"argument", "what the body of a loop is handed while it is recorded"},
    {"fft_c2c", "fft::fft and fft::ifft of complex numbers"},
    {"fft_r2c", "fft::rfft, and fft::fft of reals"},
    {"fft_c2r", "fft::irfft"},
};

/// The op that a function of this name would record.
std::string op_name(std::string_view function) {
    if (function.starts_with("linalg::")) function.remove_prefix(8);
    return std::string(function);
}

// ---- what the program does

int run_all() {
    int failed = 0;
    int count = 0;
    std::set<std::string> names;
    std::set<std::string> ops;
    for (const Subject& subject : subjects()) {
        for (const Example& example : subject.examples()) {
            ++count;
            for (const std::string& name : example.names) {
                names.insert(name);
                ops.insert(op_name(name));
            }
            const std::string got = example.run();
            if (got == example.wanted) continue;
            ++failed;
            fmt::print("FAILED {}: {}\n  wanted: {}\n  got:    {}\n",
                       fmt::join(example.names, ", "), example.code, example.wanted, got);
        }
    }
    for (const WithoutFunction& op : kWithoutFunction) {
        if (lazuli::find_op(op.name) && ops.insert(std::string(op.name)).second) continue;
        ++failed;
        fmt::print("FAILED {}: no op, or one that has an example after all\n", op.name);
    }
    for (int i = 0; i < lazuli::op_count(); ++i) {
        const std::string op(lazuli::op_def(static_cast<lazuli::OpId>(i)).name);
        if (ops.contains(op) || op.starts_with("example_")) continue;  // those that examples add
        ++failed;
        fmt::print("FAILED {}: an op without an example\n", op);
    }
    fmt::print("examples: {} functions, {} examples{}\n", names.size(), count,
               failed == 0 ? "" : fmt::format(", {} failed", failed));
    return failed == 0 ? 0 : 1;
}

}  // namespace

std::span<const Subject> subjects() { return kSubjects; }
std::span<const WithoutFunction> ops_without_function() { return kWithoutFunction; }

}  // namespace examples

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--markdown") == 0) {
        return examples::print_page();
    }
    if (argc != 1) {
        fmt::print(stderr, "usage: test-examples [--markdown]\n");
        return 2;
    }
    return examples::run_all();
}
