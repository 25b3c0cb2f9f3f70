#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support/proof.hpp"

REGISTER_LISTENER("proof", 1, keel::test::proof_writer);
