/*
 * Makes librdkafka's configure script find no C11 threads, so that librdkafka uses its own. The ones of glibc need
 * version 2.28, and wheels have to work with 2.17.
 */
#error "C11 threads are not in glibc 2.17"
