/** Exports everything from the demo's recorder, in both formats. */
import { SimkubeTraceReader } from "../src/trace/index.ts"

export interface ExportedChange {
  readonly gvk: string
  readonly uid: string
  readonly resourceVersion: string
  /** `applied`, `deleted`, `vanished`, or `gap`. */
  readonly action: string
}

const requestExport = async (port: number, format: "ndjson" | "simkube"): Promise<Buffer> => {
  const answer = await fetch(`http://127.0.0.1:${port}/export`, {
    method: "POST",
    body: JSON.stringify({
      start_ts: 0,
      end_ts: Math.ceil(Date.now() / 1000) + 1,
      export_path: "file:///demo",
      filters: { excluded_namespaces: [], excluded_labels: [] },
      format,
    }),
  })
  const body = Buffer.from(await answer.arrayBuffer())
  if (!answer.ok) throw new Error(`the export failed: HTTP ${answer.status}: ${body.toString()}`)
  return body
}

/** Every change and gap, in order. */
export const exportChanges = async (port: number): Promise<ReadonlyArray<ExportedChange>> =>
  (await requestExport(port, "ndjson"))
    .toString()
    .split("\n")
    .filter((line) => line.includes('"action"'))
    .map((line) => JSON.parse(line) as ExportedChange)

export interface SimkubeSummary {
  readonly bytes: number
  /** Objects in the trace, without owned ones. */
  readonly objects: number
  /** Number of pods with a known start, and end if there was one, by owner: `apps/v1.Deployment shop/web`. */
  readonly lives: ReadonlyMap<string, number>
}

/** A summary of the trace in SimKube's format. */
export const exportSimkube = async (port: number): Promise<SimkubeSummary> => {
  const bytes = await requestExport(port, "simkube")
  const reader = new SimkubeTraceReader()
  const lives = new Map<string, number>()
  let objects = 0
  for (const item of [...reader.push(bytes), ...reader.end()]) {
    if (item.type === "index") objects++
    if (item.type !== "lifecycles") continue
    const count = [...item.pods.values()].reduce((sum, list) => sum + list.length, 0)
    lives.set(`${item.gvk} ${item.owner}`, count)
  }
  return { bytes: bytes.length, objects, lives }
}
