/**
 * The image without a container engine: its files in a directory of their own, and its entry point run there by another
 * user. Where mounts are permitted (root, outside most containers) that directory is the process's whole file system, and cannot be
 * written to but for the volumes. Elsewhere the same program runs with paths that point into the directory.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import {
  accessSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { vi } from "vitest"
import { patient } from "../harness/patience.ts"
import { removeWhole, runDirectoryVariable } from "../harness/run-directory.ts"
import { closeIfTestFails } from "../harness/started.ts"

const run = promisify(execFile)
const script = fileURLToPath(new URL("../../scripts/image.ts", import.meta.url))

/** What the manifests run the recorder as. */
const userId = 65_532
/** Where the kubelet mounts the credentials of a pod. */
const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

/** As the Containerfile says. */
const entryPoint = ["/nodejs/bin/node", "/app/bin/reel.js"] as const

const isRoot = process.getuid?.() === 0
const canMount = isRoot && spawnSync("unshare", ["--mount", "--propagation=private", "true"]).status === 0

/** Makes $1 the root, read-only but for the volumes that follow it up to `--`, with /proc; then executes the rest. */
const isolate = `
root=$1; shift
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --bind "$root$1" "$root$1"; shift; done; shift
mount -o remount,bind,ro "$root" && mount --rbind /proc "$root/proc" && exec chroot --userspec=${userId}:${userId} "$root" "$@"`

/** What a pod gets besides its image. */
export interface PodSettings {
  /** Of the container, after the entry point. */
  readonly arguments: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
  /** Contents of files by their absolute path in the container: ConfigMaps. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** Credentials of the service account; the API server is that of the environment. */
  readonly serviceAccount?: { readonly token: string; readonly authority: string; readonly namespace: string }
  /** Directories of the container that the process may write to: volumes. */
  readonly volumes?: ReadonlyArray<string>
  /** Whether the volumes keep the previous container's content. Default: they are empty. */
  readonly keepsVolumes?: boolean
}

export class StagedImage implements AsyncDisposable {
  readonly directory: string
  /** SHA-256 of all files, as the staging script says. */
  readonly digest: string
  readonly #containers: Container[] = []
  readonly #parent: string

  readonly #isRemoved = closeIfTestFails(() => this[Symbol.asyncDispose]())

  private constructor(parent: string, digest: string) {
    this.#parent = parent
    this.directory = join(parent, "image")
    this.digest = digest
  }

  /** Hard links of the image that the run stages once: no file of it is ever written to, only directories are. */
  static async stage(): Promise<StagedImage> {
    const original = await stagedOnce()
    const parent = mkdtempSync(join(tmpdir(), "kubereel-image-"))
    // mkdtemp's 0700 would lock the other user out.
    chmodSync(parent, 0o755)
    await run("cp", ["-al", join(original, "image"), join(parent, "image")])
    return new StagedImage(parent, readFileSync(join(original, "digest"), "utf8"))
  }

  /** Bytes compressed, at most: gzip's fastest level. */
  async compressedSize(): Promise<number> {
    const { sizeOf } = await import("../../scripts/image.ts")
    return (await sizeOf(this.directory, 1)).compressed
  }

  /** Starts the entry point as a container engine would. One container at a time: there is one place for its volumes. */
  start(settings: PodSettings): Container {
    const root = this.directory
    const { serviceAccount, environment = {}, volumes = [] } = settings
    const files = { ...settings.files, ...(serviceAccount && credentialFiles(serviceAccount, environment)) }
    for (const [path, content] of Object.entries(files)) mount(join(root, path), content)
    for (const path of settings.keepsVolumes === true ? [] : volumes) {
      makeDirectory(dirname(join(root, path)))
      rmSync(join(root, path), { recursive: true, force: true })
      makeDirectory(join(root, path))
      if (isRoot) chownSync(join(root, path), userId, userId)
    }
    const variables =
      canMount || serviceAccount === undefined ? environment : { ...environment, KUBECONFIG: kubeconfig }
    const container = new Container(root, { ...settings, files, environment: variables })
    this.#containers.push(container)
    return container
  }

  /** Replaces the token where the container reads it. */
  renewToken(token: string): void {
    this.replaceFile(canMount ? `${serviceAccountDirectory}/token` : tokenFile, token)
  }

  /** Atomically replaces the text of a file that the container was given, as the kubelet does. */
  replaceFile(path: string, text: string): void {
    const file = join(this.directory, path)
    writeFileSync(`${file}.new`, text, { mode: 0o644 })
    renameSync(`${file}.new`, file)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isRemoved()
    await Promise.all(this.#containers.map((each) => each.kill()))
    removeWhole(this.#parent)
  }
}

/**
 * The directory with the run's `image` and its `digest`. Staging takes 3 s of CPU, and five files of tests need one: the first to ask
 * stages it, in the other processes they wait.
 */
const stagedOnce = async (): Promise<string> => {
  const directory = join(process.env[runDirectoryVariable] ?? tmpdir(), "staged")
  if (claims(`${directory}.claimed`)) {
    const { stdout } = await run(process.execPath, [script, "stage", join(directory, "image")])
    writeFileSync(join(directory, "digest.new"), stdout.trim())
    renameSync(join(directory, "digest.new"), join(directory, "digest"))
  }
  await vi.waitFor(() => accessSync(join(directory, "digest")), { timeout: patient(60_000) })
  return directory
}

/** Whether this is the first process of the run to ask. */
const claims = (path: string): boolean => {
  try {
    mkdirSync(path)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause
    return false
  }
}

/** Stand in for the service account where its directory cannot be where it belongs. */
const kubeconfig = "/etc/kubernetes/kubeconfig"
const tokenFile = "/etc/kubernetes/token"

const credentialFiles = (
  { token, authority, namespace }: NonNullable<PodSettings["serviceAccount"]>,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  if (canMount) {
    const texts = { token, "ca.crt": authority, namespace }
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${serviceAccountDirectory}/${name}`, text]))
  }
  const server = `https://${environment.KUBERNETES_SERVICE_HOST}:${environment.KUBERNETES_SERVICE_PORT}`
  const ca = Buffer.from(authority).toString("base64")
  const text = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "pod", cluster: { server, "certificate-authority-data": ca } }],
    // Relative to the kubeconfig.
    users: [{ name: "pod", user: { tokenFile: "token" } }],
    contexts: [{ name: "pod", context: { cluster: "pod", user: "pod" } }],
    "current-context": "pod",
  })
  return { [kubeconfig]: text, [tokenFile]: token }
}

/** The directories of the image cannot be written to, by their owner either; a container engine has no such scruples. */
const mount = (path: string, content: string | Uint8Array): void => {
  makeDirectory(dirname(path))
  rmSync(path, { force: true })
  writeFileSync(path, content, { mode: 0o644 })
}

const makeDirectory = (path: string): void => {
  if (!existsSync(path)) {
    makeDirectory(dirname(path))
    mkdirSync(path)
  }
  chmodSync(path, 0o755)
}

export class Container {
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>
  #log = ""

  constructor(root: string, { arguments: words, environment = {}, files = {}, volumes = [] }: PodSettings) {
    const inside = [...entryPoint, ...words]
    // Longest first, so that a directory inside another is not mistaken for it.
    const known = ["/nodejs/bin", "/app", ...Object.keys(files), ...volumes].sort((a, b) => b.length - a.length)
    const outside = (word: string): string => {
      for (const path of known) if (word.includes(path)) return word.replace(path, join(root, path))
      return word
    }
    const [program = "", ...rest] = canMount
      ? [
          "/usr/bin/unshare",
          "--mount",
          "--propagation=private",
          "/bin/sh",
          "-ec",
          isolate,
          "sh",
          root,
          ...volumes,
          "--",
          ...inside,
        ]
      : inside.map(outside)
    const variables = Object.entries({ PATH: "/nodejs/bin:/usr/bin:/bin:/usr/sbin:/sbin", ...environment })
    this.#child = spawn(program, rest, {
      cwd: "/",
      env: Object.fromEntries(variables.map(([name, text]) => [name, canMount ? text : outside(text)])),
      stdio: ["ignore", "pipe", "pipe"],
      ...(isRoot && !canMount && { uid: userId, gid: userId }),
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#log += text
      })
    this.#ended = new Promise((resolve, reject) => {
      this.#child.on("error", reject)
      this.#child.on("close", (code) => resolve(code))
    })
  }

  /** Its whole output, on both streams. */
  get log(): string {
    return this.#log
  }

  /** Exit code; `null` for a signal. */
  get ended(): Promise<number | null> {
    return this.#ended
  }

  /** Sends SIGTERM, as the kubelet does; returns the exit code, and ms until the end. */
  async terminate(): Promise<{ readonly code: number | null; readonly tookMs: number }> {
    const askedMs = performance.now()
    this.#child.kill("SIGTERM")
    return { code: await this.#ended, tookMs: performance.now() - askedMs }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#ended
  }

  /** `http://127.0.0.1:<port>` once the recorder says where it listens. Rejects when it ends before. */
  async listening(deadlineMs = 30_000): Promise<string> {
    const match = await this.until(
      async () => /listening on http:\/\/[^ "]*:(\d+)/.exec(this.#log) ?? undefined,
      deadlineMs,
    )
    return `http://127.0.0.1:${match[1]}`
  }

  /** Returns the result of `probe`, which is called repeatedly. Rejects, with the log, when the process ends or time is up. */
  async until<T>(probe: () => Promise<T | undefined>, deadlineMs = 30_000): Promise<T> {
    const startedMs = performance.now()
    let end: string | undefined
    let failure = ""
    void this.#ended.then((code) => {
      end = `it ended with ${code}`
    })
    for (;;) {
      // A process that is ending answers nothing; how it ended says more.
      const found = await probe().catch((cause: unknown) => {
        failure = String(cause)
        return undefined
      })
      if (found !== undefined) return found
      const waitedMs = performance.now() - startedMs
      if (waitedMs > patient(deadlineMs)) end ??= `waited ${Math.round(waitedMs)} ms`
      if (end !== undefined) throw new Error(`${end}; ${failure}\n${this.#log}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Waits until it is ready; returns its address. */
  async ready(deadlineMs = 30_000): Promise<string> {
    const address = await this.listening(deadlineMs)
    await this.until(async () => ((await fetch(`${address}/readyz`)).ok ? true : undefined), deadlineMs)
    return address
  }
}
