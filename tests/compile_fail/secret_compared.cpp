// expect: deleted
#include <keel/secret.hpp>

bool f(const keel::secret& a, const keel::secret& b) { return a == b; }
