/** The certificate of a driver's webhook, as the kubelet mounts it. */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { messageOf } from "../../message-of.ts"
import { DriverFailure } from "../../simulation/driver/driver-failure.ts"
import type { WebhookIdentity } from "../../simulation/driver/driver-webhook.ts"

/** Rejects with a DriverFailure if a file cannot be read, is not PEM, or the two do not belong together. */
export const readPemFiles = async (certPath: string, keyPath: string): Promise<WebhookIdentity> => {
  const [certificate, key] = await Promise.all([read("--cert-path", certPath), read("--key-path", keyPath)])
  const parsed = parsedBy(`--cert-path ${certPath} is no certificate`, () => new X509Certificate(certificate))
  const secret = parsedBy(`--key-path ${keyPath} is no private key`, () => createPrivateKey(key))
  if (!parsed.checkPrivateKey(secret))
    throw unusable(`the key in ${keyPath} is not that of the certificate in ${certPath}`)
  return { certificate, key }
}

const read = async (option: string, path: string): Promise<string> => {
  try {
    return await readFile(path, "utf8")
  } catch (error) {
    throw unusable(`${option} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? messageOf(error)}`)
  }
}

const parsedBy = <Parsed>(complaint: string, parse: () => Parsed): Parsed => {
  try {
    return parse()
  } catch (error) {
    throw unusable(`${complaint}: ${messageOf(error)}`)
  }
}

const unusable = (what: string): DriverFailure =>
  new DriverFailure({
    problem: `the webhook's certificate cannot be used: ${what}; the Secret of the Job must have tls.crt and tls.key, as PEM`,
  })
