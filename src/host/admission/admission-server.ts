/**
 * The webhooks of the controllers of one process: one HTTPS server, and their registration at the API server.
 *
 * What is registered stays until {@link AdmissionServer.set} leaves it out, also when the process ends, in whatever way: then the failure policy of each
 * controller decides, until a process with the same prefix runs again. What others change of it is restored within ten minutes.
 */
import { X509Certificate } from "node:crypto"
import type { Clock } from "../../clock.ts"
import { type ApiClient, pause, ResourceFinder, unlessNotFound } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import { BackOff, type BackOffPolicy } from "../../runtime/index.ts"
import {
  type AdmissionCall,
  type AdmissionTerms,
  certifiedHost,
  clientConfigOf,
  configurationKinds,
  configurationName,
  configurationOf,
  defaultPrefix,
  definitions,
  secretName,
  type WebhookAddress,
} from "./registration.ts"
import { type ReviewRequest, ReviewServer } from "./review-server.ts"
import { WebhookCertificate } from "./webhook-certificate.ts"

interface AdmissionServerOptions {
  readonly client: ApiClient
  readonly clock: Clock
  /** In [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined
  readonly address: WebhookAddress
  /** `owner`: of the controller. Returns the response of the review. */
  readonly answer: (
    owner: string,
    terms: AdmissionTerms,
    call: AdmissionCall,
    request: ReviewRequest,
  ) => Promise<object>
  /** Gets what an operator should see. */
  readonly trouble: (detail: string) => void
}

/** ms between two looks at certificate and registrations, of which each is a request or two. */
const checkMs = 600_000
/** Until what has failed is tried again: the kind of a controller may be installed only then, and a module is not ready before. */
const retries: BackOffPolicy = { initialMs: 2000, maximumMs: 30_000, factor: 2, jitter: 0.5, resetAfterMs: checkMs }
/** ms after the start at which configurations without a controller are looked for: modules that wait for credentials or other files are loaded by then. */
const settledMs = 60_000
/** ms before the end of a certificate at which the next one is shown in any case. */
const lastMs = 86_400_000
/** ms in which API servers learn of a new authority, before a certificate of it is shown to them. */
const settleMs = 10_000

/** Without calls: it is to be removed. */
interface Entry {
  readonly owner: string
  readonly terms: AdmissionTerms
  isRegistered: boolean
  /** The one that it was last registered with; `undefined`: it is to be registered. */
  authority: string | undefined
}

export class AdmissionServer {
  readonly #options: AdmissionServerOptions
  readonly #prefix: string
  readonly #finder: ResourceFinder
  readonly #certificate: WebhookCertificate
  /** By the names of controllers. */
  readonly #entries = new Map<string, Entry>()
  readonly #stopping = new AbortController()
  #server: ReviewServer | undefined
  #wake = new AbortController()

  private constructor(options: AdmissionServerOptions) {
    const { client, clock, address } = options
    const { prefix = defaultPrefix, service } = address
    this.#options = options
    this.#prefix = prefix
    this.#finder = new ResourceFinder(client.connection)
    const secret = service && { namespace: service.namespace, name: secretName(prefix) }
    this.#certificate = new WebhookCertificate({ client, clock, host: certifiedHost(address), secret })
  }

  /** Listens, and registers what it is given from then on. Rejects with the error of the socket. */
  static async start(options: AdmissionServerOptions): Promise<AdmissionServer> {
    const made = new AdmissionServer(options)
    made.#server = await ReviewServer.start({
      ...options.address.listen,
      clock: options.clock,
      certificate: made.#certificate.held,
      at: (path) => made.#at(path),
      onProblem: options.trouble,
    })
    void made.#follow()
    void made.#reportLeft()
    return made
  }

  /** Controllers of which the API server does not know all webhooks yet. */
  get missing(): ReadonlyArray<string> {
    return [...this.#entries].flatMap(([name, { isRegistered }]) => (isRegistered ? [] : [name]))
  }

  /** Replaces the webhooks of an owner. Those that it does not give any more are removed. */
  set(owner: string, given: ReadonlyArray<AdmissionTerms>): void {
    for (const entry of this.#entries.values())
      if (entry.owner === owner) this.#put(owner, { ...entry.terms, calls: [] })
    for (const terms of given) {
      const other = this.#entries.get(terms.controller)
      // One without calls is about to be removed: its module may have got another name.
      if (other === undefined || other.owner === owner || other.terms.calls.length === 0) this.#put(owner, terms)
      else
        this.#options.trouble(
          `controller ${terms.controller} of ${owner} gets no webhooks: ${other.owner} has one of that name`,
        )
    }
    this.#wake.abort()
  }

  /** Stops serving. What is registered stays. A second call has no effect. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    this.#wake.abort()
    await this.#server?.close()
  }

  #put(owner: string, terms: AdmissionTerms): void {
    this.#entries.set(terms.controller, { owner, terms, isRegistered: false, authority: undefined })
  }

  #at(path: string): ((request: ReviewRequest) => Promise<object>) | undefined {
    const [, controller = "", named = ""] = path.split("/")
    const { owner = "", terms } = this.#entries.get(controller) ?? {}
    const call = terms?.calls.find((each) => each === named)
    return terms && call && ((request) => this.#options.answer(owner, terms, call, request))
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { clock, random = Math.random, trouble } = this.#options
    const { signal } = this.#stopping
    const backOff = new BackOff(retries, random)
    let told = ""
    let shown: string | undefined
    let checkedMs = Number.NEGATIVE_INFINITY
    while (!signal.aborted) {
      this.#wake = new AbortController()
      const problems: string[] = []
      const attempt = (what: string, work: () => Promise<void>): Promise<void> =>
        work().catch((error: unknown) => void problems.push(`${what}: ${messageOf(error)}`))
      if (clock.monotonicMs() - checkedMs >= checkMs) {
        checkedMs = clock.monotonicMs()
        for (const entry of this.#entries.values()) entry.authority = undefined
      }
      // Each time: another replica may have renewed it, and a registration with the authority before would make what that one shows untrusted.
      await attempt("the certificate of the webhooks", async () => void (await this.#certificate.current()))
      const { held } = this.#certificate
      if (problems.length === 0) {
        // No registration has the authority of the certificate that was made at the start, unless that is this one.
        if (shown === undefined) this.#server?.replaceCertificate(held)
        shown ??= held.certificate
        for (const entry of [...this.#entries.values()])
          if (entry.authority !== held.authority)
            await attempt(`webhooks of controller ${entry.terms.controller}`, () =>
              this.#register(entry, held.authority),
            )
        // One registration that fails for good, such as that of a kind that is gone, must not keep all webhooks at a certificate that ends.
        if (held.certificate !== shown && (problems.length === 0 || this.#endsSoon(shown))) {
          await pause(clock, settleMs, signal)
          this.#server?.replaceCertificate(held)
          shown = held.certificate
        }
      }
      if (problems.join() !== told && !signal.aborted) for (const problem of problems) trouble(problem)
      told = problems.join()
      const untilCheckMs = checkedMs + checkMs - clock.monotonicMs()
      if (problems.length === 0) backOff.reset()
      const retryMs = problems.length === 0 ? checkMs : backOff.next(clock.monotonicMs())
      await pause(clock, Math.min(untilCheckMs, retryMs), this.#wake.signal)
    }
  }

  /** Reports once the registrations of controllers that are not here any more: they stay until an operator removes them, and with `Fail` they refuse writes. Never rejects. */
  async #reportLeft(): Promise<void> {
    const { client, clock, trouble } = this.#options
    const { signal } = this.#stopping
    await pause(clock, settledMs, signal)
    const labelSelector = `app.kubernetes.io/managed-by=kubereel,app.kubernetes.io/instance=${this.#prefix}`
    for (const kind of Object.values(configurationKinds)) {
      if (signal.aborted) return
      const resource = kind.gvk.kind.toLowerCase()
      try {
        const { items } = await client.list(kind, { labelSelector, signal })
        const known = new Set([...this.#entries.keys()].map((name) => configurationName(this.#prefix, name)))
        for (const { metadata } of items)
          if (!known.has(metadata.name))
            trouble(
              `no module that runs has the webhooks of ${resource} ${metadata.name}; if its module is gone, remove them with: kubectl delete ${resource} ${metadata.name}`,
            )
      } catch (error) {
        if (!signal.aborted)
          trouble(
            `webhooks of modules that are gone cannot be looked for (${messageOf(error)}); grant list on ${kind.plural}.${kind.gvk.group}, or see: kubectl get ${resource} -l ${labelSelector}`,
          )
      }
    }
  }

  #endsSoon(certificate: string): boolean {
    const endMs = new X509Certificate(certificate).validToDate.getTime()
    return endMs - this.#options.clock.wallMicros() / 1000 < lastMs
  }

  /** Applies the configurations of a controller, and removes those of functions that it does not have any more. */
  async #register(entry: Entry, authority: string): Promise<void> {
    const { client, address } = this.#options
    const { controller, calls } = entry.terms
    const configOf = (call: AdmissionCall) =>
      clientConfigOf(address, this.#server?.port ?? 0, `/${controller}/${call}`, authority)
    const kinds = calls.length === 0 ? [] : await Promise.all(entry.terms.kinds.map((name) => this.#kindOf(name)))
    for (const call of ["validate", "mutate"] as const) {
      const name = configurationName(this.#prefix, controller)
      const configuration = configurationOf(call, entry.terms, address, kinds, configOf(call))
      const options = { fieldManager: this.#prefix, force: true }
      if (calls.includes(call)) await client.apply(configurationKinds[call], { name }, configuration, options)
      else await unlessNotFound(client.delete(configurationKinds[call], { name }))
    }
    const [subject] = kinds
    if (subject !== undefined && calls.includes("convert")) {
      const clientConfig = { url: null, service: null, ...configOf("convert") }
      const conversion = { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } }
      const name = `${subject.plural}.${subject.gvk.group}`
      await client.patch(definitions, { name }, "merge", { spec: { conversion } }, { fieldManager: this.#prefix })
    }
    entry.isRegistered = true
    entry.authority = authority
    if (calls.length === 0 && this.#entries.get(controller) === entry) this.#entries.delete(controller)
  }

  #kindOf(name: string) {
    const gvk = parseGvk(name)
    return gvk === undefined ? Promise.reject(new RangeError(`${name} is no kind`)) : this.#finder.find(gvk)
  }
}
