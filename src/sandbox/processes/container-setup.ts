/**
 * What a kubelet prepares for a container: its environment, and a directory with the Secrets that it mounts.
 *
 * Supported are Secrets as volumes, empty directories and paths of the host; values, fields of the pod, and all keys of
 * a Secret as environment. Anything else is an {@link UnsupportedPod}: a container that lacks something it has asked
 * for would fail for a reason that is hard to find.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Schema from "effect/Schema"
import { isRecord } from "../../is-record.ts"
import { type ApiClient, type ApiObject, type Container, type Kind, NotFoundError, type Pod } from "../../kube/index.ts"

/** A pod that asks for something that processes do not get here. */
export class UnsupportedPod extends Schema.TaggedError<UnsupportedPod>()("UnsupportedPod", {
  what: Schema.String,
}) {
  override get message(): string {
    return `${this.what} is not supported for pods that run as processes`
  }
}

interface ContainerSetup {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
}

interface Secret extends ApiObject {
  readonly data?: Readonly<Record<string, string>>
}

const secrets: Kind = { gvk: { group: "", version: "v1", kind: "Secret" }, plural: "secrets", namespaced: true }

type Json = Readonly<Record<string, unknown>>

/**
 * Writes the mounts below `directory`, and rewrites paths in arguments and environment accordingly. Rejects with {@link UnsupportedPod}, and with ApiError, such as that
 * of a Secret that does not exist (yet).
 */
export const setUp = async (
  pod: Pod,
  container: Container,
  { api, directory, podIP }: { readonly api: ApiClient; readonly directory: string; readonly podIP: string },
): Promise<ContainerSetup> => {
  const secret = (name: string, isOptional: boolean): Promise<Secret | undefined> =>
    api
      .get<Secret>(secrets, { namespace: pod.metadata.namespace, name })
      .catch((error) => (isOptional && error instanceof NotFoundError ? undefined : Promise.reject(error)))
  const mounts = await mountAll(pod, container, directory, secret)
  // The longest first: a file may be mounted below a directory that is.
  const byLength = [...mounts].sort(([one], [other]) => other.length - one.length)
  const local = (text: string): string => moved(text, byLength)
  const environment: Record<string, string> = {}
  for (const source of records(container.envFrom)) {
    if (!isRecord(source.secretRef)) throw new UnsupportedPod({ what: `envFrom ${keysOf(source)}` })
    const { name, optional } = source.secretRef
    const found = await secret(String(name), optional === true)
    for (const [key, value] of Object.entries(found?.data ?? {}))
      environment[`${source.prefix ?? ""}${key}`] = Buffer.from(value, "base64").toString()
  }
  for (const entry of records(container.env)) {
    const { name, value, valueFrom } = entry
    environment[String(name)] = isRecord(valueFrom)
      ? fieldOf(pod, podIP, valueFrom)
      : local(expanded(String(value ?? ""), environment))
  }
  const [command, ...rest] = [...texts(container.command), ...texts(container.args)]
  if (command === undefined || texts(container.command).length === 0)
    throw new UnsupportedPod({ what: `the container ${container.name} without a command` })
  return { command, args: rest.map((arg) => local(expanded(arg, environment))), environment }
}

const mountAll = async (
  pod: Pod,
  container: Container,
  directory: string,
  secret: (name: string, isOptional: boolean) => Promise<Secret | undefined>,
): Promise<ReadonlyArray<readonly [from: string, to: string]>> => {
  const mounts: Array<readonly [string, string]> = []
  for (const { name, mountPath } of records(container.volumeMounts)) {
    const volume = pod.spec.volumes?.find((one) => one.name === name)
    const from = String(mountPath)
    // The token of the ServiceAccount: programs get it in their own way.
    if (volume === undefined || volume.projected !== undefined) continue
    if (isRecord(volume.hostPath)) {
      mounts.push([from, String(volume.hostPath.path)])
      continue
    }
    const to = join(directory, from)
    await mkdir(to, { recursive: true, mode: 0o700 })
    if (isRecord(volume.secret)) {
      if (volume.secret.items !== undefined) throw new UnsupportedPod({ what: "items of a Secret's volume" })
      const { secretName, optional } = volume.secret
      const found = await secret(String(secretName), optional === true)
      for (const [key, value] of Object.entries(found?.data ?? {}))
        await writeFile(join(to, key), Buffer.from(value, "base64"), { mode: 0o600 })
    } else if (volume.emptyDir === undefined) throw new UnsupportedPod({ what: `the volume ${volume.name}` })
    mounts.push([from, to])
  }
  return mounts
}

/** A path as an argument of its own, after `=`, or in a URL. */
const moved = (text: string, mounts: ReadonlyArray<readonly [from: string, to: string]>): string => {
  const start = /^(?:[^/]*=)?(?:file:\/\/)?/.exec(text)?.[0] ?? ""
  const path = text.slice(start.length)
  const mount = mounts.find(([from]) => path === from || path.startsWith(`${from}/`))
  return mount === undefined ? text : start + mount[1] + path.slice(mount[0].length)
}

/** `$(NAME)`, as Kubernetes expands it: a name that is not set stays as it is. */
const expanded = (text: string, environment: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name: string) => environment[name] ?? whole)

const fieldOf = (pod: Pod, podIP: string, valueFrom: Json): string => {
  const path = isRecord(valueFrom.fieldRef) ? String(valueFrom.fieldRef.fieldPath) : undefined
  const [, map, key = ""] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path ?? "") ?? []
  if (map === "labels" || map === "annotations") return pod.metadata[map]?.[key] ?? ""
  switch (path) {
    case "metadata.name":
      return pod.metadata.name
    case "metadata.namespace":
      return pod.metadata.namespace ?? ""
    case "metadata.uid":
      return pod.metadata.uid ?? ""
    case "spec.nodeName":
      return pod.spec.nodeName ?? ""
    case "spec.serviceAccountName":
      return String(pod.spec.serviceAccountName ?? "default")
    case "status.podIP":
      return podIP
    default:
      throw new UnsupportedPod({ what: `valueFrom ${path ?? keysOf(valueFrom)}` })
  }
}

const records = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isRecord) : [])
const texts = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(String) : [])
const keysOf = (value: Json): string => Object.keys(value).join()
