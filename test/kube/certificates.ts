import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface KeyPair {
  /** PEM. */
  readonly certificate: string
  readonly key: string
}

/** An authority made for one test run, and the certificates it signed. */
export interface Certificates {
  /** PEM of the authority. */
  readonly authority: string
  /** For `localhost`, `127.0.0.1` and `::1`. */
  readonly server: KeyPair
  /** For `api.internal` only. */
  readonly elsewhere: KeyPair
  /** A client named `recorder`. */
  readonly client: KeyPair
  /** The same, but its certificate expired yesterday. */
  readonly expiredClient: KeyPair
}

/** Makes an authority and its certificates with openssl, in a temporary directory that is removed before this returns. */
export const makeCertificates = (): Certificates => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-certificates-"))
  const openssl = (...parameters: string[]): Buffer =>
    execFileSync("openssl", parameters, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] })
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  const read = (name: string): string => readFileSync(join(directory, name), "utf8")
  const sign = (name: string, subject: string, extensions: string, days = 2): KeyPair => {
    openssl("req", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject)
    writeFileSync(join(directory, `${name}.ext`), extensions)
    const authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      ...authority,
      "-days",
      String(days),
      "-extfile",
      `${name}.ext`,
      "-out",
      `${name}.pem`,
    )
    return { certificate: read(`${name}.pem`), key: read(`${name}.key`) }
  }
  try {
    openssl(
      "req",
      "-x509",
      ...newKey,
      "-keyout",
      "ca.key",
      "-out",
      "ca.pem",
      "-days",
      "2",
      "-subj",
      "/CN=test-authority",
    )
    return {
      authority: read("ca.pem"),
      server: sign("server", "/CN=server", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"),
      elsewhere: sign("elsewhere", "/CN=elsewhere", "subjectAltName=DNS:api.internal"),
      client: sign("client", "/O=recorders/CN=recorder", "extendedKeyUsage=clientAuth"),
      expiredClient: sign("expired", "/O=recorders/CN=recorder", "extendedKeyUsage=clientAuth", -1),
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
