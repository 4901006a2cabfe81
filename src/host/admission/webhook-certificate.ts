/**
 * The certificate of the webhooks of a process, kept in a Secret that its replicas share, or in memory.
 *
 * It is renewed when a third of its time is left. The authority before it stays trusted, so that replicas which still have the former certificate are
 * called meanwhile.
 */
import { X509Certificate } from "node:crypto"
import type { Clock } from "../../clock.ts"
import {
  AlreadyExistsError,
  type ApiClient,
  type ApiObject,
  ConflictError,
  type Kind,
  unlessNotFound,
} from "../../kube/index.ts"
import { makeServerCertificate, type ServerCertificate } from "./certificate.ts"

const dayMs = 86_400_000
/** Clocks of API servers may be behind. */
const validBeforeMs = dayMs
/** One that leaks is of use for as long; a host that is up renews it in time. */
const validMs = 90 * dayMs

interface WebhookCertificateOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "wallMicros">
  /** What it is for: a DNS name or an address. */
  readonly host: string
  /** Absent: in memory. */
  readonly secret?: { readonly namespace: string; readonly name: string } | undefined
}

export const secrets: Kind = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }

/** As far as it is read here. */
interface Secret extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

export class WebhookCertificate {
  readonly #options: WebhookCertificateOptions
  #held: ServerCertificate
  /** The authority that was last read from the Secret. */
  #shared = ""

  constructor(options: WebhookCertificateOptions) {
    this.#options = options
    this.#held = this.#make("")
  }

  /** The last one that was looked up; at first a new one. */
  get held(): ServerCertificate {
    return this.#held
  }

  /** Looks it up, and renews it if that is due. `authority` may be two. Rejects with ApiError. */
  async current(): Promise<ServerCertificate> {
    const { client, secret } = this.#options
    if (secret === undefined) {
      if (!this.#isUsable(this.#held)) this.#held = this.#make(this.#held.authority)
      return this.#held
    }
    for (;;) {
      const stored = await unlessNotFound(client.get<Secret>(secrets, secret))
      const kept = certificateIn(stored?.data ?? {})
      if (this.#isUsable(kept)) {
        this.#held = kept
        this.#shared = kept.authority
        return kept
      }
      const made = this.#make(kept.authority || this.#shared)
      try {
        const { metadata = secret } = stored ?? {}
        const object = { apiVersion: "v1", kind: "Secret", metadata, ...stored, data: dataOf(made) }
        if (stored === undefined) await client.create(secrets, object)
        else await client.update(secrets, object)
      } catch (error) {
        // Another replica was faster: its certificate counts.
        if (!(error instanceof ConflictError || error instanceof AlreadyExistsError)) throw error
      }
    }
  }

  #make(before: string): ServerCertificate {
    const nowMs = this.#options.clock.wallMicros() / 1000
    const notBeforeMs = nowMs - validBeforeMs
    const made = makeServerCertificate({ host: this.#options.host, notBeforeMs, notAfterMs: nowMs + validMs })
    const [last = ""] = /-----BEGIN[\s\S]*?-----END CERTIFICATE-----\n/.exec(before) ?? []
    return { ...made, authority: `${made.authority}${last}` }
  }

  #isUsable({ certificate, key, authority }: ServerCertificate): boolean {
    if (certificate === "" || key === "" || authority === "") return false
    try {
      const { validToDate, subjectAltName = "" } = new X509Certificate(certificate)
      const leftMs = validToDate.getTime() - this.#options.clock.wallMicros() / 1000
      return leftMs > validMs / 3 && subjectAltName.endsWith(`:${this.#options.host}`)
    } catch {
      // It is no certificate: a new one takes its place.
      return false
    }
  }
}

const certificateIn = (data: Readonly<Record<string, string>>): ServerCertificate => {
  const read = (name: string): string => Buffer.from(data[name] ?? "", "base64").toString("utf8")
  return { certificate: read("tls.crt"), key: read("tls.key"), authority: read("ca.crt") }
}

const dataOf = ({ certificate, key, authority }: ServerCertificate): Readonly<Record<string, string>> => {
  const written = (text: string): string => Buffer.from(text).toString("base64")
  return { "tls.crt": written(certificate), "tls.key": written(key), "ca.crt": written(authority) }
}
