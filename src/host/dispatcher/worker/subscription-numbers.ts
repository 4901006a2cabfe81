/**
 * The numbers of subscriptions at the hub: each is given once in a host, in whatever worker and life of it, so that a row is never taken for one
 * of another subscription, and a module keeps its numbers when it moves. They begin anew after 2^32.
 */

/** Shared memory for the numbers of one host. */
export const subscriptionMemory = (): SharedArrayBuffer => new SharedArrayBuffer(4)

/** Gives the next number with each call, in any thread. */
export const subscriptionNumbers = (memory: SharedArrayBuffer): (() => number) => {
  const view = new Int32Array(memory)
  return () => (Atomics.add(view, 0, 1) + 1) >>> 0
}
