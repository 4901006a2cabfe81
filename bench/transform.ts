/**
 * Scenario *transform*: `reel transform` of a trace of Deployments of 2.9 kB with a program of five commands, in a process of its own, as its users run it; and the
 * same with all of its threads on one core.
 */
import { execFile } from "node:child_process"
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { NdjsonWriter } from "../src/trace/index.ts"
import { deployments, gvkOf } from "./load/bench-kinds.ts"
import { objectText } from "./load/bench-objects.ts"
import { firstVersion, ObjectTemplate } from "./load/object-template.ts"
import type { Bound, Measure } from "./report/table.ts"
import { inRounds, type Scenario } from "./scenario.ts"

const reel = fileURLToPath(new URL("../bin/reel.js", import.meta.url))
const start = 1_763_700_000_000_000
const stepMicros = 1000
const objects = 1000
const limitMs = 170_000

/** A test of each object, one of the time, one of all containers, and two assignments. */
const program = `
remove(status);
remove(metadata.managedFields);
modify(@t >= 10s && spec.replicas > 1, spec.replicas = 1);
modify($c := spec.template.spec.containers[*] | $c.image =~ "^registry", $c.imagePullPolicy = "Never");
delete(metadata.name =~ "7$");
`

const run = promisify(execFile)

export const transform: Scenario = {
  name: "transform",
  description: "reel transform of 100,000 events with a program of five commands",
  takes: [],
  takesPeer: false,
  run: async (settings) => {
    const events = settings.events ?? (settings.isQuick ? 5000 : 100_000)
    const directory = mkdtempSync(join(tmpdir(), "kubereel-bench-transform-"))
    try {
      const trace = join(directory, "trace.ndjson")
      await writeTrace(trace, events)
      writeFileSync(join(directory, "program.skel"), program)
      const seconds: { readonly all: number[]; readonly one: number[] } = { all: [], one: [] }
      const once = async (name: keyof typeof seconds, command: ReadonlyArray<string>): Promise<void> => {
        const before = performance.now()
        const words = [
          reel,
          "transform",
          trace,
          join(directory, "program.skel"),
          "-f",
          "-o",
          join(directory, "out.ndjson"),
        ]
        const [file = "", ...first] = [...command, process.execPath]
        const { stderr } = await run(file, [...first, ...words])
        if (!stderr.includes(`${events.toLocaleString("en")} states of objects`)) throw new Error(stderr)
        seconds[name].push((performance.now() - before) / 1000)
      }
      const rounds = await inRounds(settings.rounds ?? (settings.isQuick ? 1 : 3), limitMs, async (round) => {
        await once("all", [])
        await once("one", ["taskset", "-c", "0"])
        settings.tell(
          `round ${round}: ${seconds.all.at(-1)?.toFixed(1)} s, on one core ${seconds.one.at(-1)?.toFixed(1)} s`,
        )
      })
      return {
        measures: measuresOf(seconds, events),
        notes: [
          `${events.toLocaleString("en")} events in ${(statSync(trace).size / 1e6).toFixed(0)} MB of NDJSON; ${rounds} ${rounds === 1 ? "round" : "rounds"}. From the start of the process to its end.`,
        ],
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

const measuresOf = (
  { all, one }: { readonly all: number[]; readonly one: number[] },
  events: number,
): ReadonlyArray<Measure> => {
  const must: Bound = { relation: "at least", value: 10_000 }
  return [
    { name: "events", unit: "1/s", digits: 0, ours: all.map((each) => events / each), must },
    { name: "– whole run", unit: "s", digits: 1, ours: all },
    { name: "– – on one core", unit: "s", digits: 1, ours: one },
  ]
}

const writeTrace = async (file: string, events: number): Promise<void> => {
  const stream = createWriteStream(file)
  const write = (piece: Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => stream.write(piece, (error) => (error ? reject(error) : resolve())))
  const gvk = gvkOf(deployments)
  const window = { start, end: start + events * stepMicros }
  const writer = new NdjsonWriter({ window, cut: events, kinds: [gvk], incomplete: [] })
  const template = new ObjectTemplate(objectText(deployments, 0))
  const object = Buffer.alloc(template.bytes.length)
  for (let next = 0; next < events; next++) {
    const number = 1 + (next % objects)
    template.copyTo(object, 0, number, firstVersion + next)
    const { uid, name, namespace } = JSON.parse(object.toString()).metadata
    const facts = {
      gvk,
      action: "applied",
      uid,
      namespace,
      name,
      resourceVersion: String(firstVersion + next),
    } as const
    writer.add({ type: "object", sequence: next + 1, time: start + next * stepMicros, ...facts, object })
    const piece = writer.take()
    if (piece !== undefined) await write(piece)
  }
  await write(writer.end())
  await new Promise((resolve) => stream.end(resolve))
}
