/**
 * Which replicas are alive, and since when that counts. Pure: what it is told are the Leases that a list returned, and the time of this process's monotonic clock.
 *
 * A replica is alive as long as its Lease was seen to change within the Lease's duration, as in client-go's elections; the times that are written in it are those of
 * another machine's clock and are not compared. A change of the members counts once it has lasted: a replica that is restarted by a rollout comes back under
 * its name within seconds, and moving its shards to others and back would restore each of them twice.
 */

/** The Lease of a replica as it was listed. */
interface ReplicaLease {
  /** The replica's name. */
  readonly name: string
  /** Differs after each renewal. */
  readonly renewal: string
  readonly durationMs: number
}

interface MembershipTimes {
  /** ms for which the members must not have changed before they count. */
  readonly settleMs: number
  /** ms after which they count even though they still change: one replica that crashes in a circle must not leave the shards of another without a recorder. */
  readonly longestMs: number
}

interface Seen extends ReplicaLease {
  /** Monotonic ms at which it was first seen with this renewal. */
  readonly sinceMs: number
}

export interface Membership {
  readonly seen: ReadonlyMap<string, Seen>
  /** Names of those that are alive, in order; this replica is one of them. */
  readonly alive: ReadonlyArray<string>
  /** The members by which shards are assigned; `undefined` until the first ones count. */
  readonly members: ReadonlyArray<string> | undefined
  /** Monotonic ms: since when {@link alive} and {@link members} differ, and since when the former is what it is. */
  readonly pending: { readonly sinceMs: number; readonly changedMs: number } | undefined
}

export const noMembership: Membership = { seen: new Map(), alive: [], members: undefined, pending: undefined }

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string> | undefined): boolean =>
  one.length === other?.length && one.every((name, index) => name === other[index])

/** After a list of all Leases. `own`: the name of this replica, which is alive. */
export const afterList = (
  before: Membership,
  leases: ReadonlyArray<ReplicaLease>,
  nowMs: number,
  own: string,
  { settleMs, longestMs }: MembershipTimes,
): Membership => {
  const seen = new Map(
    leases.map((lease): readonly [string, Seen] => {
      const known = before.seen.get(lease.name)
      return [lease.name, known?.renewal === lease.renewal ? known : { ...lease, sinceMs: nowMs }]
    }),
  )
  const living = [...seen.values()].filter(({ sinceMs, durationMs }) => nowMs - sinceMs <= durationMs)
  const alive = [...new Set([own, ...living.map(({ name }) => name)])].sort()
  if (isSame(alive, before.members)) return { ...before, seen, alive, pending: undefined }
  const isNew = before.pending === undefined || !isSame(alive, before.alive)
  const pending = {
    sinceMs: before.pending?.sinceMs ?? nowMs,
    changedMs: isNew ? nowMs : (before.pending?.changedMs ?? nowMs),
  }
  const counts = nowMs - pending.changedMs >= settleMs || nowMs - pending.sinceMs >= longestMs
  return counts ? { seen, alive, members: alive, pending: undefined } : { ...before, seen, alive, pending }
}

/** Durations without a renewal after which the Lease of a replica is only litter. */
const abandonedAfter = 20

/** Replicas whose Leases any other one may remove. */
export const abandoned = ({ seen }: Membership, nowMs: number): ReadonlyArray<string> =>
  [...seen.values()]
    .filter(({ sinceMs, durationMs }) => nowMs - sinceMs > abandonedAfter * durationMs)
    .map(({ name }) => name)
