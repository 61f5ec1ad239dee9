#pragma once

// Programs whose sizes are expressions, and the numbers that these become.

#include <utility>
#include <vector>

#include "ir/op_table.h"
#include "ir/placement.h"
#include "lazuli/program.h"

namespace lazuli::ir {

/// Calls `number` with each of the (correct) words of an operation's attributes that may be a size:
/// integers, and the numbers of views.
template <class Word, class Number>
void visit_numbers(const OpDef& def, std::span<Word> attrs, const Number& number) {
    for (const AttrDef& attr : def.attrs) {
        const auto mine = attrs.first(attr_length(attr.kind, attrs.data(), attrs.size()));
        attrs = attrs.subspan(mine.size());
        if (attr.kind == AttrKind::integer) number(mine[0]);
        if (attr.kind == AttrKind::view) visit_placement(mine, number);
        if (attr.kind != AttrKind::ints) continue;
        for (Word& word : mine.subspan(1)) number(word);
    }
}

/// The words of attributes in their one form: with numbers, a view may have a simpler one.
std::vector<std::uint64_t> in_simplest_form(const OpDef& def, std::vector<std::uint64_t> attrs,
                                            const Shape& result);

/// The variables of a program's sizes, found by looking at all of it.
std::vector<Dim> find_variables(const Program& program);

/// A value for each variable.
class SizeValues {
   public:
    /// Throws ArgumentError naming `who` where a variable has no value or one out of its bounds, or
    /// where a value has no variable.
    SizeValues(std::string_view who, std::span<const Dim> variables,
               std::span<const SizeBinding> values);
    /// The number that a slot of a shape becomes.
    std::int64_t at(std::int64_t raw);
    TensorSpec at(const TensorSpec& spec);

   private:
    std::vector<SizeBinding> values_;
    std::vector<std::pair<std::int64_t, std::int64_t>> known_;  // expressions' bits, numbers
};

}  // namespace lazuli::ir
