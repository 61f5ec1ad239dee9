#include <lazuli/lazuli.h>

#include <iostream>

int main() {
    using namespace lazuli;
    Tensor x = {{1.0, 2.0}, {3.0, 4.0}};           // f32[2, 2]
    Tensor y = (x.matmul(x) + 0.5).tanh().sum(0);  // records; computes nothing
    std::cout << y << "\n" << capture(y).str();    // what it is, and the program that would run
    std::cout << y.str({.eval = true}) << "\n";    // now it runs
}
