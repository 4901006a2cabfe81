/** The request for an import of audit logs, its result, and its progress. */
import * as Schema from "effect/Schema"
import type { RedactionSettings } from "../kube/index.ts"
import type { GroupVersionKind, RedactedValues } from "../kube/offline.ts"
import {
  type Compression,
  ExportInterrupted,
  InputUnreadable,
  type LeftOut,
  OutputExists,
  OutputFailed,
  type OutputSink,
  type Spool,
  SpoolError,
  type TraceFormatName,
  type TraceInput,
  UnwritableTraceError,
} from "../trace/index.ts"
import type { LivesCounts } from "./lives/life-record.ts"
import type { LossCounts } from "./lives/losses.ts"
import { LogUnreadable } from "./reading/log-file.ts"

/** What to import, and how. */
export interface AuditImport {
  /** As they are on the command line. */
  readonly logs: ReadonlyArray<string>
  readonly openInput: (log: string) => Promise<TraceInput>
  /** Kinds of which nothing is imported. */
  readonly isExcluded: (gvk: GroupVersionKind) => boolean
  /** The key with which secret values are hashed. */
  readonly redactionKey: Uint8Array
  readonly secretsInPlainText: boolean
  /** Which values are secret besides those of Secrets. Default: what a recorder redacts by default. */
  readonly redaction?: RedactionSettings | undefined
  readonly format: TraceFormatName
  readonly compression: Compression
  /** Called before anything is read, so that a mistake is found at once. */
  readonly openSink: () => Promise<OutputSink>
  /** Default: in the temporary directory. */
  readonly openSpool?: () => Spool
  readonly signal: AbortSignal
  readonly onProgress: (progress: Readonly<ImportProgress>) => void
}

/** The logs of an import, under the names that messages have for them. */
export const namedLogs = ({ logs, openInput, signal }: Pick<AuditImport, "logs" | "openInput" | "signal">) =>
  logs.map((log) => ({ name: log === "-" ? "standard input" : log, open: () => openInput(log), signal }))

/** How far it is. */
export interface ImportProgress {
  /** Of the logs, as they are on disk. */
  bytesRead: number
  /** Of objects, in the trace. */
  changes: number
  /** Whether the logs have been read. */
  isWriting: boolean
}

/** Something in a log that is no audit entry. */
export interface UnknownText {
  readonly log: string
  readonly line: number
  readonly found: string
}

/** What was written, and what the logs did not have. */
export interface ImportSummary extends Readonly<LivesCounts> {
  /** Lines, or elements of documents. */
  readonly texts: number
  /** Successful ones, of all kinds. */
  readonly writes: number
  /** Entries that the logs have once more. */
  readonly repetitions: number
  /** Of objects, in the trace. */
  readonly changes: number
  readonly gaps: number
  readonly bytes: number
  /** Lost changes by kind. */
  readonly losses: ReadonlyMap<string, LossCounts>
  readonly unknown: { readonly count: number; readonly first: ReadonlyArray<UnknownText> }
  readonly leftOut: LeftOut
  /** How many values were replaced. */
  readonly redacted: ReadonlyArray<RedactedValues>
}

/** Nothing in the logs is a write. */
export class NoAuditLog extends Schema.TaggedError<NoAuditLog>()("NoAuditLog", {
  /** Lines, or elements of documents. */
  texts: Schema.Int,
  /** How many of them are no audit entries. */
  unknown: Schema.Int,
  /** The first of those, for people. */
  example: Schema.String,
}) {
  override get message(): string {
    if (this.texts === 0) return "the logs are empty"
    return this.unknown === this.texts
      ? `nothing in the logs is an audit entry: ${this.example}`
      : "the logs have no successful write to an object"
  }
}

/** What can fail, with a message for people. Nothing was kept. */
const errors = [
  ...[InputUnreadable, LogUnreadable, NoAuditLog, OutputExists, OutputFailed],
  ...[UnwritableTraceError, SpoolError, ExportInterrupted],
]

/** One of them. */
export type ImportError = InstanceType<(typeof errors)[number]>

/** Whether it is one of the failures that have a message; everything else is a defect. */
export const isImportError = (cause: unknown): cause is ImportError => errors.some((known) => cause instanceof known)

/** The result. */
export type ImportOutcome =
  | { readonly tag: "imported"; readonly summary: ImportSummary }
  | { readonly tag: "failed"; readonly error: ImportError }
