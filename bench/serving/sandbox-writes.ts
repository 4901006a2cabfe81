/**
 * The writes of scenario *sandbox*, as requests: what is written, where, and with which body. Shared by the process that
 * sends them over HTTP and the one that makes them without a socket.
 */

/** `ConfigMap`: an object of 0.5 kB; `Deployment`: one of 2 kB with its whole rule book. */
export type WrittenKind = "ConfigMap" | "Deployment"

/** Objects that the patches go to in turn. */
export const objectCount = 100

export const namespace = "default"

const collections: Readonly<Record<WrittenKind, string>> = {
  ConfigMap: `/api/v1/namespaces/${namespace}/configmaps`,
  Deployment: `/apis/apps/v1/namespaces/${namespace}/deployments`,
}

export const collectionPath = (kind: WrittenKind): string => collections[kind]

const nameOf = (index: number): string => `written-${index % objectCount}`

export const objectPath = (kind: WrittenKind, index: number): string => `${collections[kind]}/${nameOf(index)}`

/** Watched by each of the watchers: all objects of the kind, in all namespaces. */
export const watchPath = (kind: WrittenKind): string =>
  kind === "ConfigMap" ? "/api/v1/configmaps?watch=1" : "/apis/apps/v1/deployments?watch=1"

/** What is there before the patches. */
export const createdObject = (kind: WrittenKind, index: number): object => {
  const metadata = { name: nameOf(index), labels: { app: nameOf(index) } }
  if (kind === "ConfigMap") return { metadata, data: { change: digits(0), note: "n".repeat(60) } }
  return {
    metadata,
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: nameOf(index) } },
      template: {
        metadata: { labels: { app: nameOf(index) } },
        spec: {
          containers: [
            {
              name: "main",
              image: "registry.example/web:1",
              env: [{ name: "CHANGE", value: digits(0) }],
              ports: [{ containerPort: 8080 }],
              resources: { requests: { cpu: "100m", memory: "64Mi" } },
            },
          ],
        },
      },
    },
  }
}

/** A merge patch; each changes the object, so each takes a version and is an event. All are equally long. */
export const patchBody = (kind: WrittenKind, change: number): string =>
  kind === "ConfigMap"
    ? `{"data":{"change":"${digits(change)}"}}`
    : `{"metadata":{"annotations":{"example.com/change":"${digits(change)}"}}}`

/** Nine digits: a text of one length. */
const digits = (number: number): string => String(number).padStart(9, "0")
