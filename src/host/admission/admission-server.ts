/**
 * The webhooks of the controllers of one process: one HTTPS server with a path for each function, and their registration at the API server.
 *
 * Guaranteed:
 * - What is registered stays so until {@link AdmissionServer.remove}, also when the process ends, in whatever way: then the failure policy of each
 *   controller decides about writes, until a process with the same prefix runs again.
 * - Registrations that were removed or changed by others are restored within ten minutes.
 */
import type { Clock } from "../../clock.ts"
import { type ApiClient, type Kind, pause, ResourceFinder, unlessNotFound } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import type { ServerCertificate } from "./certificate.ts"
import {
  type AdmissionCall,
  type AdmissionOptions,
  type AdmissionTerms,
  certifiedHost,
  clientConfigOf,
  configurationKinds,
  configurationName,
  configurationOf,
  conversionOf,
  defaultPrefix,
  definitions,
  pathOf,
  secretName,
} from "./registration.ts"
import { mostBytes, type ReviewReply, ReviewServer } from "./review-server.ts"
import { WebhookCertificate } from "./webhook-certificate.ts"

interface AdmissionServerOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly admission: AdmissionOptions
  /** `owner`: of the controller. Never rejects. */
  readonly answer: (owner: string, terms: AdmissionTerms, call: AdmissionCall, body: string) => Promise<ReviewReply>
  /** Gets what an operator should see, each reason once. */
  readonly trouble: (detail: string) => void
}

/** ms between two looks at certificate and registrations, of which each is a request or two. */
const checkMs = 600_000
/** ms until a registration that has failed is tried again: its kind may be installed only then. */
const retryMs = 2000
/** ms in which API servers learn of a new authority, before a certificate of it is shown to them. */
const settleMs = 10_000

export class AdmissionServer {
  readonly #options: AdmissionServerOptions
  readonly #prefix: string
  readonly #finder: ResourceFinder
  readonly #certificate: WebhookCertificate
  readonly #owners = new Map<string, { readonly owner: string; readonly terms: AdmissionTerms }>()
  readonly #removed = new Set<string>()
  readonly #registered = new WeakSet<AdmissionTerms>()
  readonly #stopping = new AbortController()
  readonly #told = new Set<string>()
  #server: ReviewServer | undefined
  #served: ServerCertificate
  /** Whether the API server may know of it. */
  #isServedKnown = false
  #wake = new AbortController()

  private constructor(options: AdmissionServerOptions) {
    const { client, clock, admission } = options
    const { prefix = defaultPrefix, service } = admission
    this.#options = options
    this.#prefix = prefix
    this.#finder = new ResourceFinder(client.connection)
    const secret = service && { namespace: service.namespace, name: secretName(prefix) }
    this.#certificate = new WebhookCertificate({ client, clock, host: certifiedHost(admission), secret })
    this.#served = this.#certificate.held
  }

  /** Listens, and registers what it is given from then on. Rejects with the error of the socket. */
  static async start(options: AdmissionServerOptions): Promise<AdmissionServer> {
    const made = new AdmissionServer(options)
    const { trouble, admission } = options
    made.#server = await ReviewServer.start({
      ...admission.listen,
      certificate: made.#served,
      serves: (path) => made.#at(path) !== undefined,
      answer: (path, body) => made.#answer(path, body),
      onProblem: trouble,
    })
    void made.#follow()
    return made
  }

  /** On which it listens. */
  get port(): number {
    return this.#server?.port ?? 0
  }

  /** Controllers of which the API server does not know all webhooks yet. */
  get missing(): ReadonlyArray<string> {
    return [...this.#owners].flatMap(([name, { terms }]) => (this.#registered.has(terms) ? [] : [name]))
  }

  /** Replaces the webhooks of an owner. Those that it does not give any more are removed. */
  set(owner: string, given: ReadonlyArray<AdmissionTerms>): void {
    const names = new Set(given.map(({ controller }) => controller))
    for (const [name, { owner: of }] of this.#owners) if (of === owner && !names.has(name)) this.#drop(name)
    for (const terms of given) {
      const { controller } = terms
      const other = this.#owners.get(controller)
      if (other === undefined || other.owner === owner) this.#owners.set(controller, { owner, terms })
      else
        this.#options.trouble(
          `the webhooks of controller ${controller} of ${owner} are not served: ${other.owner} has one of that name`,
        )
    }
    this.#wake.abort()
  }

  remove(owner: string): void {
    this.set(owner, [])
  }

  /** Stops serving. What is registered stays. */
  async close(): Promise<void> {
    this.#stopping.abort()
    this.#wake.abort()
    await this.#server?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #drop(name: string): void {
    this.#owners.delete(name)
    this.#removed.add(name)
  }

  #at(path: string) {
    const [, controller = "", call = ""] = path.split("/")
    const found = this.#owners.get(controller)
    const known = found?.terms.calls.find((each) => each === call)
    return found === undefined || known === undefined ? undefined : { ...found, call: known }
  }

  async #answer(path: string, body: string | undefined): Promise<ReviewReply> {
    const found = this.#at(path)
    if (found === undefined) return { status: 404, text: "not found\n" }
    if (body === undefined) return { status: 413, text: `the body has more than ${mostBytes} bytes\n` }
    return this.#options.answer(found.owner, found.terms, found.call, body)
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#wake = new AbortController()
      const isDone = await this.#register()
      await pause(clock, isDone ? checkMs : retryMs, this.#wake.signal)
    }
  }

  /** Whether everything is registered. */
  async #register(): Promise<boolean> {
    const attempt = async (what: string, work: () => Promise<unknown>): Promise<boolean> => {
      try {
        await work()
        return true
      } catch (error) {
        this.#tell(`${what}: ${messageOf(error)}`)
        return false
      }
    }
    if (!(await attempt("the certificate of the webhooks", () => this.#certificate.current()))) return false
    const { held } = this.#certificate
    let isDone = true
    let isTrusted = true
    for (const name of [...this.#removed])
      isDone = (await attempt(`removing the webhooks of controller ${name}`, () => this.#delete(name))) && isDone
    for (const { terms } of this.#owners.values()) {
      const { controller } = terms
      if (await attempt(`webhooks of controller ${controller}`, () => this.#apply(terms, held.authority))) continue
      isDone = false
      isTrusted = isTrusted && !this.#registered.has(terms)
    }
    if (isTrusted) await this.#show(held)
    return isDone
  }

  /** Serves with the certificate, whose authority is registered. */
  async #show(held: ServerCertificate): Promise<void> {
    const isKnown = this.#isServedKnown
    this.#isServedKnown = true
    // One from the Secret is equal each time, but not the same.
    if (held.certificate === this.#served.certificate) return
    if (isKnown) await pause(this.#options.clock, settleMs, this.#stopping.signal)
    this.#server?.replaceCertificate(held)
    this.#served = held
  }

  async #apply(terms: AdmissionTerms, authority: string): Promise<void> {
    const { client, admission } = this.#options
    const { controller, calls } = terms
    const kinds = await Promise.all(terms.kinds.map((name) => this.#kindOf(name)))
    for (const call of calls) {
      const clientConfig = clientConfigOf(admission, this.port, pathOf(controller, call), authority)
      if (call === "convert") {
        const [{ plural = "", gvk } = {}] = kinds as ReadonlyArray<Partial<Kind>>
        const patch = { spec: { conversion: conversionOf({ url: null, service: null, ...clientConfig }) } }
        await client.patch(definitions, { name: `${plural}.${gvk?.group}` }, "merge", patch, {
          fieldManager: this.#prefix,
        })
        continue
      }
      const configuration = configurationOf(call, terms, {
        prefix: this.#prefix,
        kinds,
        clientConfig,
        ownNamespace: admission.service?.namespace,
      })
      const options = { fieldManager: this.#prefix, force: true }
      await client.apply(configurationKinds[call], configuration.metadata, configuration, options)
    }
    // Of a controller that has fewer functions than before.
    await this.#delete(controller, calls)
    this.#registered.add(terms)
    this.#told.clear()
  }

  /** Removes the configurations of a controller, except those of `kept`. */
  async #delete(controller: string, kept: ReadonlyArray<AdmissionCall> = []): Promise<void> {
    const name = configurationName(this.#prefix, controller)
    for (const call of ["validate", "mutate"] as const)
      if (!kept.includes(call)) await unlessNotFound(this.#options.client.delete(configurationKinds[call], { name }))
    this.#removed.delete(controller)
  }

  async #kindOf(name: string): Promise<Kind> {
    const gvk = parseGvk(name)
    if (gvk === undefined) throw new RangeError(`${name} is not a kind`)
    return this.#finder.find(gvk)
  }

  #tell(problem: string): void {
    if (this.#told.has(problem) || this.#stopping.signal.aborted) return
    this.#told.add(problem)
    this.#options.trouble(problem)
  }
}
