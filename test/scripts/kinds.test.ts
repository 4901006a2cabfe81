import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { kindTypes } from "../../scripts/kinds.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

const program = `
import { defineController } from "kubereel/host"
import type { Deployment, Kinds, Pod } from "kubereel/kinds"

const container = { name: "web", image: "nginx", ports: [{ containerPort: 80 }], readinessProbe: { httpGet: { port: "http" } } }
export const deployment: Deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template: { spec: { containers: [container] } } },
}
// @ts-expect-error: a number
export const wrong: Deployment = { ...deployment, spec: { ...deployment.spec, replicas: "1" } }

export const controller = defineController<Deployment>({
  name: "web",
  for: "apps/v1.Deployment",
  owns: ["v1.Pod"],
  indexes: [{ kind: "v1.Pod", name: "node", valuesOf: ({ spec }: Pod) => [spec?.nodeName ?? ""] }],
  reconcile: ({ object, cluster }) => {
    const pods = cluster.cached<Kinds["v1.Pod"]>("v1.Pod").list()
    const phases: ReadonlyArray<string | undefined> = pods.map(({ status }) => status?.phase)
    // @ts-expect-error: no such member
    return object?.spec?.size === phases.length ? undefined : { requeueAfterMs: 1 }
  },
})
`

test("types of the built-in kinds describe objects and refuse wrong ones, also in controllers and their indexes", {
  timeout: patient(30_000),
}, () => {
  const folder = temporaryDirectory()
  writeFileSync(join(folder, "kinds.d.ts"), kindTypes())
  writeFileSync(join(folder, "program.ts"), program)
  const compilerOptions = {
    typeRoots: [join(root, "node_modules/@types")],
    paths: { "kubereel/host": [join(root, "src/library/host.ts")], "kubereel/kinds": [join(folder, "kinds.d.ts")] },
    ...{ incremental: false, tsBuildInfoFile: null },
  }
  const include = ["*.ts", join(root, "src/**/*.d.ts")]
  const settings = { extends: join(root, "tsconfig.json"), compilerOptions, include, exclude: [] }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const tsc = join(root, "node_modules/.bin/tsc")
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" })
  expect(stdout).toBe("")
})

test("kinds have their own names, newest versions first", () => {
  const text = kindTypes()
  expect(text).toMatch(/"autoscaling\/v2\.HorizontalPodAutoscaler": HorizontalPodAutoscaler$/m)
  expect(text).toMatch(/"resource\.k8s\.io\/v1\.ResourceClaim": ResourceClaim$/m)
  expect(text).toMatch(/"events\.k8s\.io\/v1\.Event": EventOfEventsV1$/m)
  expect(text).not.toMatch(/undefined\b(?!$)|\[object|"v1\.Status"/m)
})
