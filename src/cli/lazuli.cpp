// The `lazuli` program.

#include "cli/commands.h"

int main(int argc, char** argv) {
    CLI::App app{"Lazuli: a lazy tensor engine"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "lazuli 0.1.0");
    lazuli::cli::add_demo(app);
    lazuli::cli::add_run(app);
    lazuli::cli::add_ops(app);
    lazuli::cli::add_devices(app);
    lazuli::cli::add_env(app);
    return lazuli::cli::guarded("lazuli", [&] {
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& e) {
            return app.exit(e) == 0 ? 0 : 2;
        }
        return 0;
    });
}
