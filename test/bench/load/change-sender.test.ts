import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import { deployments } from "../../../bench/load/bench-kinds.ts"
import { ChangeSender } from "../../../bench/load/change-sender.ts"
import { listVersion } from "../../../bench/load/object-template.ts"

interface SentObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly spec: object
  readonly status: object
}

interface Said {
  readonly watches?: number
  readonly sent?: number
  readonly lateMs?: number
  readonly pacedFromMs?: number
}

const closers: Array<() => void> = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A sender of 100 objects whose watches are read here. */
const start = (heartbeatShare: number) => {
  const said: Array<Said> = []
  const sender = new ChangeSender({ kind: deployments, objects: 100, heartbeatShare, say: (line) => said.push(line) })
  /** The first `count` events of a watch that has had `had`. */
  const watch = async (had: number, count: number, order: () => void): Promise<ReadonlyArray<SentObject>> => {
    const server = createServer((socket: Socket) => void sender.sendTo(socket, had)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const client = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1")
    closers.push(() => {
      client.destroy()
      server.close()
    })
    order()
    let text = ""
    for await (const piece of client) {
      text += String(piece)
      const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"))
      if (lines.length >= count) return lines.map((line) => (JSON.parse(line) as { object: SentObject }).object)
    }
    return []
  }
  return { sender, said, watch }
}

/** The two that are compared may have been sent in two seconds. */
const withoutTimes = (object: SentObject): string =>
  JSON.stringify(object, (key, value: unknown) => (/^time$|Time$/.test(key) ? undefined : value))

const versionsOf = (objects: ReadonlyArray<SentObject>): ReadonlyArray<number> =>
  objects.map(({ metadata }) => Number(metadata.resourceVersion) - listVersion)

const numbersFrom = (from: number, until: number): ReadonlyArray<number> =>
  Array.from({ length: until - from + 1 }, (_, index) => from + index)

describe("the generator's events", () => {
  test("are numbered without a gap and go to the objects in turn", async () => {
    const { sender, said, watch } = start(0)
    const objects = await watch(0, 250, () => sender.order(250, undefined))
    expect(versionsOf(objects)).toEqual(numbersFrom(1, 250))
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(
      numbersFrom(0, 249).map((number) => `web-${String(number % 100).padStart(6, "0")}`),
    )
    expect(said.find(({ sent }) => sent !== undefined)).toMatchObject({ sent: 250, lateMs: 0 })
  })

  test("go on for a resumed watch behind what it has had, with what changed last before", async () => {
    const whole = start(0.5)
    const all = await whole.watch(0, 300, () => whole.sender.order(300, undefined))
    const resumed = start(0.5)
    const rest = await resumed.watch(200, 100, () => resumed.sender.order(300, undefined))
    expect(rest.map(withoutTimes)).toEqual(all.slice(200).map(withoutTimes))
  })

  test("are heartbeats that leave spec as it was, in the share that was asked for", async () => {
    const { sender, watch } = start(0.5)
    const objects = await watch(0, 1000, () => sender.order(1000, undefined))
    const pairs = objects.slice(100).map((object, index) => [objects[index], object] as const)
    const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right)
    const heartbeats = pairs.filter(([before, after]) => isSame(before?.spec, after.spec))
    expect(heartbeats.length / pairs.length).toBeCloseTo(0.5, 1)
    expect(heartbeats.filter(([before, after]) => isSame(before?.status, after.status))).toEqual([])
  })

  test("leave at a pace after its start was told, all of them, in order", async () => {
    const { sender, said, watch } = start(0)
    const objects = await watch(0, 500, () => sender.order(500, 50_000))
    expect(versionsOf(objects)).toEqual(numbersFrom(1, 500))
    const [beginning] = said.filter(({ pacedFromMs }) => pacedFromMs !== undefined)
    expect(beginning?.pacedFromMs).toBeLessThanOrEqual(Number(process.hrtime.bigint()) / 1e6)
    // None leaves before it is due.
    expect(said.at(-1)?.lateMs).toBeGreaterThanOrEqual(0)
  })
})
