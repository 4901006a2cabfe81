/**
 * The certificate that the recorder's interface presents: `--tls-cert` and `--tls-key`, in files that may be replaced while it runs.
 *
 * Both are read every 5 s. A new pair is presented to new connections; those that exist continue. A pair that cannot be
 * used leaves the old one in force, and is logged once if it still cannot be used at the next look: who replaces two
 * files does it one after the other.
 */
import type { Server as HttpsServer } from "node:https"
import { createSecureContext } from "node:tls"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { readRegularFile } from "../../regular-file.ts"
import { whyUnreadable } from "../access/token-file.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import { elapsed } from "./body/races.ts"

/** Paths of PEM files. */
export interface CertificateFiles {
  /** The server's certificate, followed by those of intermediate authorities. */
  readonly certificate: string
  /** Its private key, not encrypted. */
  readonly key: string
}

/** The content of {@link CertificateFiles}, which TLS has accepted. */
export interface ServingCertificate {
  readonly cert: string
  readonly key: string
}

/** A file of the certificate cannot be used. The message contains nothing of its content. */
export class CertificateFileError extends Schema.TaggedError<CertificateFileError>()("CertificateFileError", {
  path: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `the TLS file ${this.path} cannot be used: ${this.reason}`
  }
}

/** Reads both files, and fails unless they are a pair that TLS accepts. */
export const readServingCertificate = (
  files: CertificateFiles,
): Effect.Effect<ServingCertificate, CertificateFileError> =>
  Effect.gen(function* () {
    const read = (path: string): Effect.Effect<string, CertificateFileError> =>
      Effect.tryPromise({
        try: () => readRegularFile(path),
        catch: (cause) => new CertificateFileError({ path, reason: whyUnreadable(cause) }),
      })
    const pair = { cert: yield* read(files.certificate), key: yield* read(files.key) }
    const accept = (path: string, parts: Partial<ServingCertificate>, fault: string) =>
      Effect.try({
        try: () => createSecureContext(parts),
        catch: (cause) => {
          const isOther = /key values mismatch/.test(messageOf(cause))
          return new CertificateFileError({
            path,
            reason: isOther ? `it is not the key of the certificate in ${files.certificate}` : fault,
          })
        },
      })
    yield* accept(files.certificate, { cert: pair.cert }, "it is no certificate in PEM")
    yield* accept(files.key, pair, "it is no private key in PEM without a passphrase")
    return pair
  })

/** ms between two looks at the files. */
const lookMs = 5000

/** Presents what the files hold from now on, for as long as the effect runs. */
export const followServingCertificate = (
  server: Pick<HttpsServer, "setSecureContext">,
  files: CertificateFiles,
  presented: ServingCertificate,
  { log, clock }: { readonly log: Pick<RecorderLog, "info" | "warn">; readonly clock: Clock },
): Effect.Effect<never> =>
  Effect.gen(function* () {
    let inForce = presented
    let fault = ""
    let said = ""
    while (true) {
      yield* elapsed(clock, lookMs)
      const read = yield* Effect.result(readServingCertificate(files))
      if (Result.isFailure(read)) {
        const { message } = read.failure
        if (message === fault && message !== said) {
          log.warn(`${message}; the interface keeps presenting the certificate that it has`)
          said = message
        }
        fault = message
        continue
      }
      const isNew = read.success.cert !== inForce.cert || read.success.key !== inForce.key
      if (isNew) server.setSecureContext(read.success)
      if (isNew || said !== "") log.info(`the interface presents the certificate in ${files.certificate}`)
      inForce = read.success
      fault = said = ""
    }
  })
