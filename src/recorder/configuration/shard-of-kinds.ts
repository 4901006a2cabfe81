/**
 * What a recorder records of a cluster that it shares with others (docs/decisions/0111-a-shard-is-a-stream.md): each kind belongs to one shard, or is split,
 * and then every shard records the objects whose hash is in its range.
 *
 * Kinds whose pods' lifecycles are recorded go with Pods, whole or split: a lifecycle is recorded once, where its pod is, and an export of that shard
 * has both.
 */
import { type Shard, type ShardField, shardOfName } from "../../kube/index.ts"
import type { GroupVersionKind } from "../../kube/offline.ts"
import { objectsOf } from "./every-kind.ts"
import type { TrackedKind } from "./tracked-kind.ts"

/** One of `count` recorders of a cluster, `index` from 0. Plain data. */
export interface RecorderShard extends Pick<Shard, "index" | "count"> {
  /** Kinds that are divided among all of them, whatever their version. */
  readonly split: ReadonlyArray<{ readonly kind: Omit<GroupVersionKind, "version">; readonly by: ShardField }>
}

/** As `--shard` writes it. */
export const shardName = ({ index, count }: Pick<Shard, "index" | "count">): string => `${index}/${count}`

const podObjects = objectsOf({ group: "", kind: "Pod" })

/** Those kinds that belong to the shard, with its part of those that are split; `undefined`: all of them, whole. */
export const ofShard = (
  kinds: ReadonlyArray<TrackedKind>,
  shard: RecorderShard | undefined,
): ReadonlyArray<TrackedKind> => {
  if (shard === undefined) return kinds
  const { index, count, split } = shard
  const fields = new Map(split.map(({ kind, by }) => [objectsOf(kind), by]))
  return kinds.flatMap((kind): ReadonlyArray<TrackedKind> => {
    const place = kind.trackLifecycle ? podObjects : objectsOf(kind.gvk)
    const by = fields.get(place)
    if (by !== undefined) return [{ ...kind, shard: { index, count, by } }]
    return shardOfName(place, count) === index ? [kind] : []
  })
}
