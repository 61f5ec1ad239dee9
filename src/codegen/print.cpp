#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/kernel.h"

namespace lazuli::codegen {

namespace {

class Printer {
   public:
    explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

    std::string run() {
        line(fmt::format("kernel {}({}){} {{", kernel_.name, buffers(), variables()));
        block(kernel_.body);
        line("}");
        return std::move(out_);
    }

   private:
    void line(const std::string& text) {
        out_.append(static_cast<std::size_t>(2 * depth_), ' ');
        out_ += text + "\n";
    }
    std::string buffers() const {
        std::string out;
        for (const KernelBuffer& b : kernel_.buffers) {
            out += fmt::format("{}{}: {}[{}]{}", out.empty() ? "" : ", ", b.name,
                               lazuli::name(b.dtype), b.elements.str(),
                               b.scratch   ? " tmp"
                               : b.written ? " out"
                                           : "");
        }
        return out;
    }
    std::string variables() const {
        std::string out;
        for (const Expr& v : kernel_.variables)
            out += fmt::format("{}{} <= {} <= {}", out.empty() ? " where " : ", ", v.bounds().low,
                               v.name(), v.bounds().high);
        return out;
    }
    static std::string values(const std::vector<ValueId>& ids) {
        std::string out;
        for (const ValueId id : ids) out += fmt::format("{}%{}", out.empty() ? "" : ", ", id);
        return out;
    }
    static std::string counts(const Statement& s) {
        std::string out;
        for (const Count& c : s.counts)
            out +=
                fmt::format("{}{} < {}", out.empty() ? "" : ", ", c.variable.str(), c.size.str());
        return out;
    }
    static std::string where(const Statement& s) {
        return s.valid ? fmt::format(" where {}", s.valid->str()) : "";
    }
    static std::string attributes(const Statement& s) {
        const OpDef& def = op_def(s.op);
        std::string out;
        const Attrs attrs(def, s.words);
        for (std::size_t i = 0; i < def.attrs.size(); ++i) {
            const auto at = static_cast<int>(i);
            out += fmt::format(" {}=", def.attrs[i].name);
            switch (def.attrs[i].kind) {
                case AttrKind::boolean: out += attrs.boolean(at) ? "true" : "false"; break;
                case AttrKind::integer: out += fmt::format("{}", attrs.integer(at)); break;
                case AttrKind::real: out += Scalar(attrs.real(at)).str(); break;
                case AttrKind::scalar: out += attrs.scalar(at).str(); break;
                case AttrKind::choice: out += std::get<std::string>(attrs.get(at, {})); break;
                case AttrKind::axes:
                case AttrKind::ints:
                case AttrKind::text:
                case AttrKind::program:
                case AttrKind::view: out += "?"; break;  // no elementwise op has these
            }
        }
        return out;
    }
    void block(const Block& statements) {
        ++depth_;
        for (const Statement& s : statements) statement(s);
        --depth_;
    }
    void loop(const std::string& head, const Statement& s) {
        line(head + " {");
        block(s.body);
        if (s.kind == StatementKind::reduce) {
            std::vector<ValueId> from;
            for (const Accumulator& a : s.accumulators) from.push_back(a.from);
            ++depth_;
            line("yield " + values(from));
            --depth_;
        }
        line("}");
    }
    void statement(const Statement& s) {
        const auto type = [&] { return fmt::format(" : {}", lazuli::name(s.dtype)); };
        const std::string result = values(s.results);
        switch (s.kind) {
            case StatementKind::load:
                return line(fmt::format("{} = load {}[{}]{}{}{}", result,
                                        kernel_.buffers[s.buffer].name, s.index->str(), where(s),
                                        s.valid ? " else " + s.fill.str() : "", type()));
            case StatementKind::constant:
                return line(fmt::format("{} = constant {}{}", result, s.fill.str(), type()));
            case StatementKind::position:
                return line(fmt::format("{} = position {}{}", result, s.index->str(), type()));
            case StatementKind::apply:
                return line(fmt::format("{} = {}({}){}{}", result, op_def(s.op).name,
                                        values(s.operands), attributes(s), type()));
            case StatementKind::bind:
                return line(fmt::format("bind {} to {}", counts(s), values(s.operands)));
            case StatementKind::store:
                return line(fmt::format("store {}[{}] = {}{}", kernel_.buffers[s.buffer].name,
                                        s.index->str(), values(s.operands), where(s)));
            case StatementKind::parallel: return loop("parallel " + counts(s), s);
            case StatementKind::serial: return loop("serial " + counts(s), s);
            case StatementKind::reduce: {
                std::string how;
                for (const Accumulator& a : s.accumulators)
                    how += fmt::format("{}{} {} from {}", how.empty() ? "" : ", ",
                                       op_def(a.combine).name, lazuli::name(a.dtype), a.init.str());
                return loop(
                    fmt::format("{} = reduce {} lanes {} ({})", result, counts(s), s.lanes, how),
                    s);
            }
        }
    }

    const Kernel& kernel_;
    std::string out_;
    int depth_ = 0;
};

}  // namespace

std::string Kernel::str() const { return Printer(*this).run(); }

}  // namespace lazuli::codegen
