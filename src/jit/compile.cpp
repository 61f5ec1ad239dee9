#include "jit/compile.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "jit/emit.h"

namespace lazuli::jit {

namespace {

std::string host_features() {
    llvm::SubtargetFeatures features;
    for (const auto& [name, on] : llvm::sys::getHostCPUFeatures()) features.AddFeature(name, on);
    return features.getString();
}

void initialize() {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
    });
}

std::unique_ptr<llvm::TargetMachine> machine_for(const LazuliCompileRequest& request) {
    const std::string triple = llvm::sys::getProcessTriple();
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) throw std::runtime_error(error);
    const std::string cpu = *request.cpu != '\0' ? request.cpu : llvm::sys::getHostCPUName().str();
    const std::string features = *request.features != '\0' ? request.features : host_features();
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fma is an operation of its own
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        triple, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
        request.optimize > 0 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}

/// What explicit vectors need: accumulators in registers, what does not change out of loops, equal
/// values once.
void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graphs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(
        llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::SimplifyCFGPass());
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) passes.run(function, functions);
    }
}

char* copied(const char* data, std::size_t bytes) {
    auto* out = static_cast<char*>(std::malloc(bytes + 1));
    if (out == nullptr) throw std::bad_alloc();
    std::memcpy(out, data, bytes);
    out[bytes] = '\0';
    return out;
}

llvm::SmallVector<char, 0> written(llvm::Module& module, llvm::TargetMachine& machine,
                                   llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> out;
    llvm::raw_svector_ostream stream(out);
    llvm::legacy::PassManager emitter;
    if (machine.addPassesToEmitFile(emitter, stream, nullptr, type))
        throw std::runtime_error("this target writes no such files");
    emitter.run(module);
    return out;
}

void compile(const LazuliCompileRequest& request, LazuliCompileReply& reply) {
    initialize();
    const codegen::Kernel kernel = codegen::Kernel::parse({request.kernel, request.kernel_bytes});
    llvm::LLVMContext context;
    llvm::Module module("kernel", context);
    const auto machine = machine_for(request);
    module.setTargetTriple(machine->getTargetTriple().str());
    module.setDataLayout(machine->createDataLayout());
    const bool has_scale =
        request.width == 512 && machine->getMCSubtargetInfo()->checkFeatures("+avx512f");
    emit(kernel, {request.width, request.streams != 0, has_scale}, module);
    for (llvm::Function& function : module) {
        if (function.isDeclaration()) continue;
        function.addFnAttr("prefer-vector-width", std::to_string(request.width));
        function.addFnAttr("min-legal-vector-width", std::to_string(request.width));
    }
    std::string broken;
    llvm::raw_string_ostream text(broken);
    if (llvm::verifyModule(module, &text)) throw std::runtime_error("malformed code: " + broken);
    if (request.optimize > 0) optimize(module, *machine);
    if (request.describe != 0) {
        const auto copy = llvm::CloneModule(module);
        const auto assembly = written(*copy, *machine, llvm::CodeGenFileType::AssemblyFile);
        reply.assembly = copied(assembly.data(), assembly.size());
    }
    const auto object = written(module, *machine, llvm::CodeGenFileType::ObjectFile);
    reply.object = copied(object.data(), object.size());
    reply.object_bytes = object.size();
}

}  // namespace

}  // namespace lazuli::jit

extern "C" {

void lazuli_jit_compile(const LazuliCompileRequest* request, LazuliCompileReply* reply) {
    *reply = {};
    try {
        lazuli::jit::compile(*request, *reply);
    } catch (const std::exception& e) {
        reply->error = strdup(e.what());
    }
}

void lazuli_jit_free(LazuliCompileReply* reply) {
    std::free(reply->object);
    std::free(reply->assembly);
    std::free(reply->error);
    *reply = {};
}
}
