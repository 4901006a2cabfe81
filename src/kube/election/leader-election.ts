/**
 * Leader election by a Lease, compatible with client-go's. A leader that cannot renew the Lease for `renewDeadlineMs`
 * stops leading before another process may take over, `leaseDurationMs` after it has last seen the Lease change. Only
 * durations on this machine's monotonic clock are compared, so wall clocks that differ do no harm.
 */

import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { ApiClient } from "../client/api-client.ts"
import { AlreadyExistsError, ConflictError, unlessNotFound } from "../client/api-errors.ts"
import { kinds } from "../client/kinds.ts"
import type { ApiObject } from "../client/objects.ts"
import { pause } from "../pause.ts"

export interface LeaderElectionOptions {
  /** Name of the Lease; the same for all processes of which one shall lead. */
  readonly name: string
  /** Default: the namespace of the kubeconfig's context, or of the pod. */
  readonly namespace?: string | undefined
  /** Unique among the processes. Default: {@link electionIdentity}. */
  readonly identity?: string | undefined
  /** ms without a sign of life after which others take over. Default 15,000, client-go's, like the next two. */
  readonly leaseDurationMs?: number | undefined
  /** ms for which the leader tries to renew before it gives up; less than `leaseDurationMs`. Default 10,000. */
  readonly renewDeadlineMs?: number | undefined
  /** ms between two attempts; more than double of it must fit into `renewDeadlineMs`. Default 2,000. */
  readonly retryPeriodMs?: number | undefined
  /** Hand the Lease over at the end, so that the next leader need not wait. Default true. */
  readonly releaseOnEnd?: boolean | undefined
}

/** The options with their defaults. */
export type ElectionSettings = {
  readonly [Name in keyof LeaderElectionOptions]-?: NonNullable<LeaderElectionOptions[Name]>
}

interface ElectorOptions extends ElectionSettings {
  readonly api: ApiClient
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly trouble: (detail: string) => void
  /** This process leads from now on. */
  readonly begin: () => void
  /** It no longer leads: everything must stop now. It runs for election again once this resolves. */
  readonly end: () => Promise<void>
  /** {@link LeaderElector.holder} is another one. Default: of no interest. */
  readonly holderChanged?: (() => void) | undefined
}

interface LeaseSpec {
  readonly holderIdentity?: string | null
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

type Lease = ApiObject & { readonly spec?: LeaseSpec }

/**
 * Largest random addition to the time between two attempts to acquire, as a part of it. client-go adds up to 1.2 times the time, so that a Lease that was
 * released is taken after up to 4.4 s; a few processes need less to not ask at the same moments.
 */
const jitter = 0.2

/** Retry periods that have to fit into the deadline of renewals, as in client-go. */
const deadlineRetries = 1.2

/** Who holds a Lease. */
interface LeaseHolder {
  readonly identity: string
  /** RFC 3339, by the holder's clock; `undefined` if it did not say. */
  readonly since: string | undefined
}

/** Unique for each call, and names the machine or the pod. */
export const electionIdentity = (): string => `${hostname()}_${randomBytes(6).toString("hex")}`

/** The default of each duration, and what is wrong with the given ones. */
export const electionTimes = ({
  leaseDurationMs = 15_000,
  renewDeadlineMs = 10_000,
  retryPeriodMs = 2000,
}: LeaderElectionOptions) => ({
  leaseDurationMs,
  renewDeadlineMs,
  retryPeriodMs,
  problem: !(leaseDurationMs >= 1000 && retryPeriodMs > 0)
    ? "leaseDurationMs must be at least 1,000 and retryPeriodMs more than 0"
    : leaseDurationMs <= renewDeadlineMs
      ? "leaseDurationMs must be more than renewDeadlineMs"
      : renewDeadlineMs <= deadlineRetries * retryPeriodMs
        ? `renewDeadlineMs must be more than ${deadlineRetries} times retryPeriodMs`
        : undefined,
})

export class LeaderElector {
  readonly #options: ElectorOptions
  /** The Lease as last seen, and the monotonic ms at which it was first seen so. */
  #observed: Lease | undefined
  #observedAt = Number.NEGATIVE_INFINITY
  /** Monotonic ms at which the last attempt began. */
  #askedAt = 0
  #isLeader = false
  #isClosed = false
  #running: Promise<void> = Promise.resolve()
  /** Ends the present wait and the present request. */
  #interrupt = new AbortController()
  /** Ends waits only. */
  readonly #closing = new AbortController()
  #reported: string | undefined

  constructor(options: ElectorOptions) {
    this.#options = options
  }

  get isLeader(): boolean {
    return this.#isLeader
  }

  /** As last seen; `undefined` before that, and if it was released. */
  get holder(): LeaseHolder | undefined {
    const { holderIdentity: identity, acquireTime: since } = this.#observed?.spec ?? {}
    return identity === undefined || identity === null || identity === "" ? undefined : { identity, since }
  }

  isOwn({ identity }: LeaseHolder): boolean {
    return identity === this.#options.identity
  }

  /** Runs for election until {@link LeaderElector.close}. */
  start(): void {
    this.#running = this.#campaign()
  }

  /**
   * Stops taking part. Call it once nothing acts on behalf of the leader any more: the Lease is released, unless `mayRelease` is false, and another process may
   * lead at once.
   */
  async close(mayRelease = true): Promise<void> {
    this.#isClosed = true
    this.#closing.abort()
    // A renewal under way must end by itself: otherwise the version of the Lease to release would be unknown.
    if (!this.#isLeader) this.#interrupt.abort()
    await this.#running
    if (this.#isLeader && mayRelease && this.#options.releaseOnEnd) await this.#release()
    this.#isLeader = false
  }

  async #campaign(): Promise<void> {
    const { retryPeriodMs, random, begin, end, name, namespace, trouble } = this.#options
    while (!this.#isClosed) {
      if (!(await this.#acquireOrRenew())) {
        await this.#pause(retryPeriodMs * (1 + jitter * random()))
        continue
      }
      this.#isLeader = true
      begin()
      await this.#keep()
      if (this.#isClosed) return
      this.#isLeader = false
      trouble(`leadership lost: the lease ${namespace}/${name} was not renewed in time`)
      await end()
      this.#interrupt = new AbortController()
    }
  }

  /** Resolves when the lease was not renewed in time, or is to be closed. */
  async #keep(): Promise<void> {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#options
    const { signal } = this.#interrupt
    let deadline: Timer | undefined
    // A timer, not a check after each attempt: a request that hangs must not keep a leader in office. Counted from the question, because the server may
    // have written the renewal at that moment.
    const extend = (): void => {
      deadline?.cancel()
      deadline = clock.after(renewDeadlineMs - (clock.monotonicMs() - this.#askedAt), () => this.#interrupt.abort())
    }
    extend()
    for (;;) {
      await this.#pause(retryPeriodMs)
      if (signal.aborted || this.#isClosed) break
      if (await this.#acquireOrRenew()) extend()
      else if (this.#isHeldByOther()) break
    }
    deadline?.cancel()
  }

  #isHeldByOther(): boolean {
    const { holder } = this
    return holder !== undefined && !this.isOwn(holder)
  }

  /** One attempt; never rejects. */
  async #acquireOrRenew(): Promise<boolean> {
    const { api, clock, leaseDurationMs, namespace, name, identity, trouble } = this.#options
    const options = { signal: this.#interrupt.signal }
    const now = microTime(clock)
    this.#askedAt = clock.monotonicMs()
    const mine: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    }
    try {
      const known = await unlessNotFound(api.get<Lease>(kinds.leases, { namespace, name }, options))
      if (known === undefined) {
        const metadata = { namespace, name }
        const created = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: mine }
        this.#observe(await api.create<Lease>(kinds.leases, created, options))
        return true
      }
      this.#observe(known)
      const { holderIdentity, acquireTime = now, leaseTransitions = 0, leaseDurationSeconds } = known.spec ?? {}
      const isMine = holderIdentity === identity
      // The holder's own duration counts: another release may have another one.
      const validMs = leaseDurationSeconds === undefined ? leaseDurationMs : leaseDurationSeconds * 1000
      if (this.#isHeldByOther() && this.#observedAt + validMs > clock.monotonicMs()) {
        this.#reported = undefined
        return false
      }
      const spec = isMine
        ? { ...known.spec, ...mine, acquireTime, leaseTransitions }
        : { ...known.spec, ...mine, leaseTransitions: leaseTransitions + 1 }
      this.#observe(await api.update<Lease>(kinds.leases, { ...known, spec }, options))
      this.#reported = undefined
      return true
    } catch (error) {
      // Another process was faster; the next attempt sees by how much.
      const isRace = error instanceof ConflictError || error instanceof AlreadyExistsError
      const detail = `lease ${namespace}/${name}: ${messageOf(error)}`
      // Once for each reason, not once for each attempt.
      if (!isRace && !options.signal.aborted && detail !== this.#reported) trouble(detail)
      if (!isRace) this.#reported = detail
      return false
    }
  }

  /** As long as the Lease stays the same, its time runs out. */
  #observe(lease: Lease): void {
    const before = this.#observed?.spec
    const { holderIdentity, renewTime, acquireTime } = lease.spec ?? {}
    const isSame =
      before?.holderIdentity === holderIdentity &&
      before?.renewTime === renewTime &&
      before?.acquireTime === acquireTime
    if (this.#observed === undefined || !isSame) this.#observedAt = this.#options.clock.monotonicMs()
    const { identity: former } = this.holder ?? {}
    this.#observed = lease
    if (this.holder?.identity !== former) this.#options.holderChanged?.()
  }

  async #release(): Promise<void> {
    const { api, clock, namespace, name, trouble } = this.#options
    if (this.#observed === undefined) return
    const now = microTime(clock)
    const times = { leaseDurationSeconds: 1, renewTime: now, acquireTime: now }
    const released = { ...this.#observed, spec: { ...this.#observed.spec, ...times, holderIdentity: "" } }
    try {
      await api.update(kinds.leases, released)
    } catch (error) {
      trouble(`lease ${namespace}/${name} not released: ${messageOf(error)}`)
    }
  }

  #pause(delayMs: number): Promise<void> {
    return pause(this.#options.clock, delayMs, this.#interrupt.signal, this.#closing.signal)
  }
}

/** metav1.MicroTime: RFC 3339 with µs. */
export const microTime = (clock: Clock): string => {
  const micros = clock.wallMicros()
  const fraction = String(micros % 1_000_000).padStart(6, "0")
  return `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19)}.${fraction}Z`
}
