/**
 * Scenario *mailbox*: the cost of a frame from one thread to another: written into shared memory (src/runtime), cloned, or transferred by
 * postMessage.
 *
 * Each way does the same work: the sender copies bytes "from the network" into the frame and keeps the frame until it is acknowledged; the
 * receiver reads one byte per cache line and acknowledges every MiB; 8 MiB may be unacknowledged. The ways alternate within each round.
 * Sender and receiver are the CPU time of their threads; process also counts what V8's other threads do to collect the garbage.
 */
import { MessageChannel, Worker } from "node:worker_threads"
import type { MailboxRun, MailboxStart, Way } from "./measuring/mailbox-worker.ts"
import { quotients } from "./report/ratios.ts"
import { median } from "./report/statistics.ts"
import type { Measure } from "./report/table.ts"
import { inRounds, type Scenario, type ScenarioReport } from "./scenario.ts"

const frameKibs: ReadonlyArray<number> = [16, 64, 256]
const otherWays = { clone: "cloned", transfer: "transferred" } as const
const ways: ReadonlyArray<Way> = ["shared", "clone", "transfer"]
/** KiB of a run and way: frames beyond it are what is measured. A power of two, as the frames are. */
const runKibs = 512 * 1024
const limitMs = 60_000

/** Rounds of one size, by way. */
type Runs = Readonly<Record<Way, Array<Costs>>>

export const mailbox: Scenario = {
  name: "mailbox",
  description: "a frame from thread to thread: in shared memory, against postMessage cloning or transferring it",
  takes: [],
  takesPeer: false,
  run: async ({ rounds, isQuick, tell }) => {
    const runs = new Map<number, Runs>(frameKibs.map((kib) => [kib, { shared: [], clone: [], transfer: [] }]))
    const done = await inRounds(rounds ?? (isQuick ? 1 : 5), limitMs, async (round) => {
      for (const [kib, costs] of runs) {
        const frames = runKibs / kib / (isQuick ? 8 : 1)
        for (const way of ways) costs[way].push(await measure({ way, frameBytes: kib * 1024, frames }))
        const process = ways.map((way) => `${way} ${costs[way].at(-1)?.process.toFixed(1)}`).join(", ")
        tell(`round ${round}: ${kib} KiB: ${process} µs a frame`)
      }
    })
    return report(runs, done)
  },
}

const report = (runs: ReadonlyMap<number, Runs>, rounds: number): ScenarioReport => ({
  measures: [...runs].flatMap(([kib, costs]): ReadonlyArray<Measure> => {
    const row = (name: string, values: ReadonlyArray<Costs>, cost: keyof Costs): Measure => ({
      name,
      unit: "µs",
      digits: 1,
      ours: values.map((each) => each[cost]),
    })
    return [
      row(`frame of ${kib} KiB, process`, costs.shared, "process"),
      row("– of it sender", costs.shared, "sender"),
      row("– of it receiver", costs.shared, "receiver"),
      row("– wall", costs.shared, "wall"),
      ...Object.entries(otherWays).map(([way, name]) =>
        row(`– ${name} instead, process`, costs[way as Way], "process"),
      ),
    ]
  }),
  notes: [
    `${rounds} ${rounds === 1 ? "round" : "rounds"} of shared memory, clone, transfer in turn; CPU of all threads of the process.`,
    ...Object.entries(otherWays).map(([way, name]) => {
      const ratios = [...runs].map(([kib, costs]) => {
        const cost = (of: Way): ReadonlyArray<number> => costs[of].map(({ process }) => process)
        return `${median(quotients(cost(way as Way), cost("shared"))).toFixed(2)} at ${kib} KiB`
      })
      return `A ${name} frame costs this many times what ours does (medians of the rounds): ${ratios.join(", ")}.`
    }),
  ],
})

interface Costs {
  readonly sender: number
  readonly receiver: number
  readonly process: number
  readonly wall: number
}

const answer = (worker: Worker): Promise<unknown> => new Promise((resolve) => worker.once("message", resolve))

const measure = async (run: MailboxRun): Promise<Costs> => {
  const program = new URL("./measuring/mailbox-worker.ts", import.meta.url)
  const [sender, receiver] = [new Worker(program), new Worker(program)]
  const once = async (frames: number): Promise<Costs> => {
    const { port1, port2 } = new MessageChannel()
    const cpu = process.cpuUsage()
    const wall = performance.now()
    receiver.postMessage({ ...run, frames, side: "receiver", port: port2 } satisfies MailboxStart, [port2])
    const done = answer(sender)
    sender.postMessage({ ...run, frames, side: "sender", port: port1 } satisfies MailboxStart, [port1])
    await done
    const elapsed = performance.now() - wall
    const { user, system } = process.cpuUsage(cpu)
    const micros: Array<number> = []
    for (const worker of [sender, receiver]) {
      const reported = answer(worker)
      worker.postMessage("report")
      micros.push(Number(await reported) / frames)
    }
    const [sent = 0, received = 0] = micros
    return { sender: sent, receiver: received, process: (user + system) / frames, wall: (elapsed * 1000) / frames }
  }
  // Warm up. A power of two like the frames of a run, so that the last of them fill an acknowledgement.
  await once(run.frames / 8)
  const costs = await once(run.frames)
  await Promise.all([sender.terminate(), receiver.terminate()])
  return costs
}
