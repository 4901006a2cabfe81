/**
 * Keeps one pod for each SimplePod: named like it, owned by it, with its image. A pod that is deleted is made again; one with another image
 * is deleted, and so made again. Pods of deleted SimplePods are left to Kubernetes' garbage collector.
 */
import { Backoff } from "./guest/backoff"
import { quoted, Value } from "./guest/json"
import { delay, request, Response, Task } from "./guest/operations"
import { log, logError, variable } from "./guest/wasi"
import { Selection, Watch } from "./guest/watch"

export { allocate, wakeup_future, wakeup_stream } from "./guest/operations"

/** So that only these pods are watched, not all of the cluster. */
const label = "app.kubernetes.io/managed-by"
const labelValue = "simplepods.slinky.dev"
/** The image that the pod was made with: the one in its container may have been changed by a webhook. */
const imageAnnotation = "slinky.dev/image"

/** What the controller has to know about either kind of object. */
class Known {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly isBeingDeleted: bool
  /** Of the spec of a SimplePod. */
  readonly image: string
  /** The image that a pod was made with. */
  readonly madeWith: string
  /** UID of the controlling owner. */
  readonly owner: string

  constructor(object: Value) {
    const metadata = object.get("metadata")
    this.namespace = metadata.text("namespace")
    this.name = metadata.text("name")
    this.uid = metadata.text("uid")
    this.isBeingDeleted = metadata.get("deletionTimestamp").isThere
    this.image = object.get("spec").text("image")
    this.madeWith = metadata.get("annotations").text(imageAnnotation)
    let owner = ""
    const owners = metadata.list("ownerReferences")
    for (let index = 0; index < owners.length; index++)
      if (owners[index].get("controller").content == "true") owner = owners[index].text("uid")
    this.owner = owner
  }

  get key(): string {
    return this.namespace + "/" + this.name
  }

  /** The pod of a SimplePod, as JSON. */
  get pod(): string {
    const reference = `"apiVersion":"slinky.dev/v1","kind":"SimplePod","name":${quoted(this.name)},"uid":${quoted(this.uid)}`
    const labels = `{${quoted(label)}:${quoted(labelValue)}}`
    const annotations = `{${quoted(imageAnnotation)}:${quoted(this.image)}}`
    const place = `"name":${quoted(this.name)},"namespace":${quoted(this.namespace)}`
    const metadata = `{${place},"labels":${labels},"annotations":${annotations},"ownerReferences":[{${reference},"controller":true}]}`
    const spec = `{"containers":[{"name":"main","image":${quoted(this.image)}}]}`
    return `{"apiVersion":"v1","kind":"Pod","metadata":${metadata},"spec":${spec}}`
  }
}

/** Takes care of one object until there is nothing to write. At most one such task runs for an object. */
class Reconciliation extends Task {
  hasChanged: bool = false
  private method: string = ""
  private readonly backoff: Backoff = new Backoff()

  constructor(private readonly key: string) {
    super()
  }

  /** Asks for what has to be written next, so that the pod is as it should be. */
  onDelay(): void {
    this.hasChanged = false
    const wanted = simplePods.find(this.key)
    if (wanted === null || wanted.isBeingDeleted || !pods.isListed) return this.end()
    const path = "/api/v1/namespaces/" + wanted.namespace + "/pods"
    const pod = pods.find(this.key)
    if (pod === null) return this.send("POST", path, wanted.pod)
    // It goes first: its deletion brings us here again.
    if (pod.isBeingDeleted || pod.owner != wanted.uid || pod.madeWith == wanted.image) return this.end()
    this.send("DELETE", path + "/" + pod.name, `{"preconditions":{"uid":${quoted(pod.uid)}}}`)
  }

  onResponse(response: Response): void {
    const what = this.method + " of pod " + this.key + ": "
    if (!response.isSuccess) {
      const milliseconds = this.backoff.next()
      logError(what + response.reason + "; next attempt in " + milliseconds.toString() + " ms")
      return delay(milliseconds, this)
    }
    this.backoff.reset()
    log(what + response.status.toString())
    // The watch will show the pod. Until then there is nothing to do unless something else has changed.
    if (this.hasChanged) this.onDelay()
    else this.end()
  }

  private send(method: string, uri: string, body: string): void {
    this.method = method
    request(method, uri, body, this)
  }

  private end(): void {
    busy.delete(this.key)
  }
}

/** The objects that a task takes care of. */
const busy = new Map<string, Reconciliation>()

function touch(key: string): void {
  if (busy.has(key)) {
    busy.get(key).hasChanged = true
    return
  }
  const task = new Reconciliation(key)
  busy.set(key, task)
  task.onDelay()
}

/** The objects of one kind, kept up to date. */
class Objects extends Watch {
  isListed: bool = false
  private known: Map<string, Known> = new Map()

  find(key: string): Known | null {
    return this.known.has(key) ? this.known.get(key) : null
  }

  get keys(): string[] {
    return this.known.keys()
  }

  onListed(objects: Value[]): void {
    this.known.clear()
    for (let index = 0; index < objects.length; index++) {
      const known = new Known(objects[index])
      this.known.set(known.key, known)
    }
    this.isListed = true
    const keys = simplePods.keys
    for (let index = 0; index < keys.length; index++) touch(keys[index])
  }

  onApplied(object: Value): void {
    const known = new Known(object)
    this.known.set(known.key, known)
    touch(known.key)
  }

  onDeleted(object: Value): void {
    const known = new Known(object)
    this.known.delete(known.key)
    touch(known.key)
  }
}

let simplePods!: Objects
let pods!: Objects

/** Called once by the host. */
export function run(): void {
  const namespace = variable("NAMESPACE")
  simplePods = new Objects(new Selection("slinky.dev", "v1", "SimplePod", "simplepods", namespace, ""))
  pods = new Objects(new Selection("", "v1", "Pod", "pods", namespace, label + "=" + labelValue))
  simplePods.start()
  pods.start()
}
