/**
 * The certificate of the webhooks of a process: in a Secret that its replicas share, or in memory. It is renewed when a third of its time is left; the
 * authority before it stays trusted, since replicas may still show the former certificate.
 */
import { createPrivateKey, X509Certificate } from "node:crypto"
import type { Clock } from "../../clock.ts"
import { type ApiClient, type ApiObject, type Kind, unlessNotFound } from "../../kube/index.ts"
import { makeServerCertificate, type ServerCertificate } from "./certificate.ts"

const dayMs = 86_400_000
/** Clocks of API servers may be behind. */
const validBeforeMs = dayMs
/** A key that leaks is of use for as long. */
const validMs = 90 * dayMs

/** `host`: what it is for, a DNS name or an address. `secret` absent: in memory. */
interface WebhookCertificateOptions {
  readonly client: ApiClient
  readonly clock: Pick<Clock, "wallMicros">
  readonly host: string
  readonly secret?: { readonly namespace: string; readonly name: string } | undefined
}

export const secrets: Kind = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }

/** By the names in a Secret. */
const files = { certificate: "tls.crt", key: "tls.key", authority: "ca.crt" } as const

export class WebhookCertificate {
  readonly #options: WebhookCertificateOptions
  /** The last one that was looked up; at first a new one. */
  held: ServerCertificate

  constructor(options: WebhookCertificateOptions) {
    this.#options = options
    this.held = this.#make("")
  }

  /** Looks it up, and renews it if that is due. Rejects with ApiError: with a conflict if another replica was faster. `authority` may be two. */
  async current(): Promise<ServerCertificate> {
    const { client, secret } = this.#options
    type Secret = ApiObject & { readonly data?: Readonly<Record<string, string>> }
    const stored = secret && (await unlessNotFound(client.get<Secret>(secrets, secret)))
    const read = (file: string): string => Buffer.from(stored?.data?.[file] ?? "", "base64").toString("utf8")
    const { certificate, key, authority } = files
    const kept = secret ? { certificate: read(certificate), key: read(key), authority: read(authority) } : this.held
    const next = this.#isUsable(kept) ? kept : this.#make(kept.authority)
    if (secret !== undefined && next !== kept) {
      const written = (text: string): string => Buffer.from(text).toString("base64")
      const data = {
        [certificate]: written(next.certificate),
        [key]: written(next.key),
        [authority]: written(next.authority),
      }
      const object = { apiVersion: "v1", kind: "Secret", metadata: secret, ...stored, data }
      await (stored === undefined ? client.create(secrets, object) : client.update(secrets, object))
    }
    this.held = next
    return next
  }

  /** `before`: the authority that stays trusted; perhaps two, of which the newer one is first. */
  #make(before: string): ServerCertificate {
    const nowMs = this.#options.clock.wallMicros() / 1000
    const validity = { notBeforeMs: nowMs - validBeforeMs, notAfterMs: nowMs + validMs }
    const made = makeServerCertificate({ host: this.#options.host, ...validity })
    const [last = ""] = /-----BEGIN[\s\S]*?-----END CERTIFICATE-----\n/.exec(before) ?? []
    return { ...made, authority: `${made.authority}${parsed(last) === undefined ? "" : last}` }
  }

  /** Whatever somebody has written into the Secret: what does not belong together would end the server, or be trusted by no API server. */
  #isUsable({ certificate, key, authority }: ServerCertificate): boolean {
    const shown = parsed(certificate)
    const issuer = parsed(authority)
    if (shown === undefined || issuer === undefined || !shown.verify(issuer.publicKey)) return false
    if (!isKeyOf(shown, key)) return false
    const { validToDate, subjectAltName = "" } = shown
    const leftMs = validToDate.getTime() - this.#options.clock.wallMicros() / 1000
    return leftMs > validMs / 3 && subjectAltName.endsWith(`:${this.#options.host}`)
  }
}

/** The first certificate of a PEM text; `undefined` if that is none. */
const parsed = (text: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(text)
  } catch {
    return undefined
  }
}

const isKeyOf = (certificate: X509Certificate, key: string): boolean => {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
