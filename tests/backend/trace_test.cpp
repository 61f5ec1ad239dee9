// What a trace leaves behind.

#include "lazuli/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lazuli/lazuli.h"

namespace lazuli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class Trace : public testing::Test {
   protected:
    Trace() : folder_(fs::temp_directory_path() / ("lazuli-trace-" + std::to_string(getpid()))) {
        fs::remove_all(folder_);
        set_default_device(Device("cpu"));
        clear_caches();
    }
    ~Trace() override {
        fs::remove_all(folder_);
        set_default_device(before_);
    }
    /// The folders of plans.
    std::vector<fs::path> plans() const {
        std::vector<fs::path> out;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            if (fs::exists(entry.path() / "plan.json")) out.push_back(entry.path());
        }
        return out;
    }
    fs::path folder_;

   private:
    Device before_ = default_device();
};

TEST_F(Trace, HasProgramsPlansKernelsAndATimeline) {
    const Tensor x = key(1).random_uniform({32, 32}).eval();
    const auto work = [&] {
        return (x.matmul(x) * 1.0 + 0.5).softmax().matmul(x).to_vector<float>();
    };
    std::vector<float> traced;
    {
        const trace::Scope scope({.directory = folder_.string(), .inputs = true});
        EXPECT_TRUE(trace::is_on());
        EXPECT_THROW(trace::Scope({.directory = "elsewhere"}), ArgumentError);
        traced = work();
        EXPECT_EQ(work(), traced);
    }
    EXPECT_FALSE(trace::is_on());
    ASSERT_EQ(plans().size(), 1U);
    const fs::path plan = plans()[0];
    // The program is what it was, and runs again.
    const Program program = Program::parse(read(plan / "program.ir"));
    EXPECT_EQ(Program::from_json(read(plan / "program.json")), program);
    std::vector<Tensor> inputs;
    for (const Param& param : program.params())
        inputs.push_back(load_npy((plan / "inputs" / (param.name + ".npy")).string()));
    EXPECT_EQ(record(program, inputs)[0].to_vector<float>(), traced);

    const json figures = json::parse(read(plan / "plan.json"));
    EXPECT_EQ(figures["device"], "cpu");
    EXPECT_EQ(figures["made"], true);
    EXPECT_EQ(figures["why"], "these operations were not planned before");
    ASSERT_GE(figures["kernels"].size(), 2U);
    EXPECT_GT(figures["memory"]["arena"], 0);
    EXPECT_EQ(figures["memory"]["arena"], figures["memory"]["alive"]);
    for (const json& kernel : figures["kernels"]) {
        EXPECT_GT(kernel["bytes_read"], 0);
        EXPECT_FALSE(kernel["members"].empty());
    }
    EXPECT_THAT(read(plan / "kernels" / "k0.kernel"), HasSubstr("kernel k0("));
    EXPECT_THAT(read(plan / "memory.svg"), HasSubstr("<svg"));
    // x * 1 went away by a rule that is named.
    bool named = false;
    for (const json& pass : figures["passes"]) {
        for (const json& rule : pass["rules"]) named = named || rule == "mul_one";
        EXPECT_NE(read(plan / pass["before"]), read(plan / pass["after"]));
    }
    EXPECT_TRUE(named) << figures["passes"].dump(1);

    const json timeline = json::parse(read(folder_ / "timeline.json"));
    std::map<std::string, int> categories;
    for (const json& event : timeline["traceEvents"]) {
        if (event["ph"] == "X") ++categories[event["cat"]];
    }
    EXPECT_EQ(categories["evaluation"], 2);
    EXPECT_EQ(categories["kernel"], 2 * static_cast<int>(figures["kernels"].size()));

    std::istringstream lines(read(folder_ / "executions.jsonl"));
    std::vector<json> executions;
    for (std::string line; std::getline(lines, line);) executions.push_back(json::parse(line));
    ASSERT_EQ(executions.size(), 2U);
    EXPECT_EQ(executions[0]["found"], false);
    EXPECT_EQ(executions[1]["found"], true);
    EXPECT_EQ(executions[1]["kernel_us"].size(), figures["kernels"].size());

    const json statistics = json::parse(read(folder_ / "statistics.json"));
    ASSERT_EQ(statistics["plans"].size(), 1U);
    EXPECT_EQ(statistics["plans"][0]["runs"], 2);
    EXPECT_EQ(statistics["failures"], 0);
}

TEST_F(Trace, OperandsAreWrittenAsTheyWere) {
    Tensor x = Tensor::from(std::vector<float>(64, 7.0F)).tanh().eval();
    const float before = x.to_vector<float>()[5];
    {
        const trace::Scope scope({.directory = folder_.string(), .inputs = true});
        x = x * 2.0;  // nobody has the old one, which may be overwritten else
        x.eval();
    }
    ASSERT_EQ(plans().size(), 1U);
    EXPECT_EQ(load_npy((plans()[0] / "inputs" / "p0.npy").string()).to_vector<float>().at(5),
              before);
    EXPECT_EQ(x.to_vector<float>()[5], 2 * before);
}

TEST_F(Trace, AFailureIsKeptWithItsOperands) {
    const Tensor x = full({4}, 7.0).eval();
    const Tensor positions = Tensor::from(std::vector<std::int64_t>{9}).eval();
    {
        const trace::Scope scope({.directory = folder_.string()});
        EXPECT_THROW(gather(x, positions, 0).eval(), ExecutionError);
    }
    const fs::path failure = folder_ / "failures" / "1";
    EXPECT_THAT(read(failure / "error.txt"), HasSubstr("9"));
    const Program program = Program::parse(read(failure / "program.ir"));
    std::vector<Tensor> inputs;
    for (const Param& param : program.params())
        inputs.push_back(load_npy((failure / "inputs" / (param.name + ".npy")).string()));
    EXPECT_THROW(record(program, inputs)[0].eval(), ExecutionError);
    EXPECT_EQ(json::parse(read(folder_ / "statistics.json"))["failures"], 1);
}

TEST_F(Trace, AFolderThatCannotBeMadeIsAnError) {
    std::ofstream(folder_) << "a file";
    EXPECT_THROW(trace::Scope({.directory = (folder_ / "below").string()}), FileError);
    EXPECT_THROW(trace::Scope({.directory = ""}), ArgumentError);
    EXPECT_FALSE(trace::is_on());
}

}  // namespace
}  // namespace lazuli
