#pragma once

// Random programs: any op of the table, on values made so far, with attributes drawn until
// inference accepts the call.

#include <cstdint>
#include <map>
#include <string>

#include "lazuli/lazuli.h"
#include "random.h"

namespace lazuli::tests {

/// Which ops are drawn: those whose results change little where operands do, or all; then the
/// others take parameters of their own, which are drawn as their records say, and the results of an
/// op that has several are taken apart.
enum class Drawn : std::uint8_t { steady, all };

class ProgramGenerator {
   public:
    explicit ProgramGenerator(std::uint64_t seed, Drawn drawn = Drawn::steady)
        : random_(seed), drawn_(drawn) {}

    /// A program of `ops` operations and one to three results.
    Program program(int ops);
    /// Operands for its parameters.
    std::vector<Tensor> operands(const Program& program);
    /// How often each op was drawn, over all programs of the process.
    static std::map<std::string, int>& histogram();

   private:
    Shape shape();
    Attribute attribute(const OpDef& def, const AttrDef& attr, const std::vector<Value>& inputs);
    bool append(ProgramBuilder& builder, std::vector<Value>& values);
    bool append_sensitive(ProgramBuilder& builder, const OpDef& def, std::vector<Value>& values);
    /// The results of an op that has several.
    void take_apart(const OpDef& def, const std::vector<Value>& inputs,
                    const std::vector<Attribute>& attrs, const Value& bundle,
                    std::vector<Value>& values);
    /// Elements of a value under another shape, repeated where they are too few.
    static Value shaped(const Value& v, const Shape& shape);
    Value pick(const std::vector<Value>& values);

    Random random_;
    Drawn drawn_;
    std::map<std::string, const OpDef*> owners_;  // of parameters, by name: the first of some op
};

}  // namespace lazuli::tests
