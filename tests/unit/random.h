/* random.h: a fixed sequence of random numbers, for tests of random expressions. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static uint64_t seed = 1;

/* A number from 0 to n-1. */
static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

#endif
