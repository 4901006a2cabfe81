/** The errors of a replay as lines for people and exit codes. */
import {
  ArchiveIoError,
  CorruptArchiveError,
  NewerRecordingError,
  OlderRecordingError,
  RecordingDisturbedError,
} from "../../archive/archive-errors.ts"
import { TargetError } from "../../blob/target-error.ts"
import { isCredentialsError } from "../../kube/credentials/errors.ts"
import { messageOf } from "../../message-of.ts"
import { TokenFileError } from "../../recorder/access/token-file.ts"
import { withConnectionAdvice } from "../../recorder/status/trouble-advice.ts"
import { KindNotInTrace, RehearsalStalled } from "../../rehearsal/open-trace.ts"
import {
  OutsideTrace,
  RecordedCluster,
  ReplayExists,
  TargetLacks,
  TargetUnusable,
} from "../../simulation/replay/errors.ts"
import { NoRecording } from "../../simulation/source/recorded-directory.ts"
import { RemovalIncomplete, RemovalUnchecked } from "../../simulation/target/clean-up.ts"
import { InputUnreadable } from "../../trace/files/trace-input.ts"
import { DecompressionError } from "../../trace/formats/compression.ts"
import { BadTraceError } from "../../trace/formats/format.ts"
import { SpoolError } from "../../trace/spool.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { AddressUnavailable } from "../command-line/listening-server.ts"
import { describeRefused, isRefusedError } from "../command-line/refused-credentials.ts"
import { exitCodeOfExport, isExportError } from "../export/connection/export-errors.ts"
import type { Say } from "./replay-order.ts"
import { UnknownKind } from "./trace-kinds.ts"

/** Failures that a person can do something about. */
const known = [
  BadTraceError,
  DecompressionError,
  InputUnreadable,
  SpoolError,
  TargetError,
  NoRecording,
  AddressUnavailable,
  TokenFileError,
  NewerRecordingError,
  OlderRecordingError,
  CorruptArchiveError,
  RecordingDisturbedError,
  ArchiveIoError,
  ReplayExists,
  RecordedCluster,
  TargetLacks,
  TargetUnusable,
  OutsideTrace,
  KindNotInTrace,
  RehearsalStalled,
  RemovalIncomplete,
  UnknownKind,
]

/** Failures that a person can do something about become a line and an exit code. Rejects only for defects. */
export const reported = async (say: Say, run: () => Promise<ExitCode>): Promise<ExitCode> => {
  try {
    return await run()
  } catch (error) {
    const isOfExport = isExportError(error)
    if (isOfExport && error._tag === "ExportInterrupted") return exitCodes.interrupted
    if (!isOfExport && !isReportable(error)) throw error
    const isRefused = isRefusedError(error) || (error instanceof TargetUnusable && error.isUnauthorized)
    if (isOfExport) {
      // Its message has the advice for its own server.
      say(error.message)
      return exitCodeOfExport(error)
    }
    if (error instanceof UnknownKind) {
      say(error.message)
      return exitCodes.usage
    }
    say(isRefused ? describeRefused(error.detail, undefined) : withConnectionAdvice(error.message))
    return isRefused || isForbidden(error) ? exitCodes.notPermitted : exitCodes.failed
  }
}

const isForbidden = (error: unknown): boolean =>
  error instanceof TargetLacks ? error.refused.length === 0 : error instanceof TargetUnusable && error.isForbidden

/** Why something may be left in the cluster, and what to do. */
export const describeLeft = (error: unknown, name: string): string => {
  if (error instanceof RemovalIncomplete || error instanceof RemovalUnchecked) return error.message
  return `not everything was removed: ${messageOf(error)}; try again with reel replay --clean ${name}`
}

/** Whether a person can do something about it; anything else is a defect. Errors of exports are not asked for here. */
export const isReportable = (error: unknown): error is Error =>
  known.some((each) => error instanceof each) || isCredentialsError(error) || isApiError(error)

/** Every error of the API client has the question that it is about. */
const isApiError = (error: unknown): error is Error =>
  error instanceof Error && "_tag" in error && "verb" in error && "kind" in error
