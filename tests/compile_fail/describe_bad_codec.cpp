// expect: keel: a codec needs the functions json::value encode(const T&) and bool decode(const json::value&, T&, keel::decode_error&)
#include <keel/describe.hpp>

struct money {
    int cents = 0;
};

template <>
struct keel::codec<money> {
    static json::value encode(const money& from) { return from.cents; }
};

keel::json::value f(const money& m) { return keel::encode(m); }
