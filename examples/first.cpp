// The README's example: record, look, evaluate.

#include <iostream>

#include "lazuli/lazuli.h"

int main() {
    using namespace lazuli;
    Tensor x = {{1.0, 2.0}, {3.0, 4.0}};                // f32[2, 2]
    Tensor y = (x.matmul(x) + 0.5).tanh().sum(0);       // records; computes nothing
    std::cout << y << "\n";                             // says what it is
    std::cout << capture(y).str();                      // the program that would run
    std::cout << y.str({.eval = true}) << "\n";         // now it runs
    try {
        (void)x.matmul(Tensor{1.0, 2.0, 3.0});
    } catch (const ShapeError& e) {
        std::cout << e.what() << "\n";                  // wrong shapes are an error at the call
    }
}
