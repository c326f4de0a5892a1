/*
 * Hides C11 threads from librdkafka's configure script; librdkafka then uses its own. Those of glibc need version 2.28,
 * but wheels must work with 2.17.
 */
#error "C11 threads are not in glibc 2.17"
