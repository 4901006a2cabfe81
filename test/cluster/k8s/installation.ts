/** A recorder as `reel k8s` installs it, except for its Deployment: its container is run from the staged image instead. */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { parseAllDocuments } from "yaml"
import { environmentOf } from "../../k8s/printed.ts"
import type { Container, StagedImage } from "../../k8s/staged-image.ts"
import { kubectl, kubectlJson } from "../command.ts"
import { textAt } from "../exact-json.ts"
import type { TestCluster } from "../guard.ts"
import type { AuditedCluster } from "./audited-cluster.ts"

const run = promisify(execFile)
const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))

/** A rule of a Role or ClusterRole. */
export interface Rule {
  readonly apiGroups: readonly [string]
  readonly resources: ReadonlyArray<string>
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: unknown }
  // biome-ignore lint/suspicious/noExplicitAny: an object of the kind's shape, known to the tests.
  readonly [key: string]: any
}

/** What `reel k8s` prints for a cluster, or without one. */
export const printManifests = async (
  cluster: TestCluster | "offline",
  ...words: ReadonlyArray<string>
): Promise<ReadonlyArray<KubernetesObject>> => {
  const whom = cluster === "offline" ? ["--offline"] : ["--kubeconfig", cluster.kubeconfig]
  return parseObjects((await run(process.execPath, [reel, "k8s", ...whom, ...words])).stdout)
}

export const parseObjects = (text: string): ReadonlyArray<KubernetesObject> =>
  parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as KubernetesObject | null
    return object === null ? [] : [object]
  })

/** `kubectl apply`; returns all its output, including warnings. */
export const apply = async (cluster: TestCluster, objects: ReadonlyArray<KubernetesObject>): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-apply-"))
  try {
    const file = join(directory, "objects.json")
    await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }))
    const { stdout, stderr } = await run(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, "apply", "-f", file])
    return stdout + stderr
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The only object of a kind. */
export const only = (objects: ReadonlyArray<KubernetesObject>, kind: string): KubernetesObject => {
  const [found, ...others] = objects.filter((each) => each.kind === kind)
  if (found === undefined || others.length > 0) throw new Error(`${others.length + 1} or no ${kind}`)
  return found
}

/** Of the recorder itself; the role for those who pin is bound to no one. */
export const recorderRole = (objects: ReadonlyArray<KubernetesObject>): KubernetesObject =>
  only(
    objects.filter(({ metadata }) => !metadata.name.endsWith("-pins")),
    "ClusterRole",
  )

/** Where a recorder is installed, and where it finds the API server. */
export type InstallationPlace = Pick<AuditedCluster, "cluster" | "authority" | "host" | "port">

export interface InstallationOptions {
  /** Namespace of everything; must belong to this test. */
  readonly name: string
  readonly words?: ReadonlyArray<string>
  /** Changes the manifests before they are applied. */
  readonly change?: (object: KubernetesObject) => KubernetesObject
}

export class Installation {
  readonly name: string
  readonly objects: ReadonlyArray<KubernetesObject>
  readonly #place: InstallationPlace

  private constructor(place: InstallationPlace, name: string, objects: ReadonlyArray<KubernetesObject>) {
    this.#place = place
    this.name = name
    this.objects = objects
  }

  static async install(place: InstallationPlace, options: InstallationOptions): Promise<Installation> {
    const { name, words = [], change = (object) => object } = options
    const printed = await printManifests(place.cluster, "--name", name, "--namespace", name, ...words)
    const objects = printed.map(change)
    await apply(
      place.cluster,
      objects.filter(({ kind }) => kind !== "Deployment"),
    )
    return new Installation(place, name, objects)
  }

  /** The API server's name of the account. */
  get user(): string {
    return `system:serviceaccount:${this.name}:${this.name}`
  }

  /** Of the ClusterRole. */
  get rules(): ReadonlyArray<Rule> {
    return recorderRole(this.objects).rules
  }

  /** Of the Role for its own Events. */
  get ownRules(): ReadonlyArray<Rule> {
    return (
      this.objects.find(({ kind, metadata: { name } }) => kind === "Role" && name === `${this.name}-events`)?.rules ??
      []
    )
  }

  /** The pod that {@link start} creates from it. */
  get pod(): { readonly name: string; readonly namespace: string; readonly uid: string } {
    return { name: `${this.name}-0`, namespace: this.name, uid: "00000000-0000-4000-8000-000000000007" }
  }

  /** s from SIGTERM to SIGKILL. */
  get gracePeriodSeconds(): number {
    return only(this.objects, "Deployment").spec.template.spec.terminationGracePeriodSeconds
  }

  /** A token of an account that may export, or of one without rights. */
  async tokenOf(who: "exporter" | "nobody"): Promise<string> {
    const { cluster } = this.#place
    const metadata = { name: who, namespace: this.name }
    const account: KubernetesObject = { apiVersion: "v1", kind: "ServiceAccount", metadata }
    const binding: KubernetesObject = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: `${this.name}-export` },
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    }
    await apply(cluster, who === "exporter" ? [account, binding] : [account])
    return (await kubectl(cluster, "create", "token", who, "--namespace", this.name)).trim()
  }

  /**
   * A token of the recorder's account that is valid as long as a Secret of that name exists, like a pod's token as long as the
   * pod exists. Creates the Secret.
   */
  async boundToken(secret: string): Promise<string> {
    const { cluster } = this.#place
    const within = ["--namespace", this.name] as const
    await kubectl(cluster, "create", "secret", "generic", secret, ...within)
    const uid = textAt(await kubectlJson(cluster, "get", "secret", secret, ...within), "metadata", "uid")
    const bound = ["--bound-object-kind=Secret", `--bound-object-name=${secret}`, `--bound-object-uid=${uid}`]
    return (await kubectl(cluster, "create", "token", this.name, ...bound, ...within)).trim()
  }

  /** Invalidates the tokens that are bound to it. */
  async revoke(secret: string): Promise<void> {
    await kubectl(this.#place.cluster, "delete", "secret", secret, "--namespace", this.name)
  }

  /** Starts the Deployment's container with the account's token and nothing else. @param token default: one of an hour. */
  async start(
    image: StagedImage,
    { keepsVolumes = false, token: given }: { readonly keepsVolumes?: boolean; readonly token?: string } = {},
  ): Promise<Container> {
    const { cluster, authority, host, port } = this.#place
    const token = given ?? (await kubectl(cluster, "create", "token", this.name, "--namespace", this.name))
    const [container] = only(this.objects, "Deployment").spec.template.spec.containers
    const texts = Object.entries(only(this.objects, "ConfigMap").data as Readonly<Record<string, string>>)
    return image.start({
      arguments: [...container.args, "--listen=127.0.0.1:0"],
      environment: {
        KUBERNETES_SERVICE_HOST: host,
        KUBERNETES_SERVICE_PORT: port,
        ...environmentOf(container, {
          "metadata.name": this.pod.name,
          "metadata.namespace": this.pod.namespace,
          "metadata.uid": this.pod.uid,
        }),
      },
      files: Object.fromEntries(texts.map(([name, text]) => [`/etc/kubereel/${name}`, text])),
      serviceAccount: { token: token.trim(), authority, namespace: this.name },
      volumes: ["/var/lib/kubereel"],
      keepsVolumes,
    })
  }

  async remove(): Promise<void> {
    const { cluster } = this.#place
    const names = this.objects
      .filter(({ kind }) => kind !== "Deployment" && kind !== "Namespace")
      .map(({ kind, metadata: { name, namespace } }) => ({ kind, name, namespace }))
    for (const { kind, name, namespace } of names.filter((each) => each.namespace !== this.name)) {
      const within = namespace === undefined ? [] : ["--namespace", namespace]
      await kubectl(cluster, "delete", kind, name, ...within, "--ignore-not-found")
    }
    await kubectl(cluster, "delete", "namespace", this.name, "--ignore-not-found", "--wait=false")
  }
}
