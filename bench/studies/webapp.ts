/**
 * One operator, WebApp, written for several libraries: what it takes in lines and memory, and how soon it acts.
 *
 *   node scripts/build.ts && npx node bench/studies/webapp.ts [--apps=50] [--changes=200] [--profile=release] [--kopf=PROGRAM]
 *
 * - in TypeScript under `reel host` (examples/host/webapp),
 * - in Go with controller-runtime: the same file as a guest of `reel host`, and as a process of its own (examples/host/controller-runtime/webapp),
 * - in Rust with kube, in both ways as well (examples/host/kube/webapp). `--profile` is cargo's: the first build for
 *   release takes some minutes, and debug is what the tests have built already,
 * - in Python with kopf (bench/studies/webapp.py), if `--kopf` is the program of an environment that has kopf and kubernetes.
 *
 * Each runs alone, against a sandbox in this process in which nothing else acts. Memory is the proportional set size 5 s after all WebApps have their
 * Deployments; of a guest the host's included. Wake-up is from the request that changes a WebApp's image until the sandbox has
 * the Deployment with it: the watch, the reconcile, its applies. One at a time.
 */
import { execFileSync, spawn } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { parse } from "yaml"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import { goGuest, type Program, rustModule, rustProgram } from "../../test/clients/build/compiled-program.ts"
import { readPss } from "../processes/process-watch.ts"
import { percentile } from "../report/statistics.ts"

const { values } = parseArgs({
  options: {
    apps: { type: "string", default: "50" },
    changes: { type: "string", default: "200" },
    profile: { type: "string", default: "release" },
    kopf: { type: "string" },
  },
})
const profile = values.profile === "debug" ? "debug" : "release"
const [apps, changes] = [Number(values.apps), Number(values.changes)]
const root = fileURLToPath(new URL("../..", import.meta.url))
const webApp = "example.com/v1.WebApp"
const deployment = "apps/v1.Deployment"
const namespace = "default"
const patienceMs = 60_000

interface Operator {
  readonly name: string
  /** What one writes. */
  readonly files: ReadonlyArray<string>
  readonly command: ReadonlyArray<string>
}

/** The module's files, with their names in the directory that the host runs. */
const hosted = (
  work: string,
  name: string,
  module: ReadonlyArray<readonly [from: string, to: string]>,
): ReadonlyArray<string> => {
  const modules = join(work, name)
  mkdirSync(modules)
  for (const [from, to] of module) copyFileSync(from, join(modules, to))
  return [process.execPath, join(root, "bin/reel.js"), "host", modules, "--listen", "0"]
}

const built = async (program: Promise<Program>): Promise<string> => {
  const made = await program
  if ("missing" in made) throw new Error(made.missing)
  return made.path
}

const operators = async (work: string): Promise<ReadonlyArray<Operator>> => {
  const typescript = join(root, "examples/host/webapp")
  const go = join(root, "examples/host/controller-runtime/webapp")
  const kube = join(root, "examples/host/kube/webapp")
  const guest = await built(goGuest("webapp", "examples/host/controller-runtime/webapp"))
  const kubeModule = await built(rustModule("kube-module", "webapp", profile))
  const kubeProgram = await built(rustProgram("kube-rs", "webapp", profile))
  const program = join(work, "webapp")
  const python = join(root, "bench/studies/webapp.py")
  execFileSync("go", ["build", "-o", program, "."], { cwd: go, stdio: "inherit" })
  const files = ["webapp.yaml", "webapp.ts", "webapp-types.ts"].map((file) => [join(typescript, file), file] as const)
  return [
    {
      name: "TypeScript, reel host",
      files: [join(typescript, "webapp.ts")],
      command: hosted(work, "typescript", files),
    },
    {
      name: "controller-runtime, guest of reel host",
      files: [join(go, "webapp.go"), join(go, "main.go")],
      command: hosted(work, "go", [
        [guest, "webapp.wasm"],
        [join(go, "webapp.yaml"), "webapp.yaml"],
      ]),
    },
    { name: "controller-runtime, process", files: [join(go, "webapp.go"), join(go, "process.go")], command: [program] },
    {
      name: "kube, module of reel host",
      files: [join(kube, "webapp.rs"), join(kube, "module.rs")],
      command: hosted(work, "kube", [
        [kubeModule, "webapp.wasm"],
        [join(kube, "webapp.yaml"), "webapp.yaml"],
      ]),
    },
    { name: "kube, process", files: [join(kube, "webapp.rs"), join(kube, "process.rs")], command: [kubeProgram] },
    ...(values.kopf === undefined
      ? []
      : [{ name: "kopf", files: [python], command: [values.kopf, "run", python, "--all-namespaces", "--standalone"] }]),
  ]
}

/** Without empty lines and comments. */
const linesOf = (files: ReadonlyArray<string>): number =>
  files
    .flatMap((file) => readFileSync(file, "utf8").split("\n"))
    .filter((line) => line.trim() !== "" && !/^\s*(?:\/\/|\/?\*|""")/.test(line)).length

const until = async (what: string, isTrue: () => boolean): Promise<number> => {
  const startedMs = performance.now()
  while (!isTrue()) {
    if (performance.now() - startedMs > patienceMs)
      throw new Error(`${what} has not happened within ${patienceMs / 1000} s`)
    await sleep(0.2)
  }
  return performance.now() - startedMs
}

const imageOf = (sandbox: Sandbox, name: string): unknown =>
  (
    sandbox.get(deployment, namespace, name) as
      | { spec?: { template: { spec: { containers: ReadonlyArray<{ image: string }> } } } }
      | undefined
  )?.spec?.template.spec.containers[0]?.image

const measured = async ({ name, files, command }: Operator, work: string) => {
  await using sandbox = await Sandbox.start()
  const definition = readFileSync(join(root, "examples/host/webapp/webapp-crd.yaml"), "utf8")
  sandbox.put("apiextensions.k8s.io/v1.CustomResourceDefinition", parse(definition))
  const kubeconfig = join(work, "kubeconfig")
  writeFileSync(kubeconfig, kubeconfigOf(sandbox.url))
  const put = (index: number, image: string): unknown =>
    sandbox.put(webApp, {
      metadata: { namespace, name: `app-${index}` },
      spec: { image, replicas: 1, port: 8080 },
    } as never)
  for (let index = 0; index < apps; index++) put(index, "first")
  const [program = "", ...words] = command
  const operator = spawn(program, words, { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: "ignore" })
  try {
    const begunMs = await until(`${name}: the Deployments`, () =>
      Array.from({ length: apps }).every((_, index) => imageOf(sandbox, `app-${index}`) === "first"),
    )
    await sleep(5000)
    const pss = readPss(operator.pid as number)
    const wakeUps: number[] = []
    for (let change = 0; change < changes; change++) {
      const [index, image] = [change % apps, `image-${change}`]
      put(index, image)
      wakeUps.push(await until(`${name}: change ${change}`, () => imageOf(sandbox, `app-${index}`) === image))
      // What follows it, such as the status, is over before the next.
      await sleep(50)
    }
    const ms = (share: number): string =>
      percentile(
        wakeUps.toSorted((one, other) => one - other),
        share,
      ).toFixed(1)
    return {
      operator: name,
      lines: linesOf(files),
      "PSS MiB": Math.round(pss / 2 ** 20),
      "begun ms": Math.round(begunMs),
      "p50 ms": ms(0.5),
      "p99 ms": ms(0.99),
    }
  } finally {
    operator.kill("SIGKILL")
  }
}

const work = mkdtempSync(join(tmpdir(), "kubereel-webapp-"))
try {
  const rows = []
  for (const operator of await operators(work)) rows.push(await measured(operator, work))
  console.table(rows)
} finally {
  rmSync(work, { recursive: true, force: true })
}
