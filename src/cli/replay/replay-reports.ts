/** What `reel replay` writes about a replay besides its summary: the recording of the cluster, the comparison with it, and the files. */
import { randomBytes } from "node:crypto"
import { mkdir, readdir } from "node:fs/promises"
import { systemClock } from "../../clock.ts"
import type { EndpointSource } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { Fidelity, type RepetitionsOptions } from "../../simulation/index.ts"
import { codeOf, OutputExists, OutputFailed, type OutputSink, openOutputForEnd } from "../../trace/index.ts"
import type { Say } from "../command-line/command.ts"
import { readVersion } from "../command-line/version.ts"
import type { ReplayOrder } from "./replay-order.ts"

/** The directory of the recording contains something. */
class DirectoryInUse extends OutputExists {
  override get message(): string {
    return `${this.path} is not empty; name a new directory with --recording`
  }
}

/**
 * Runs a replay with a recording of the cluster, and adds the comparison to its report. Rejects with OutputExists or OutputFailed if the directory
 * of the recording is in use or cannot be made.
 */
export const judgedBy =
  (order: ReplayOrder, endpoints: EndpointSource, say: Say): NonNullable<RepetitionsOptions["judged"]> =>
  async (replay) => {
    const judge = await openFidelity(order, endpoints)
    try {
      const report = await replay(judge)
      const fidelity = judge.compare(report.lives !== undefined)
      return fidelity === undefined ? report : { ...report, fidelity }
    } finally {
      // The report is worth more than a temporary directory that cannot be removed.
      await judge[Symbol.asyncDispose]().catch((error: unknown) =>
        say(`the recording of the cluster was not closed or removed: ${messageOf(error)}`),
      )
    }
  }

const openFidelity = async (
  { name, recording, settleMs, namespacePrefix, placement }: ReplayOrder,
  endpoints: EndpointSource,
): Promise<Fidelity> => {
  if (recording !== undefined) await makeEmptyDirectory(recording)
  const userAgent = `kubereel/${readVersion()}`
  const options = { endpoints, userAgent, clock: systemClock, settleMs, directory: recording }
  return new Fidelity({ ...options, namespacePrefix, placement, replay: name })
}

/** Known before the replay, which would otherwise run without being judged, or be mixed up with an earlier recording. */
const makeEmptyDirectory = async (path: string): Promise<void> => {
  const entries = await mkdir(path, { recursive: true })
    .then(() => readdir(path))
    .catch((error: unknown) => {
      throw new OutputFailed({ path, code: codeOf(error) })
    })
  if (entries.length > 0) throw new DirectoryInUse({ path })
}

/** The files that were requested; each is complete or absent, and a replay that is killed leaves nothing of them. */
export interface ReportFiles {
  /** Call it once. `page`: for `--html`. */
  readonly write: (report: object, page?: () => string) => Promise<void>
  /** Removes what was not written. */
  readonly discard: () => Promise<void>
}

/** Rejects with OutputExists or OutputFailed, before anything is done. */
export const openReportFiles = async ({
  report,
  html,
  force,
}: Pick<ReplayOrder, "report" | "html" | "force">): Promise<ReportFiles> => {
  const sinks: OutputSink[] = []
  const open = async (path: string | undefined): Promise<OutputSink | undefined> => {
    if (path === undefined) return undefined
    const sink = await openOutputForEnd(path, { force, token: randomBytes(8).toString("hex") })
    sinks.push(sink)
    return sink
  }
  const discard = async (): Promise<void> => void (await Promise.all(sinks.map((sink) => sink.discard())))
  try {
    const [json, pageFile] = [await open(report), await open(html)]
    return {
      discard,
      write: async (written, page) => {
        await json?.write(Buffer.from(reportText(written)))
        await json?.commit()
        if (page === undefined) return
        await pageFile?.write(Buffer.from(page()))
        await pageFile?.commit()
      },
    }
  } catch (error) {
    await discard()
    throw error
  }
}

/** Indented JSON, with lists of numbers on one line: some have hundreds. */
const reportText = (report: unknown): string =>
  `${JSON.stringify(report, undefined, 2).replace(/\[\n[\s\d.,enul+-]+\]/g, (list) => list.replace(/\s+/g, " "))}\n`
