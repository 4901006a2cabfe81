/** The metrics of the recorders of several shards as those of one process. */

interface ShardMetrics {
  readonly shard: number
  /** In the text format that a recorder writes. */
  readonly text: string
}

/** Each sample has the label `shard`, and all samples of one name are together, as the format demands. */
export const shardMetrics = (all: ReadonlyArray<ShardMetrics>): string => {
  const families = new Map<string, Map<string, string>>()
  for (const { shard, text } of all)
    for (const line of text.split("\n").filter(Boolean)) {
      const [, name = ""] = /^(?:# (?:HELP|TYPE) )?([\w:]+)/.exec(line) ?? []
      const label = `{shard="${shard}"`
      const labelled = line.replace(/^[\w:]+\{/, `${name}${label},`).replace(/^[\w:]+ /, `${name}${label}} `)
      const family = families.get(name) ?? new Map<string, string>()
      families.set(name, family)
      // Each shard says what the metric is; once is enough.
      const what = line.startsWith("#") ? line.slice(0, "# TYPE".length) : labelled
      if (!family.has(what)) family.set(what, labelled)
    }
  return [...families.values()].map((lines) => [...lines.values(), ""].join("\n")).join("")
}
