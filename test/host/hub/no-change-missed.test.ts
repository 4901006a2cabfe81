/**
 * Whatever the server, the connections and the consumers do: every subscriber sees every object's last state and every deletion, in the
 * order of each object. Compared with the sandbox's ledger, over real HTTP.
 */
import fc from "fast-check"
import { expect, test } from "vitest"
import { patient } from "../../harness/patience.ts"
import { turn } from "../../runtime/until.ts"
import { Consumer, configMap, startHub } from "./hub-on-sandbox.ts"

const name = fc.constantFrom("a", "b", "c", "d")
const who = fc.nat({ max: 5 })

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("put" as const), name, tier: fc.constantFrom("x", "y") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("replace" as const), name }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("turns" as const), count: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("subscribe" as const), isSelective: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("pause" as const), who }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("take" as const), who, bytes: fc.integer({ min: 1, max: 1500 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("restart" as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("hang-up" as const, "410" as const, "429" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("expire" as const, "outage" as const, "end" as const) }) },
)

const tierX = { labelSelector: "tier=x" }

test(
  "every subscriber sees the last state and the deletion of every object, over faults, pauses, and restarts of its own",
  async () => {
    const relists: number[] = []
    let folded = 0
    let resumed = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
        const { sandbox, hub, subscribe, put, remove, sees, clock } = await startHub()
        const { faults } = sandbox
        const consumers: Array<{
          readonly consumer: Consumer
          readonly isSelective: boolean
        }> = []
        const join = (isSelective: boolean, consumer = new Consumer(), after?: string): void => {
          if (after === undefined) consumers.push({ consumer, isSelective })
          subscribe({ ...(isSelective && tierX), after }, consumer)
        }
        const exists = (known: string): boolean => sandbox.get(configMap, "default", known) !== undefined
        const at = (index: number) => consumers[index % consumers.length] as (typeof consumers)[number]
        join(false)
        await sees(() => at(0).consumer.isSynced)
        let value = 0
        for (const each of steps) {
          if (each.do === "put") put(each.name, String(++value), { tier: each.tier })
          else if (each.do === "delete" && exists(each.name)) remove(each.name)
          else if (each.do === "replace" && exists(each.name)) {
            remove(each.name)
            put(each.name, String(++value), { tier: "x" })
          } else if (each.do === "turns") {
            for (let count = 0; count < each.count; count++) {
              clock.advance(50)
              await turn()
            }
          } else if (each.do === "subscribe") join(each.isSelective)
          else if (each.do === "pause") at(each.who).consumer.takesAtOnce = !at(each.who).consumer.takesAtOnce
          else if (each.do === "take") at(each.who).consumer.takeSome(each.bytes)
          else if (each.do === "restart") {
            const { consumer, isSelective } = at(each.who)
            // As with a list, whoever has read half of the state has to begin anew.
            if (!consumer.isSynced || consumer.isExpired) continue
            consumer.handle?.unsubscribe()
            join(isSelective, consumer, consumer.lastVersion)
            resumed++
          } else if (each.do === "hang-up") faults.hangUp()
          else if (each.do === "410") faults.expireWatches("configmaps")
          else if (each.do === "429") faults.respond("configmaps", 429, { times: 2 })
          else if (each.do === "expire") faults.forceExpired("configmaps", 1)
          else if (each.do === "end") faults.endWatches()
          else if (each.do === "outage") {
            await faults.refuseConnections()
            for (const known of ["a", "b"]) if (exists(known)) remove(known)
            put("a", String(++value), { tier: "y" })
            faults.forceExpired("configmaps", 1)
            await faults.acceptConnections()
          }
        }
        faults.clear()
        // Selected by both, so it shows that a consumer has everything before it.
        put("end", "1", { tier: "x" })
        const isDone = ({ consumer }: (typeof consumers)[number]): boolean => {
          consumer.takeAll()
          return consumer.isExpired || consumer.state.end === "1"
        }
        await sees(() => consumers.filter(isDone).length === consumers.length, 200)

        const ledger = sandbox.ledger.of(configMap)
        const last = new Map(ledger.map((entry) => [entry.uid, entry]))
        const isX = (entry: (typeof ledger)[number]): boolean => entry.object?.metadata.labels?.tier === "x"
        const [upstream] = hub.statistics().upstreams
        relists.push(upstream?.relists ?? 0)
        for (const { consumer, isSelective } of consumers) {
          folded += consumer.handle?.statistics().folded ?? 0
          if (consumer.isExpired) continue
          const live = [...last.values()].filter((entry) => entry.action === "applied" && (!isSelective || isX(entry)))
          const told = [...consumer.objects.values()].map(
            ({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`,
          )
          expect(told.sort()).toEqual(live.map(({ uid, resourceVersion }) => `${uid} ${resourceVersion}`).sort())
          // Without a list, nothing is hidden: also of objects that came and went while the consumer paused. Of the state, what went before it
          // was told is not.
          if (upstream?.relists !== 0) continue
          const selected = ledger.filter((entry) => !isSelective || isX(entry))
          const { told: known, deleted, syncedVersion } = consumer
          const created = ({ uid }: { uid: string }): number =>
            Number(ledger.find((entry) => entry.uid === uid)?.resourceVersion)
          for (const { uid } of ledger.filter((entry) => entry.action === "deleted")) {
            const wasSelected = selected.some((entry) => entry.uid === uid)
            if (known.has(uid) || (wasSelected && created({ uid }) > syncedVersion)) expect([...deleted]).toContain(uid)
          }
        }
      }),
      { numRuns: 30 },
    )
    // The faults and the pauses have had their effects, and there were runs without lists.
    expect(Math.max(...relists)).toBeGreaterThan(0)
    expect(Math.min(...relists)).toBe(0)
    expect(folded).toBeGreaterThan(0)
    expect(resumed).toBeGreaterThan(0)
  },
  patient(60_000),
)
