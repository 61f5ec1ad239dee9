#include "symbolic/interner.h"

#include <algorithm>
#include <new>

#include "base/hash.h"

namespace lazuli::symbolic {

namespace {

std::uint64_t hash_of(const Draft& draft) {
    std::uint64_t h = hash_mix(static_cast<std::uint64_t>(draft.kind) + 1,
                               static_cast<std::uint64_t>(draft.value));
    for (const Term& term : draft.terms)
        h = hash_mix(h ^ term.node->hash, static_cast<std::uint64_t>(term.coef));
    return h;
}

bool is_it(const Node& node, const Draft& draft, std::uint64_t hash) {
    return node.hash == hash && node.kind == draft.kind && node.value == draft.value &&
           std::equal(node.begin(), node.end(), draft.terms.begin(), draft.terms.end());
}

}  // namespace

const Node* Interner::intern(const Draft& draft) {
    const std::uint64_t hash = hash_of(draft);
    std::size_t mask = table_.size() - 1;
    std::size_t slot = hash & mask;
    for (; table_[slot] != nullptr; slot = (slot + 1) & mask) {
        if (is_it(*table_[slot], draft, hash)) return table_[slot];
    }
    bool relational = draft.size != nullptr;
    for (const Term& term : draft.terms) relational = relational || term.node->relational;
    void* memory = room(sizeof(Node) + draft.terms.size() * sizeof(Term));
    auto* node =
        new (memory) Node{draft.kind, relational,  static_cast<std::uint32_t>(draft.terms.size()),
                          hash,       draft.value, draft.bounds,
                          this,       draft.name,  draft.size};
    std::uninitialized_copy(draft.terms.begin(), draft.terms.end(),
                            reinterpret_cast<Term*>(node + 1));
    table_[slot] = node;
    if (lock != nullptr) known_.insert(node);
    if (++count_ * 2 > table_.size()) grow();
    return node;
}

void Interner::grow() {
    std::vector<const Node*> larger(table_.size() * 2);
    const std::size_t mask = larger.size() - 1;
    for (const Node* node : table_) {
        if (node == nullptr) continue;
        std::size_t slot = node->hash & mask;
        while (larger[slot] != nullptr) slot = (slot + 1) & mask;
        larger[slot] = node;
    }
    table_ = std::move(larger);
}

void* Interner::room(std::size_t bytes) {
    static_assert(sizeof(Node) % alignof(Term) == 0 && sizeof(Term) % alignof(Node) == 0);
    if (static_cast<std::size_t>(end_ - at_) < bytes) {
        const std::size_t chunk = std::max<std::size_t>(bytes, chunks_.empty() ? 4096 : 65536);
        chunks_.push_back(std::make_unique<std::byte[]>(chunk));
        at_ = chunks_.back().get();
        end_ = at_ + chunk;
    }
    void* memory = at_;
    at_ += bytes;
    return memory;
}

const std::string* Interner::keep(std::string_view text) {
    names_.push_back(std::make_unique<std::string>(text));
    return names_.back().get();
}

int compare(const Node* a, const Node* b) {
    if (a == b) return 0;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->is(Kind::variable)) {
        // By name, i9 before i10; two of one name by age.
        if (a->name->size() != b->name->size()) return a->name->size() < b->name->size() ? -1 : 1;
        if (const int order = a->name->compare(*b->name); order != 0) return order;
    }
    const std::size_t common = std::min(a->count, b->count);
    for (std::size_t i = 0; i < common; ++i) {
        if (const int order = compare((*a)[i].node, (*b)[i].node); order != 0) return order;
        if ((*a)[i].coef != (*b)[i].coef) return (*a)[i].coef < (*b)[i].coef ? -1 : 1;
    }
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return a->value < b->value ? -1 : 1;
}

}  // namespace lazuli::symbolic
