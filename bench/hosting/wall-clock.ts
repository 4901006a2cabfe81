/**
 * A wall clock that processes of one machine share, precise to some µs: `Date.now` has whole milliseconds, so the moment at which one begins
 * is taken as the origin of a monotonic clock. Setting the machine's clock later has no effect on it.
 *
 * A process that is interrupted just then sees the moment too late, which makes its origin too early: the latest of several is the one.
 */
const looks = 20

const lookAtOrigin = (): number => {
  const before = Date.now()
  let now = before
  while (now === before) now = Date.now()
  return now - performance.now()
}

/** ms. */
const origin = Math.max(...Array.from({ length: looks }, lookAtOrigin))

/** µs since the Unix epoch. */
export const wallMicros = (): number => Math.round((origin + performance.now()) * 1000)
