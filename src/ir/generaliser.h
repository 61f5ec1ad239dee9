#pragma once

// Finds the program with variables that several recordings are instances of.

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/fitting.h"
#include "ir/general.h"
#include "ir/recording.h"

namespace lazuli::ir {

/// Builds the program anew, operation by operation, as inference says. Sizes of parameters that
/// differ become variables; other numbers that differ must be functions of these.
class Generaliser {
   public:
    /// What is tried where the plain way finds no program.
    struct Way {
        // Sizes of parameters that are functions of sizes before them are no variables. Plainly,
        // each that differs is one until two must be the same.
        bool fits_params = false;
        bool divides = false;     // variables count what divides all sizes seen
        int starts_late = 0;      // variables are not below 4, or what was seen: a window must fit
        bool ends_early = false;  // nor far above it: products of several must fit 64 bits
    };

    /// `budget` is how many operations may be built; what is built is taken from it.
    Generaliser(std::span<const Words> recordings, Way way, std::size_t& budget)
        : recordings_(recordings), way_(way), budget_(budget) {}

    std::optional<General> run();

   private:
    /// An operation under construction.
    struct Draft {
        OpId op = 0;
        std::vector<Value> inputs;
        TensorSpec wanted;
        std::vector<std::uint64_t> attrs;
        std::vector<Dim> near;  // sizes of operands and result
    };
    /// A view among the attributes of an operation.
    struct View;

    NumberValues at(bool in_rest, std::size_t place) const;

    // The program.
    bool is_built();
    bool build();
    Dim param_size(std::size_t place);
    const Value& value_at(std::uint32_t raw) const;
    bool add_operation(std::size_t place, const Layout& layout);
    Draft draft_of(std::size_t place, const Layout& layout);
    void add_near(const Layout& layout, const std::vector<View>& views, Draft& draft);
    std::optional<Dim> sliced_size(const Draft& draft, const Layout& layout,
                                   const std::vector<View>& views, std::size_t axis);
    std::int64_t most_of(const Draft& draft, const Layout& layout, const std::vector<View>& views,
                         std::size_t axis);
    bool fit_attrs(const OpDef& def, const Layout& layout, Draft& draft);
    std::optional<Dim> offset_of(const View& view, const Layout& layout, const Draft& draft,
                                 std::span<const Dim> near);

    // Variables.
    Dim add_variable(const NumberValues& values, General::Source source, std::size_t site,
                     std::int64_t high);
    void join_variables(const OpDef& def, const Draft& draft);
    void join(Dim a, Dim b);
    void join_all_equal();
    void find_hint(const OpDef& def, const Draft& draft);
    bool uses_chosen(Dim size) const;

    const std::span<const Words> recordings_;
    const Way way_;
    std::size_t& budget_;
    std::size_t round_ = 0;
    // Sizes of parameters that differ, by their number: the first one that each is the same as.
    std::vector<std::size_t> same_as_;
    // What a size is that the caller chose, by its word.
    std::unordered_map<std::size_t, Dim> hints_;
    bool joined_ = false;  // something was found out: the next round will get further

    // Of one round.
    Fitting fitting_{0};
    std::unique_ptr<ProgramBuilder> builder_;
    std::vector<General::Source> sources_;
    std::unordered_map<std::int64_t, std::size_t> site_of_;  // of a variable, or kNowhere
    std::size_t site_count_ = 0;
    std::vector<Value> params_;
    std::vector<Value> operations_;
};

}  // namespace lazuli::ir
