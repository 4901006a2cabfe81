/** The pod of a controller host as the manifests describe it, run from the image's files with modules of a ConfigMap. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { environmentOf, type PrintedObject, printed } from "../printed.ts"
import { StagedImage } from "../staged-image.ts"

const script = `
import { defineController } from "kubereel/host"
import { label } from "./label.ts"

export default defineController({
  name: "labels",
  for: "v1.ConfigMap",
  writes: [{ kind: "v1.ConfigMap", verbs: ["patch"] }],
  reconcile: async ({ object, cluster }) => {
    if (object === undefined || object.metadata.labels?.seen === label) return
    await cluster.patch(object, "merge", { metadata: { labels: { seen: label } } })
  },
})
`

test("it runs the modules, becomes ready, and ends in order", { timeout: patient(60_000) }, async () => {
  const certificates = makeCertificates()
  const { key, certificate: cert } = certificates.server
  const sandbox = await Sandbox.start({ token: "of-the-account", tls: { key, cert, ca: certificates.authority } })
  onTestFinished(() => sandbox.close())
  const modules = join(temporaryDirectory(), "modules")
  mkdirSync(modules)
  const files = {
    "labels.ts": script,
    "label.ts": `export const label: string = "yes"\n`,
    "labels.yaml": "name: labels\n",
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(modules, name), text)
  const { objects, one } = await printed("--host", modules, "--offline")
  const [container] = one("Deployment").spec.template.spec.containers
  const mounted = objects
    .filter(({ kind }) => kind === "ConfigMap")
    .flatMap(({ data }: PrintedObject) => Object.entries(data as Record<string, string>))
  expect(Object.fromEntries(mounted)).toEqual(files)

  await using image = await StagedImage.stage()
  const running = image.start({
    arguments: [...container.args, "--listen=127.0.0.1:0"],
    environment: {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(sandbox.port),
      ...environmentOf(container),
    },
    files: Object.fromEntries(mounted.map(([name, text]) => [`${container.args[1]}/${name}`, text])),
    serviceAccount: { token: "of-the-account", authority: certificates.authority, namespace: "kubereel-host" },
    volumes: ["/var/lib/kubereel"],
  })
  const [, address] = await running.until(async () => /metrics: (http\S+)\/metrics/.exec(running.log) ?? undefined)
  await running.until(async () => ((await fetch(`${address}/readyz`)).ok ? true : undefined))
  expect(running.log).toContain("module labels started")
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "first" } })
  await eventually(() =>
    expect(sandbox.get("v1.ConfigMap", "shop", "first")?.metadata, running.log).toMatchObject({
      labels: { seen: "yes" },
    }),
  )
  expect((await running.terminate()).code, running.log).toBe(0)
})
