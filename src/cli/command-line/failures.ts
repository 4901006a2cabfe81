/**
 * What can go wrong that a person can do something about. Commands let such errors pass, and {@link failureOf} makes each a line and an exit code: errors of
 * commands have their exit code, and those of other rooms have it in the table here, by their tag. Every other error is a defect.
 */
import type { ArchiveError } from "../../archive/index.ts"
import type { TargetError } from "../../blob/index.ts"
import type { FactsError } from "../../facts/index.ts"
import type { ShardsRefused, StreamError } from "../../fleet/index.ts"
import type { ApiError, CredentialsError } from "../../kube/index.ts"
import { withLocalTimes } from "../../local-time.ts"
import type { ListenError, TokenFileError } from "../../recorder/index.ts"
import type { BadExpectations, KindNotInTrace, RehearsalStalled } from "../../rehearsal/index.ts"
import type { NothingToServe } from "../../serve/index.ts"
import type {
  NoRecording,
  NotAReport,
  OutsideTrace,
  RecordedCluster,
  RemovalIncomplete,
  RemovalUnchecked,
  ReplayExists,
  TargetLacks,
  TargetUnusable,
} from "../../simulation/index.ts"
import type {
  BadTraceError,
  DecompressionError,
  ExportInterrupted,
  InputUnreadable,
  OutputExists,
  OutputFailed,
  SpoolError,
} from "../../trace/index.ts"
import { type CommandError, CommandFailed, type ExitCode, exitCodes } from "./exit-codes.ts"

type Failure =
  | ApiError
  | ArchiveError
  | CredentialsError
  | BadExpectations
  | BadTraceError
  | DecompressionError
  | ExportInterrupted
  | FactsError
  | InputUnreadable
  | KindNotInTrace
  | ListenError
  | NoRecording
  | NotAReport
  | NothingToServe
  | OutputExists
  | OutputFailed
  | OutsideTrace
  | RecordedCluster
  | RehearsalStalled
  | RemovalIncomplete
  | RemovalUnchecked
  | ReplayExists
  | ShardsRefused
  | SpoolError
  | StreamError
  | TargetError
  | TargetLacks
  | TargetUnusable
  | TokenFileError

type Codes = { readonly [Tag in Failure["_tag"]]: ExitCode | ((failure: Extract<Failure, { _tag: Tag }>) => ExitCode) }

const { failed, usage, notPermitted, interrupted } = exitCodes

const codes: Codes = {
  // Of the API client.
  UnauthorizedError: notPermitted,
  ForbiddenError: notPermitted,
  NotFoundError: failed,
  AlreadyExistsError: failed,
  ConflictError: failed,
  ExpiredError: failed,
  InvalidError: failed,
  TooManyRequestsError: failed,
  ApiRefusalError: failed,
  ApiUnreachableError: failed,
  // Of recordings on disk.
  DirectoryInUseError: failed,
  DirectoryNotWritableError: failed,
  NetworkFileSystemError: failed,
  NotARecordingError: failed,
  NewerRecordingError: failed,
  OlderRecordingError: failed,
  DiskFullError: failed,
  ArchiveIoError: failed,
  CorruptArchiveError: failed,
  StoreUnreadableError: failed,
  RecordingDisturbedError: failed,
  RetentionOutranError: failed,
  UncommittedFramesError: failed,
  // Of streams.
  NoStreamError: failed,
  NewerStreamError: failed,
  SegmentDamagedError: failed,
  StreamBrokenError: failed,
  StreamChangedError: failed,
  RestoredUnsoundError: failed,
  ShardsRefused: usage,
  // Of facts.
  FactsError: failed,
  // Of kubeconfigs and what they name.
  NoClusterConfigured: failed,
  KubeconfigUnreadable: failed,
  KubeconfigInvalid: failed,
  ContextNotFound: failed,
  ContextIncomplete: failed,
  ContextMoved: failed,
  CredentialFileUnusable: failed,
  ExecPluginFailed: failed,
  AuthProviderFailed: failed,
  UnsupportedSetting: failed,
  // Of files and what is in them.
  OutputExists: usage,
  OutputFailed: failed,
  ExportInterrupted: interrupted,
  InputUnreadable: failed,
  BadTraceError: failed,
  DecompressionError: failed,
  SpoolError: failed,
  TargetError: failed,
  NotAReport: failed,
  NoRecording: failed,
  NothingToServe: failed,
  TokenFileError: failed,
  // Of replays and rehearsals.
  ReplayExists: failed,
  RecordedCluster: failed,
  TargetLacks: ({ refused }) => (refused.length === 0 ? notPermitted : failed),
  TargetUnusable: ({ isForbidden, isUnauthorized }) => (isForbidden || isUnauthorized ? notPermitted : failed),
  OutsideTrace: failed,
  BadExpectations: usage,
  KindNotInTrace: failed,
  RehearsalStalled: failed,
  RemovalIncomplete: failed,
  RemovalUnchecked: failed,
  ListenError: failed,
}

/** The tags of errors whose messages may name a failed connection without saying what to do. */
const withoutAdvice: ReadonlySet<string> = new Set(["ApiUnreachableError", "TargetUnusable", "RemovalIncomplete"])

const isKnown = (error: unknown): error is Failure =>
  error instanceof Error && "_tag" in error && Object.hasOwn(codes, String(error._tag))

/** Whether an error is one of a command. */
const isCommandError = (error: unknown): error is CommandError => error instanceof Error && "exitCode" in error

/** A line for people and an exit code; `undefined`: the error is a defect. */
export const failureOf = async (
  error: unknown,
): Promise<{ readonly line: string; readonly exitCode: ExitCode } | undefined> => {
  if (isCommandError(error)) {
    // A recorder's reasons are for programs too, so its times are in UTC.
    const isOfRecorder = "_tag" in error && error._tag === "ExportRefused"
    const line = isOfRecorder ? withLocalTimes(error.message, Date.now()) : error.message
    return { line, exitCode: error.exitCode }
  }
  if (!isKnown(error)) return undefined
  const known: ExitCode | ((failure: never) => ExitCode) = codes[error._tag]
  // The type of the table says that each function takes the failure of its tag.
  const exitCode = typeof known === "function" ? known(error as never) : known
  if (!withoutAdvice.has(error._tag) && error._tag !== "UnauthorizedError") return { line: error.message, exitCode }
  const { describeRefused, isRefusedError, withConnectionAdvice } = await import("./refused-credentials.ts")
  if (isRefusedError(error) || (error._tag === "TargetUnusable" && error.isUnauthorized))
    return { line: describeRefused(error.detail, undefined), exitCode: notPermitted }
  return { line: withConnectionAdvice(error.message), exitCode }
}

/** Runs what reads a trace and writes no file: an interruption then has an exit code and needs no sentence about a file. */
export const withoutFile = async (run: () => Promise<ExitCode>): Promise<ExitCode> => {
  try {
    return await run()
  } catch (error) {
    if (!isKnown(error) || error._tag !== "ExportInterrupted") throw error
    return interrupted
  }
}

/** Runs what reads a trace, and names the trace in faults of its content. */
export const reading = async <T>(name: () => string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (error) {
    if (!isKnown(error) || (error._tag !== "BadTraceError" && error._tag !== "DecompressionError")) throw error
    throw new CommandFailed(`${name()}: ${error.message}`)
  }
}
