/**
 * What a recorder of eight kinds says when it cannot connect: one message for each cause, in words, with what to do; and it is not ready.
 */
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { startForwardProxy } from "../../kube/http/connect-proxy.ts"
import { type ClusterEntry, type RecorderProcess, Workplace } from "./recorder-command.ts"

const kinds = Object.fromEntries(
  [
    "v1.ConfigMap",
    "v1.Pod",
    "v1.Service",
    "apps/v1.DaemonSet",
    "apps/v1.Deployment",
    "apps/v1.ReplicaSet",
    "batch/v1.CronJob",
    "batch/v1.Job",
  ].map((gvk) => [gvk, "{}"]),
)

const certificates = makeCertificates()
const encoded = (pem: string): string => Buffer.from(pem).toString("base64")
const authority = { "certificate-authority-data": encoded(certificates.authority) }
const tls = { key: certificates.server.key, cert: certificates.server.certificate }
const clientOf = ({ certificate, key }: { readonly certificate: string; readonly key: string }) => ({
  "client-certificate-data": encoded(certificate),
  "client-key-data": encoded(key),
})

interface Case {
  /** All that is logged as a warning or an error. */
  readonly said: RegExp
  readonly code: number
  readonly cluster: ClusterEntry
}

/** A server, what is wrong with the way to it, and how to end it. */
const cases: Readonly<Record<string, () => Promise<Case & AsyncDisposable>>> = {
  "a port where nothing listens": async () => ({
    cluster: { server: "https://127.0.0.1:1" },
    said: /^the API server cannot be reached: 127\.0\.0\.1:1: connection refused; is the API server running, and is the server in the kubeconfig correct\?$/,
    code: 3,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  "a host that does not exist": async () => ({
    cluster: { server: "https://nowhere.invalid:6443" },
    said: /^the API server cannot be reached: nowhere\.invalid:6443: (?:host not found; check the server in the kubeconfig|the name server does not respond; check the network)$/,
    code: 3,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  "another certificate authority": async () => {
    const sandbox = await Sandbox.start({ tls })
    const other = { "certificate-authority-data": encoded(makeCertificates().authority) }
    return {
      cluster: { server: sandbox.url, cluster: other },
      said: /^the API server cannot be reached: .*: the server's certificate is not signed by the expected certificate authority; is the certificate-authority in the kubeconfig the right one\?$/,
      code: 3,
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    }
  },
  "a client certificate that has expired": async () => {
    const sandbox = await Sandbox.start({ tls, token: "right" })
    return {
      cluster: { server: sandbox.url, cluster: authority, user: clientOf(certificates.expiredClient) },
      said: /^the API server does not accept the credentials \(the client certificate expired on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z].*\): HTTP 401 Unauthorized: .*; log in again, or renew the token or the client certificate in the kubeconfig .*$/,
      code: 4,
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    }
  },
  "a token that is refused": async () => {
    const sandbox = await Sandbox.start({ token: "right" })
    return {
      cluster: { server: sandbox.url, user: { token: "wrong" } },
      said: /^the API server does not accept the credentials: HTTP 401 Unauthorized: .*; log in again, /,
      code: 4,
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    }
  },
  "https:// for a server without TLS": async () => {
    const sandbox = await Sandbox.start()
    return {
      cluster: { server: sandbox.url.replace("http:", "https:") },
      said: /^the API server cannot be reached: .*: the server does not speak TLS, but was addressed with https:\/\/; check the server in the kubeconfig; write http:\/\/ if that is intended$/,
      code: 3,
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    }
  },
  "http:// for a server with TLS": async () => {
    const sandbox = await Sandbox.start({ tls })
    return {
      cluster: { server: sandbox.url.replace("https:", "http:") },
      said: /^the API server cannot be reached: .*: the server speaks TLS, but was addressed with http:\/\/; write https:\/\/ in the kubeconfig$/,
      code: 3,
      [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
    }
  },
  "a proxy that refuses": async () => {
    const proxy = await startForwardProxy("user:secret")
    return {
      cluster: { server: "https://api.invalid:6443", cluster: { "proxy-url": `http://127.0.0.1:${proxy.port}` } },
      said: /^the API server cannot be reached: proxy http:\/\/127\.0\.0\.1:\d+ did not open a tunnel to api\.invalid:6443: it returned 407 Proxy Authentication Required; check HTTPS_PROXY, or proxy-url in the kubeconfig, .*$/,
      code: 3,
      [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
    }
  },
}

/** The messages of warnings and errors, without the one about the key for redacted values, which every new recording has. */
const warnings = ({ log }: RecorderProcess): ReadonlyArray<string> =>
  log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { readonly level: string; readonly message: string })
    .filter(({ level }) => level === "warn" || level === "error")
    .map(({ message }) => message)
    .filter((message) => !message.startsWith("values are redacted with a new key in "))

test.each(Object.keys(cases))("%s is one message for eight kinds, at the start and at the end", async (name) => {
  await using place = new Workplace()
  await using server = await (cases[name] as (typeof cases)[string])()
  const { cluster, said, code } = server
  const recorder = place.record({ cluster, kinds, more: ["--log-format", "json"] })
  const failing = async (): Promise<boolean> =>
    (await recorder.get("/readyz?verbose")).text.match(/^\[!\][^ ]+ failing: /gm)?.length === 8
  await recorder.until(failing, "eight kinds that fail")
  expect(warnings(recorder)).toEqual([expect.stringMatching(said)])
  // No codes of Node or OpenSSL.
  expect(recorder.log).not.toMatch(/E[A-Z]{4,}|ERR_|error:[0-9A-F]{8}|routines/)
  const { status, text } = await recorder.get("/readyz")
  expect(status).toBe(503)
  expect(text).toMatch(/^not ready: nothing is being recorded: v1\.ConfigMap, .* failing: .*; see \/readyz\?verbose\n$/)
  expect(await recorder.metric("kubereel_ready")).toBe(0)
  const { code: ended } = await recorder.stop()
  expect(ended).toBe(code)
  const [, ...atEnd] = warnings(recorder)
  expect(atEnd).toEqual([expect.stringMatching(/^v1\.ConfigMap, .*batch\/v1\.Job were failing at the end: /)])
})
