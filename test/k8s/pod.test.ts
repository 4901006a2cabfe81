/** The pod as the manifests describe it, run from the image's files: what it records, and how it ends. */
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { digestOf } from "../../scripts/image.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { patient } from "../harness/patience.ts"
import { type Certificates, makeCertificates } from "../kube/certificates.ts"
import { type ExportedLine, everything } from "../recorder/recorder/recorder-command.ts"
import { environmentOf, type Printed, printed } from "./printed.ts"
import { type PodSettings, StagedImage } from "./staged-image.ts"

let image: StagedImage
let certificates: Certificates
let sandbox: Sandbox
let manifests: Printed
beforeAll(async () => {
  certificates = makeCertificates()
  const { key, certificate: cert } = certificates.server
  sandbox = await Sandbox.start({ token: "of-the-account", tls: { key, cert, ca: certificates.authority } })
  image = await StagedImage.stage()
  // Reviews of tokens are tested on a real cluster.
  manifests = await printed("--offline", "--auth", "none")
})
afterAll(async () => {
  await image?.[Symbol.asyncDispose]()
  await sandbox?.close()
})

/** What the Deployment and its ConfigMap pass to the container, except that the port is any free one, on the loopback address. */
const pod = (configuration?: string, { one }: Printed = manifests): PodSettings => {
  const [container] = one("Deployment").spec.template.spec.containers
  const texts = Object.entries(one("ConfigMap").data as Record<string, string>)
  return {
    arguments: [...container.args, "--listen=127.0.0.1:0"],
    environment: {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(sandbox.port),
      ...environmentOf(container),
    },
    files: Object.fromEntries(texts.map(([name, text]) => [`/etc/kubereel/${name}`, configuration ?? text])),
    serviceAccount: { token: "of-the-account", authority: certificates.authority, namespace: "kubereel" },
    volumes: ["/var/lib/kubereel"],
  }
}

const exportFrom = async (address: string): Promise<ReadonlyArray<ExportedLine>> => {
  const answer = await fetch(`${address}/export`, { method: "POST", body: JSON.stringify(everything("ndjson")) })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`the export failed with ${answer.status}: ${text}`)
  return text.split("\n").flatMap((line) => (line.includes('"action"') ? [JSON.parse(line) as ExportedLine] : []))
}

const createDeployment = (name: string): void =>
  void sandbox.put("apps/v1.Deployment", { metadata: { name, namespace: "default" }, spec: { replicas: 1 } })

test("it records, without modifying the image", { timeout: patient(60_000) }, async () => {
  const before = digestOf(join(image.directory, "app"))
  const running = image.start(pod())
  const address = await running.ready()
  createDeployment("web")
  const lines = await running.until(async () => {
    const exported = await exportFrom(address)
    return exported.length > 0 ? exported : undefined
  })
  expect(lines.map(({ name }) => name)).toEqual(["web"])
  expect(await running.terminate()).toMatchObject({ code: 0 })
  expect(running.log).toContain("recorded 1 object or change")
  expect(digestOf(join(image.directory, "app"))).toBe(before)
})

test("stopped during a burst it ends in time, and the next one misses nothing", {
  timeout: patient(90_000),
}, async () => {
  const first = image.start(pod())
  await first.ready()
  const names = Array.from({ length: 3000 }, (_, index) => `burst-${index}`)
  let ending: ReturnType<typeof first.terminate> | undefined
  for (const [index, name] of names.entries()) {
    createDeployment(name)
    if (index === 1500) ending = first.terminate()
    // Lets the server send, and the recorder end, before everything has arrived.
    if (index % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const end = await ending
  expect(end).toMatchObject({ code: 0 })
  const { terminationGracePeriodSeconds } = manifests.one("Deployment").spec.template.spec
  // Half of it: a node under pressure is slower than this machine.
  expect(end?.tookMs).toBeLessThan((terminationGracePeriodSeconds * 1000) / 2)
  const second = image.start({ ...pod(), keepsVolumes: true })
  const address = await second.ready()
  const lines = await second.until(async () => {
    const exported = await exportFrom(address)
    return exported.some(({ name }) => name === names.at(-1)) ? exported : undefined
  })
  expect(lines.filter(({ name }) => name?.startsWith("burst-")).map(({ name }) => name)).toEqual(names)
  expect(lines.filter(({ action }) => action === "gap")).toEqual([])
  await second.terminate()
})

test("a second one on the same volume ends and names the holder", { timeout: patient(60_000) }, async () => {
  const first = image.start(pod())
  await first.ready()
  const second = image.start({ ...pod(), keepsVolumes: true })
  expect(await second.ended).toBe(1)
  expect(second.log).toMatch(/in use by another recorder|is recording in/)
  expect(await first.terminate()).toMatchObject({ code: 0 })
})

test("with mistakes in its ConfigMap it ends and reports their positions", { timeout: patient(60_000) }, async () => {
  const running = image.start(pod("trackedObjects:\n  v1.Pods: {}\n  v1.Secret: {detect: some}\n"))
  expect(await running.ended).toBe(2)
  expect(running.log).toMatch(/tracer\.yml:3:\d+: .*v1\.Secret/)
})

test("only clients with a token from the Secret have access, even after the Secret has changed", {
  timeout: patient(60_000),
}, async () => {
  const settings = pod(undefined, await printed("--offline", "--auth", "token", "--token-secret", "who/may"))
  const tokens = "/etc/kubereel-tokens/may"
  const files = { ...settings.files, [tokens]: "a-token-of-anna-s\n" }
  const running = image.start({ ...settings, files })
  const address = await running.ready()
  const codeFor = async (token: string | undefined): Promise<number> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return (await fetch(`${address}/v1/coverage`, { headers })).status
  }
  expect(await codeFor(undefined)).toBe(401)
  expect(await codeFor("a-token-of-nobody")).toBe(401)
  expect(await codeFor("a-token-of-anna-s")).toBe(200)
  image.replaceFile(tokens, "a-token-of-berta-s\n")
  expect(await codeFor("a-token-of-anna-s")).toBe(401)
  expect(await codeFor("a-token-of-berta-s")).toBe(200)
  // Its disk is as large as the Deployment says.
  const metrics = await (
    await fetch(`${address}/metrics`, { headers: { authorization: "Bearer a-token-of-berta-s" } })
  ).text()
  expect(Number(/^kubereel_store_disk_size_bytes (\d+)$/m.exec(metrics)?.[1])).toBeLessThanOrEqual(10 * 2 ** 30)
  expect(await running.terminate()).toMatchObject({ code: 0 })
})
