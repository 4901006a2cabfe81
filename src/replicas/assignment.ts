/** Which replica records which shard: a function of the members alone, so that replicas that see the same members agree without asking each other. */
import { createHash } from "node:crypto"

/**
 * How many recorders share the memory of a replica: as many as it has with one of the other replicas gone, which is what the manifests allow for. A recorder keeps
 * the share that it was started with, so it must leave room for the one that is started beside it then.
 */
export const recordersSharing = (shards: number, members: number): number =>
  Math.ceil(shards / Math.max(1, members - 1))

/** 48 bits: exact in a number, and enough that two are hardly ever the same. */
const weightOf = (shard: number, member: string): number =>
  createHash("sha256").update(`${shard}/${member}`).digest().readUIntBE(0, 6)

/**
 * The owner of each shard, by its number; empty without members. Rendezvous hashing: of all pairs of a shard and a member, the heaviest one first. Plain rendezvous hashing
 * would give one of four members two of four shards every third time; so no member gets more than its share, and as few as the remainder of the division
 * get one more. Loads differ by one at most, and few shards move when a member joins or leaves.
 */
export const assignShards = (shards: number, members: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (members.length === 0) return []
  const pairs = Array.from({ length: shards }, (_, shard) =>
    members.map((member) => ({ shard, member, weight: weightOf(shard, member) })),
  ).flat()
  pairs.sort(
    (one, other) => other.weight - one.weight || one.shard - other.shard || (one.member < other.member ? -1 : 1),
  )
  const share = Math.floor(shards / members.length)
  let larger = shards % members.length
  const loads = new Map<string, number>()
  const owners: string[] = new Array(shards)
  for (const { shard, member } of pairs) {
    const load = loads.get(member) ?? 0
    if (owners[shard] !== undefined || load > share || (load === share && larger === 0)) continue
    if (load === share) larger--
    loads.set(member, load + 1)
    owners[shard] = member
  }
  return owners
}
