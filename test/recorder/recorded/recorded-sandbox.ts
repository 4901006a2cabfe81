/** A sandbox, the real recording of it with real workers, and the queries that tests make of both. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { ExportJob } from "../../../src/actors/index.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import type { TrackedKind } from "../../../src/recorder/configuration/tracked-kind.ts"
import type { WorkerRole } from "../../../src/recorder/memory/memory-shares.ts"
import type { ArchiveSettings } from "../../../src/recorder/recording/archiving.ts"
import {
  type RecorderActors,
  type RecorderNotice,
  startRecorderActors,
} from "../../../src/recorder/recording/recorder-actors.ts"
import { workerEntry } from "../../../src/recorder/recording/worker-entries.ts"
import type { SharingPolicy } from "../../../src/recorder/watchers/placement.ts"
import type { RestartPolicy } from "../../../src/runtime/index.ts"
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/index.ts"
import { exportJob } from "../../actors/exporter/export-job.ts"
import { closeIfTestFails } from "../../harness/started.ts"
import { until } from "../recorder/recorder-command.ts"

/** One change, in the form of both ledger and export. */
export interface Change {
  readonly gvk: string
  readonly uid: string
  readonly resourceVersion: string
  readonly action: "applied" | "deleted" | "vanished"
  readonly name: string
}

export interface ExportedGap {
  readonly gvk: string
  readonly fromVersion: string
  readonly toVersion: string
  readonly reason: string
}

export interface ExportedRecording {
  readonly changes: ReadonlyArray<Change>
  readonly gaps: ReadonlyArray<ExportedGap>
}

/** Restarts at once and without a limit: the kills are the test's. */
export const untiring: RestartPolicy = {
  backOff: { initialMs: 5, maximumMs: 50, factor: 2, jitter: 1, resetAfterMs: 1000 },
  maximumCrashes: Number.POSITIVE_INFINITY,
  windowMs: 600_000,
}

/** The protocol with short waits: a test's server recovers at once. */
export const impatient: WatchPolicy = {
  ...defaultWatchPolicy,
  backOff: { initialMs: 5, maximumMs: 50, factor: 2, jitter: 1, resetAfterMs: 1000 },
  relistPauseMs: 20,
  absentPollMs: 50,
}

export const tracked = (gvkText: string, detect: TrackedKind["detect"] = "all"): TrackedKind => ({
  gvk: parseGvk(gvkText) ?? { group: "", version: "", kind: "" },
  gvkText,
  podSpecTemplatePaths: [],
  trackLifecycle: false,
  skipOwned: false,
  keepManagedFields: true,
  detect,
  ignore: [],
})

export interface RecordedSandboxOptions {
  readonly kinds: ReadonlyArray<TrackedKind>
  readonly sandbox?: SandboxOptions
  readonly policy?: WatchPolicy
  readonly restart?: RestartPolicy
  readonly directory?: string
  readonly entry?: (role: WorkerRole) => URL
  readonly sharing?: SharingPolicy
  readonly reportEvents?: boolean
  /** Default: it is not archived. */
  readonly archive?: ArchiveSettings
}

export class RecordedSandbox {
  readonly sandbox: Sandbox
  readonly actors: RecorderActors
  readonly directory: string
  readonly notices: ReadonlyArray<RecorderNotice>
  readonly #scope: Scope.Closeable
  readonly #isClosed: () => void

  private constructor(
    sandbox: Sandbox,
    actors: RecorderActors,
    directory: string,
    notices: ReadonlyArray<RecorderNotice>,
    scope: Scope.Closeable,
  ) {
    this.sandbox = sandbox
    this.actors = actors
    this.directory = directory
    this.notices = notices
    this.#scope = scope
    this.#isClosed = closeIfTestFails(() => this.close())
  }

  static async start(options: RecordedSandboxOptions): Promise<RecordedSandbox> {
    return RecordedSandbox.of(await Sandbox.start(options.sandbox), options)
  }

  /** Records a running sandbox, possibly into a directory that contains a recording already. */
  static async of(sandbox: Sandbox, options: RecordedSandboxOptions): Promise<RecordedSandbox> {
    const directory = options.directory ?? mkdtempSync(join(tmpdir(), "kubereel-test-"))
    const scope = await Effect.runPromise(Scope.make())
    const notices: Array<RecorderNotice> = []
    const actors = await Effect.runPromise(
      startRecorderActors({
        kinds: options.kinds,
        directory,
        fsync: "interval",
        endpoints: { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined },
        userAgent: "kubereel/test",
        notify: (notice) => notices.push(notice),
        policy: options.policy ?? impatient,
        restart: options.restart ?? untiring,
        entry: options.entry ?? workerEntry,
        reportEvents: options.reportEvents ?? false,
        ...(options.archive !== undefined && { archive: options.archive }),
        ...(options.sharing !== undefined && { sharing: options.sharing }),
      }).pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.onError(() => Scope.close(scope, Exit.void)),
      ),
    )
    return new RecordedSandbox(sandbox, actors, directory, notices, scope)
  }

  /** Waits until every kind is complete up to its last change in the ledger. */
  async caughtUp(deadlineMs = 20_000): Promise<void> {
    for (const { gvk } of this.actors.watchers) {
      const last = this.sandbox.ledger.of(gvk).at(-1)
      if (last !== undefined) await this.reached(gvk, BigInt(last.resourceVersion), deadlineMs)
    }
  }

  async reached(gvk: string, version: bigint, deadlineMs = 20_000): Promise<void> {
    await until(
      async () => {
        const state = await Effect.runPromise(
          this.actors.store.call("kindState", gvk).pipe(Effect.orElseSucceed(() => undefined)),
        )
        return state !== undefined && state.resumeVersion !== "" && BigInt(state.resumeVersion) >= version
      },
      () => `${gvk} to be recorded up to version ${version}`,
      deadlineMs,
    )
  }

  /** Waits until a kind is in the given state. */
  async inState(gvk: string, state: string, deadlineMs = 10_000): Promise<void> {
    await until(
      async () => this.actors.statuses.all().some((kind) => kind.gvk === gvk && kind.state === state),
      () => `${gvk} to be ${state}: ${this.actors.statuses.verboseReadiness()}`,
      deadlineMs,
    )
  }

  async ready(): Promise<void> {
    await until(
      async () => this.actors.statuses.isReady,
      () => `readiness: ${this.actors.statuses.verboseReadiness()}`,
    )
  }

  /** Everything recorded, through the exporter. */
  async export(): Promise<ExportedRecording> {
    const kinds = this.actors.watchers.map(({ gvk }) => gvk)
    const lines = (await this.exportOf(exportJob(kinds, { excludeOwned: true, excludeDaemonSetOwned: true })))
      .toString()
      .split("\n")
      .filter((line) => line.includes('"action"'))
    const parsed = lines.map((line) => JSON.parse(line) as { readonly action: string })
    return {
      changes: parsed.filter(({ action }) => action !== "gap") as unknown as ReadonlyArray<Change>,
      gaps: parsed.filter(({ action }) => action === "gap") as unknown as ReadonlyArray<ExportedGap>,
    }
  }

  /** The bytes of an export of what was received until now. */
  async exportOf(job: ExportJob): Promise<Buffer> {
    const cut = await Effect.runPromise(this.actors.cut())
    const pieces: Array<Buffer> = []
    const ended = Promise.withResolvers<void>()
    const reader = {
      piece: async (data: Uint8Array) => void pieces.push(Buffer.from(data)),
      end: (error: string | undefined) => (error === undefined ? ended.resolve() : ended.reject(new Error(error))),
    }
    await Effect.runPromise(this.actors.exports.start({ ...job, cut }, reader))
    await ended.promise
    return Buffer.concat(pieces)
  }

  /** Stops the recording in order; the sandbox continues. */
  async stopRecording(): Promise<void> {
    this.#isClosed()
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(): Promise<void> {
    await this.stopRecording()
    await this.sandbox.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** The ledger of a kind as changes. */
export const ledgerOf = (sandbox: Sandbox, gvk: string): ReadonlyArray<Change> =>
  sandbox.ledger.of(gvk).map((entry) => ({
    gvk,
    uid: entry.uid,
    resourceVersion: String(entry.resourceVersion),
    action: entry.action,
    name: entry.name,
  }))

/** A short text per change, so that a failing comparison can be read. */
export const describeChanges = (changes: ReadonlyArray<Change>, gvk: string): ReadonlyArray<string> =>
  changes
    .filter((change) => change.gvk === gvk)
    .map(({ resourceVersion, action, name, uid }) => `${resourceVersion} ${action} ${name} ${uid}`)

/** The differences, in brief: `{}` if both contain the same changes in the same order. */
export const differences = (found: ReadonlyArray<Change>, wanted: ReadonlyArray<Change>, gvk: string) => {
  const left = describeChanges(found, gvk)
  const right = describeChanges(wanted, gvk)
  if (left.length === right.length && left.every((line, index) => line === right[index])) return {}
  const foundLines = new Set(left)
  const wantedLines = new Set(right)
  const missing = right.filter((line) => !foundLines.has(line))
  const extra = left.filter((line) => !wantedLines.has(line))
  return {
    counts: `${left.length} found, ${right.length} wanted, ${left.length - foundLines.size} found more than once`,
    missing: [missing.length, ...missing.slice(0, 8)],
    extra: [extra.length, ...extra.slice(0, 8)],
    firstAtAnotherPlace: left.find((line, index) => line !== right[index]),
  }
}
