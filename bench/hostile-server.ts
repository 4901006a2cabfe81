/**
 * Scenario *hostile-server*: the memory of a recorder of 20 kinds whose API server sends what no API server should.
 */
import { atMost, megabyte } from "./exporting/export-load.ts"
import type { Hostility } from "./load/hostile-answers.ts"
import { hostileKinds, hostileSeconds, memoryUnder } from "./measuring/hostile-memory.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"

const limitMs = 220_000

/** Each with how it is written; `undefined` is the one to compare with. */
const hostilities: ReadonlyArray<readonly [string, Hostility | undefined]> = [
  ["as an API server should be", undefined],
  ["endless lines", "endless-lines"],
  ["ERROR lines of 60 MB", "error-lines"],
  ["pages that repeat their continue token", "repeated-continue"],
]

export const hostileServer: Scenario = {
  name: "hostile-server",
  description: "memory while an API server sends endless lines, or pages without end, to 20 kinds",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const memory = new Map(hostilities.map(([name]) => [name, [] as Array<number>]))
    const rounds = await inRounds(settings.rounds ?? (settings.isQuick ? 1 : 3), limitMs, async (round) => {
      for (const [name, hostility] of hostilities) {
        const megabytes = (await memoryUnder(hostility, settings)) / megabyte
        memory.get(name)?.push(megabytes)
        settings.tell(`round ${round}: ${name}: at most ${Math.round(megabytes)} MB`)
      }
    })
    const seconds = settings.isQuick ? hostileSeconds.quick : hostileSeconds.full
    return {
      measures: hostilities.map(
        ([name, hostility]): Measure => ({
          ...{ name, unit: "MB", digits: 0, ours: memory.get(name) ?? [] },
          ...(hostility !== undefined && { must: atMost(400) }),
        }),
      ),
      notes: [
        `The largest resident memory of the process until ${seconds} s after its start; ${hostileKinds} kinds of 10 objects each, and each kind's watch or list is what the row says; ` +
          `${rounds} ${rounds === 1 ? "round" : "rounds"}.`,
      ],
    }
  },
}
