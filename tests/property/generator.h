#pragma once

// Random programs: any op of the table, on values made so far, with attributes drawn until
// inference accepts the call.

#include <cstdint>
#include <map>
#include <string>

#include "lazuli/lazuli.h"
#include "random.h"

namespace lazuli::tests {

class ProgramGenerator {
   public:
    explicit ProgramGenerator(std::uint64_t seed) : random_(seed) {}

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
    /// Elements of a value under another shape, repeated where they are too few.
    static Value shaped(const Value& v, const Shape& shape);
    Value pick(const std::vector<Value>& values);

    Random random_;
};

}  // namespace lazuli::tests
