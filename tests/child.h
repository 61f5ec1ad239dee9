#pragma once

// Another process of the test program, to be waited for or killed.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

extern char** environ;

namespace lazuli::tests {

/// A process of this program. It is killed at the end unless it ended before.
class Child {
   public:
    /// With these arguments, and entries NAME=VALUE before those of the environment.
    explicit Child(std::vector<std::string> arguments, std::vector<std::string> variables = {}) {
        EXPECT_EQ(::pipe2(pipe_, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, pipe_[1], STDOUT_FILENO);
        arguments.insert(arguments.begin(), "/proc/self/exe");
        std::vector<char*> list;
        for (std::string& argument : arguments) list.push_back(argument.data());
        list.push_back(nullptr);
        std::vector<char*> all;
        for (std::string& variable : variables) all.push_back(variable.data());
        for (char** entry = environ; *entry != nullptr; ++entry) {
            const std::string name(*entry, std::string(*entry).find('=') + 1);
            bool is_replaced = false;
            for (const std::string& variable : variables)
                is_replaced = is_replaced || variable.starts_with(name);
            if (!is_replaced) all.push_back(*entry);
        }
        all.push_back(nullptr);
        EXPECT_EQ(::posix_spawn(&child_, list[0], &actions, nullptr, list.data(), all.data()), 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(pipe_[1]);
    }
    ~Child() {
        if (child_ != 0) kill();
        ::close(pipe_[0]);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Until it printed something.
    void wait_for_output() {
        char ready = 0;
        EXPECT_EQ(::read(pipe_[0], &ready, 1), 1);
    }
    /// Until it ended; it did so with 0.
    void wait() {
        int status = 0;
        EXPECT_EQ(::waitpid(child_, &status, 0), child_);
        EXPECT_EQ(status, 0);
        child_ = 0;
    }
    void kill() {
        ::kill(child_, SIGKILL);
        int status = 0;
        EXPECT_EQ(::waitpid(child_, &status, 0), child_);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
        child_ = 0;
    }

   private:
    pid_t child_ = 0;
    int pipe_[2] = {};
};

}  // namespace lazuli::tests
