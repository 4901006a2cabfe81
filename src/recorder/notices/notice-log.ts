/**
 * The recorder's log of its own state, for someone who reads it the next morning: everything that is news, once.
 *
 * A server that is down for a night makes each kind fail and retry hundreds of times for the same reason. Only the first
 * failure is logged, until the reason changes or the kind has been well for a second; a trouble of the server itself once for
 * all kinds, kinds that are forbidden within a second in one line, and likewise watches that are cut (cut-watches.ts). The repetitions are logged at debug level.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { KindState } from "../../kube/index.ts"
import { describeForbidden } from "../status/forbidden-kinds.ts"
import type { KindStatuses } from "../status/kind-status.ts"
import { type ServerTrouble, serverTrouble } from "../status/server-trouble.ts"
import { CutWatches } from "./cut-watches.ts"
import type { ArchiveNotice, RecorderNotice } from "./recorder-notice.ts"

/** Where a recorder logs. */
export interface RecorderLog {
  error(message: string, facts?: Readonly<Record<string, unknown>>): void
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void
}

/** ms that a kind must be well before its recovery is logged: each attempt begins as if it succeeded. */
const settleMs = 1000

/** ms in which refusals are gathered: what a user may not watch, the server refuses in the first round of requests. */
const gatherMs = 1000

/**
 * ms after which the same trouble of the store or the credentials is logged again: events are lost unless an operator
 * acts.
 */
const reminderMs = 60_000

/** The meaning of a relist, for the reader of the log; the watcher reports the reason of the gap. */
const relistMeanings: ReadonlyMap<string, string> = new Map([
  ["expired", "the server no longer has the changes since the last recorded version; a gap is recorded"],
  ["overload", "reading was suspended for so long that the server no longer has the changes; a gap is recorded"],
  ["cluster-restored", "this is a different cluster than before, or one restored from a backup; a gap is recorded"],
])

/** ms between two lines about a stream that is being restored. */
const restoreLineMs = 60_000

/** By what goes on all the same: what cannot be done, and what is. */
const archiveTrouble: Readonly<Record<ArchiveNotice["meanwhile"], readonly [string, string]>> = {
  starting: ["where the recording is archived cannot be reached", "Recording begins all the same in half a minute"],
  restoring: ["the stream cannot be restored", "Nothing is recorded until it is; the recorder keeps retrying"],
  recording: ["the recording cannot be archived", "Recording continues"],
}

type KindNotice = Extract<RecorderNotice, { type: "kind" }>

/** All kinds together: if they are many, one line says that they are watched. */
type Crowd = Pick<KindStatuses, "isCrowded" | "isListed" | "all">

export class NoticeLog {
  readonly #crowd: () => Crowd | undefined
  /** The last log line about all kinds together: how many kinds there were, and whether all of them were watched. */
  #toldTogether = { kinds: 0, wereAll: true }

  #toldOfRestoreMs = Number.NEGATIVE_INFINITY
  readonly #log: RecorderLog
  readonly #clock: Clock
  readonly #expired: () => string | undefined
  /** The last logged state of each kind, with its reason. */
  readonly #logged = new Map<string, { readonly state: KindState; readonly reason: string }>()
  /** Lists that leave gaps and began while their kind was failing: logged when it recovers, which may take less than {@link settleMs}. */
  readonly #unloggedGaps = new Map<string, string>()
  /** Recoveries that are not logged yet. */
  readonly #settling = new Map<string, Timer>()
  /** Kinds that have been forbidden since the last line about that, with their reasons. */
  readonly #forbidden = new Map<string, string>()
  #gathering: Timer | undefined
  readonly #cuts: CutWatches
  /** The kinds that suffer from each trouble of the server, which is logged with the first of them. */
  readonly #suffering = new Map<string, Set<string>>()
  /** What is in the recording was recorded by another recorder. */
  #isRestored = false
  /** UID of the namespace kube-system, once known. */
  #cluster: string | undefined
  /** Last logged trouble of the store and of the credentials. */
  readonly #troubles = new Map<string, { readonly reason: string; readonly atMs: number }>()

  /** `expired`: which credentials have expired, if they say so themselves. `crowd`: all kinds, once they are known; default: few. */
  constructor(
    log: RecorderLog,
    clock: Clock,
    expired: () => string | undefined = () => undefined,
    crowd: () => Crowd | undefined = () => undefined,
  ) {
    this.#crowd = crowd
    this.#log = log
    this.#clock = clock
    this.#expired = expired
    this.#cuts = new CutWatches(log, clock)
  }

  hear(notice: RecorderNotice): void {
    const log = this.#log
    switch (notice.type) {
      case "kind":
        return this.#hearOfKind(notice)
      case "actor":
        if (notice.state === "backing-off") {
          // Whatever it reports after the restart is news again.
          if (notice.gvk !== undefined) {
            this.#logged.delete(notice.gvk)
            this.#heal(notice.gvk)
          }
          return log.warn(`${notice.name} stopped and is being restarted`, { reason: notice.reason })
        }
        return log.debug(`${notice.name} ${notice.state}`, notice.state === "gave-up" ? { reason: notice.reason } : {})
      case "store":
        if (notice.trouble === undefined) return this.#relief("store", "the recording can be written again")
        return this.#trouble(
          "store",
          `the recording cannot be written: ${notice.trouble} Nothing is dropped; the recorder keeps retrying`,
          notice.isCertain ? "error" : "warn",
        )
      case "credentials":
        if (notice.trouble === undefined) return this.#relief("credentials", "credentials can be refreshed again")
        return this.#trouble("credentials", `credentials cannot be refreshed: ${notice.trouble}`)
      case "distrusted":
        return log.error(
          `the disk has lost what was written to it; recording continues from what is there, or anew: ${notice.reason}`,
        )
      case "set-aside":
        return log.error(
          `the recording is damaged and was set aside in ${notice.path}; a new one begins with a gap. ` +
            `reel store salvage --data-dir ${notice.path} --to DIR copies what is sound of it`,
          { reason: notice.reason },
        )
      case "retention":
        if (notice.trouble === undefined) return this.#relief("retention", "old events are removed again")
        return this.#trouble("retention", `old events cannot be removed: ${notice.trouble} Recording continues`)
      case "archive":
        if (notice.trouble === undefined) return this.#relief("archive", "the recording is archived again")
        return this.#trouble(
          "archive",
          `${archiveTrouble[notice.meanwhile][0]}: ${notice.trouble}. ${archiveTrouble[notice.meanwhile][1]}`,
        )
      case "restoring":
        return this.#restoring(notice)
      case "restored":
        this.#isRestored = true
        if (notice.lostBlocks > 0)
          log.warn(`damaged before they were archived, and gaps now: ${notice.lostBlocks} blocks of the stream`)
        if (notice.setAside !== "")
          log.warn(
            `the recording that was in the directory is in ${notice.setAside}: another recorder went on with its stream`,
          )
        return log.info(`continuing the stream after segment ${notice.segment}, in epoch ${notice.epoch}`)
      case "exposed":
        return log.warn(notice.message)
      case "owners":
        return log.warn(notice.trouble)
      case "stopped-kind":
        return log.error(`${notice.gvk} is no longer recorded: ${notice.error.message}`)
      case "refused":
        return log.error(
          `the store rejected data from ${notice.name}, which is restarted from the last recorded state`,
          { reason: notice.reason },
        )
      case "redaction-key":
        if ("made" in notice)
          return log.warn(
            `values are redacted with a new key in ${notice.made}: anyone with this directory can test guesses. ` +
              `A key outside of it is given with --redact-key-file${this.#isRestored ? otherKey : ""}`,
          )
        if (notice.trouble === undefined) return this.#relief("redaction-key", "there is a key for redacted values")
        return this.#trouble(
          "redaction-key",
          `kinds with redacted values are not recorded yet: ${notice.trouble}. The recorder keeps retrying`,
        )
      case "placement":
        return log.debug(notice.sentence)
      case "unwritten":
        return log.error(`the recording was closed before this could be written: ${notice.what}`)
    }
  }

  /** At once, and then once a minute. */
  #restoring({ address, segments, allSegments, bytes }: Extract<RecorderNotice, { type: "restoring" }>): void {
    const nowMs = this.#clock.monotonicMs()
    if (segments > 0 && nowMs - this.#toldOfRestoreMs < restoreLineMs) return
    this.#toldOfRestoreMs = nowMs
    const reached = segments === 0 ? "" : `: ${segments} of ${allSegments} segments`
    this.#log.info(`restoring the stream at ${address}${reached}; recording begins when that is done`, { bytes })
  }

  /** Logs refusals that are waiting for others, and drops recoveries. */
  close(): void {
    this.#tellForbidden()
    this.#cuts.close()
    for (const timer of this.#settling.values()) timer.cancel()
    this.#settling.clear()
  }

  #hearOfKind({ gvk, report }: KindNotice): void {
    const log = this.#log
    switch (report.type) {
      case "state":
        this.#cuts.state(gvk, report.state)
        return this.#state(gvk, report.state, report.detail)
      case "cut":
        return this.#cuts.cut(gvk, report.detail)
      case "alarm":
        return log.warn(`${gvk}: ${report.detail}`)
      case "resource":
        return
      case "unauthorized":
        // The state that follows is logged, once for all kinds.
        return log.debug(`${gvk}: the server does not accept the credentials (401); refreshing them`)
      case "cluster":
        if (this.#cluster !== report.uid) {
          const write = this.#cluster === undefined ? log.debug : log.warn
          write(`namespace kube-system has UID ${report.uid}`, { before: this.#cluster })
        }
        this.#cluster = report.uid
        return
      case "event": {
        const action = report.action === "applied" ? "ObjectApplied" : "ObjectDeleted"
        const name = report.namespace === "" ? report.name : `${report.namespace}/${report.name}`
        return log.debug(`${action} @ ${new Date(report.timeMicros / 1000).toISOString()}: ${gvk} ${name}`)
      }
    }
  }

  #state(gvk: string, state: KindState, detail: string): void {
    this.#settling.get(gvk)?.cancel()
    this.#settling.delete(gvk)
    if (state !== "forbidden") this.#forbidden.delete(gvk)
    const logged = this.#logged.get(gvk)
    // After a restart it may take minutes; otherwise it is over in a moment.
    if (state === "catching-up" && logged !== undefined) return this.#log.debug(`${gvk} ${state}: ${detail}`)
    // Durations and sizes differ each time.
    const shared = isTrouble(state) ? serverTrouble(detail) : undefined
    const reason = isTrouble(state) ? (shared?.cause ?? detail.replace(/\d+/g, "#")) : ""
    const relist = state === "listing" ? relistMeanings.get(detail) : undefined
    const line = `${gvk} ${state}: ${relist ?? detail}`
    if (state === "stopped") {
      this.#logGap(gvk)
      this.#heal(gvk)
    }
    if (state === "stopped" || (logged?.state === state && logged.reason === reason)) return this.#log.debug(line)
    if (relist !== undefined) this.#unloggedGaps.set(gvk, line)
    const write = (): void => {
      this.#settling.delete(gvk)
      if (relist !== undefined) this.#unloggedGaps.delete(gvk)
      if (!isTrouble(state)) this.#logGap(gvk)
      this.#logged.set(gvk, { state, reason })
      const isNews = this.#isNews(gvk, shared)
      if (state === "forbidden") this.#gather(gvk, detail, line)
      else if (!isNews) this.#log.debug(line)
      else if (shared !== undefined) this.#log.warn(this.#describeShared(shared))
      else if (isTrouble(state) || relist !== undefined) this.#log.warn(line)
      else if (this.#crowd()?.isCrowded === true) this.#log.debug(line)
      else this.#log.info(line)
      this.#tellTogether()
    }
    if (logged === undefined || !isTrouble(logged.state) || isTrouble(state)) return write()
    this.#log.debug(line)
    this.#settling.set(gvk, this.#clock.after(settleMs, write))
  }

  /** Once after each change of their number, when none is in its first list; and once more when those that were not watched then are. */
  #tellTogether(): void {
    const crowd = this.#crowd()
    if (crowd === undefined || !crowd.isCrowded || !crowd.isListed) return
    const kinds = crowd.all()
    const watched = kinds.filter(({ state }) => state === "watching").length
    const areAll = watched === kinds.length
    const told = this.#toldTogether
    if (kinds.length === told.kinds && (told.wereAll || !areAll)) return
    this.#toldTogether = { kinds: kinds.length, wereAll: areAll }
    this.#log.info(areAll ? `all ${watched} kinds are watched` : `${watched} of ${kinds.length} kinds are watched`)
  }

  #gather(gvk: string, detail: string, line: string): void {
    this.#log.debug(line)
    this.#forbidden.set(gvk, detail)
    this.#gathering ??= this.#clock.after(gatherMs, () => this.#tellForbidden())
  }

  #tellForbidden(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    if (this.#forbidden.size > 0) this.#log.warn(describeForbidden(this.#forbidden))
    this.#forbidden.clear()
  }

  #describeShared({ cause, subject, detail }: ServerTrouble): string {
    const expired = cause === "credentials" ? this.#expired() : undefined
    return `${subject}${expired === undefined ? "" : ` (${expired})`}: ${detail}`
  }

  /** Notes which trouble of the server the kind suffers from, if any. False if another kind suffers from it already. */
  #isNews(gvk: string, shared: ServerTrouble | undefined): boolean {
    const kinds = shared && this.#suffering.get(shared.cause)
    const isKnown = kinds !== undefined && [...kinds].some((other) => other !== gvk)
    this.#heal(gvk)
    if (shared !== undefined) this.#suffering.set(shared.cause, new Set([...(kinds ?? []), gvk]))
    return !isKnown
  }

  /** The kind does not suffer from any trouble of the server any more. */
  #heal(gvk: string): void {
    for (const [cause, kinds] of this.#suffering)
      if (kinds.delete(gvk) && kinds.size === 0) this.#suffering.delete(cause)
  }

  #logGap(gvk: string): void {
    const line = this.#unloggedGaps.get(gvk)
    this.#unloggedGaps.delete(gvk)
    if (line !== undefined) this.#log.warn(line)
  }

  #trouble(of: string, message: string, level: "error" | "warn" = "error"): void {
    const before = this.#troubles.get(of)
    const nowMs = this.#clock.monotonicMs()
    if (before?.reason === message && nowMs - before.atMs < reminderMs) return this.#log.debug(message)
    this.#troubles.set(of, { reason: message, atMs: nowMs })
    this.#log[level](message)
  }

  #relief(of: string, message: string): void {
    if (this.#troubles.delete(of)) this.#log.info(message)
  }
}

const otherKey =
  ". The recorder before this one had another key: kinds with redacted values are listed again, with a gap. Recorders of one stream need one key"

const isTrouble = (state: KindState): boolean => state === "failing" || state === "forbidden"
