/**
 * µs after the first complete list in which the others belong to the same start of a recorder. A kind that is recorded only from later on, because
 * it was added to the configuration or installed in the cluster, must not cut off what was recorded before; and it must not claim to be
 * recorded from the beginning.
 */
export const sameStartMicros = 60_000_000
