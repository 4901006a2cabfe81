/**
 * Replicas: one cluster that is too large for one recorder, recorded by several processes, each of which runs the recorders of some shards.
 *
 * Guarantee: with one set of living replicas each shard has one owner, and loads differ by one at most; no recorder of a shard outlives its replica. What
 * keeps two recorders of one shard apart is the fence of its stream, and not this.
 */

export { Replica, shardLease } from "./replica.ts"
export { shardMetrics } from "./shard-metrics.ts"
export { type ShardMessage, sharingVariable, startShardProcess } from "./shard-process.ts"
