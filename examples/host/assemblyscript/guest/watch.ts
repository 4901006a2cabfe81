import { Backoff } from "./backoff"
import { Writer } from "./bincode"
import { Kind, parse, Value } from "./json"
import { delay, escaped, Listener, request, Response, Task, watch } from "./operations"
import { logError } from "./wasi"

/** Which objects to watch. */
export class Selection {
  constructor(
    /** Empty for the core group. */
    readonly group: string,
    readonly version: string,
    readonly kind: string,
    /** The resource's name in paths. */
    readonly plural: string,
    /** Empty for all namespaces. */
    readonly namespace: string,
    /** Empty for all objects. */
    readonly labelSelector: string,
  ) {}

  get apiVersion(): string {
    return this.group.length == 0 ? this.version : this.group + "/" + this.version
  }

  get uri(): string {
    const root = this.group.length == 0 ? "/api/" : "/apis/"
    const scope = this.namespace.length == 0 ? "" : "/namespaces/" + this.namespace
    const labels = this.labelSelector.length == 0 ? "" : "&labelSelector=" + escaped(this.labelSelector)
    return root + this.apiVersion + scope + "/" + this.plural + "?limit=500" + labels
  }
}

/**
 * Milliseconds before a watch that follows one without a single value: a host that ends each watch at once must not be asked in a busy
 * loop.
 */
const pauseAfterSilence: u64 = 1000

/**
 * A watch that never ends: it lists, watches from the list's version, watches again where a watch ended, and lists again when the API server
 * no longer has that version. Failures are repeated after growing delays.
 */
export abstract class Watch extends Task {
  private version: string = ""
  private hasList: bool = false
  private listed: Value[] = []
  private readonly backoff: Backoff = new Backoff()

  constructor(private readonly selection: Selection) {
    super()
  }

  /** Everything that is there. Other objects, of which the controller heard before, are gone. */
  abstract onListed(objects: Value[]): void
  /** An object was created or has changed. */
  abstract onApplied(object: Value): void
  abstract onDeleted(object: Value): void

  start(): void {
    this.listed = []
    request("GET", this.selection.uri, "", this)
  }

  onResponse(response: Response): void {
    if (!response.isSuccess) return this.pause("cannot be listed: " + response.reason)
    const page = parse(response.body)
    this.version = page.get("metadata").text("resourceVersion")
    if (this.version.length == 0) return this.pause("cannot be listed: the response is no list")
    this.listed = this.listed.concat(page.list("items"))
    const next = page.get("metadata").text("continue")
    if (next.length > 0) return request("GET", this.selection.uri + "&continue=" + escaped(next), "", this)
    const objects = this.listed
    this.listed = []
    this.hasList = true
    this.onListed(objects)
    this.watch()
  }

  onDelay(): void {
    if (this.hasList) this.watch()
    else this.start()
  }

  /** The end of a watch that has not failed. */
  onEnd(hasHeard: bool): void {
    if (hasHeard) this.watch()
    else delay(pauseAfterSilence, this)
  }

  /** One event. Returns whether the watch goes on. */
  onEvent(text: string): bool {
    const event = parse(text)
    const object = event.get("object")
    const type = event.text("type")
    const version = object.get("metadata").text("resourceVersion")
    if (version.length > 0 && (type == "ADDED" || type == "MODIFIED" || type == "DELETED" || type == "BOOKMARK")) {
      this.version = version
      this.backoff.reset()
      if (type == "DELETED") this.onDeleted(object)
      else if (type != "BOOKMARK") this.onApplied(object)
      return true
    }
    const code = object.get("code")
    this.hasList = type == "ERROR" && code.kind == Kind.Number && code.content != "410"
    this.pause("cannot be watched from version " + this.version + ": " + text.substring(0, 300))
    return false
  }

  private watch(): void {
    const selected = this.selection
    const writer = new Writer()
    writer.text(selected.apiVersion).text(selected.group).text(selected.kind).text(selected.version).optional(selected.namespace)
    writer.text(this.version).optional("").flag(false).optional(selected.labelSelector).flag(true)
    watch(writer, new Stream(this))
  }

  private pause(what: string): void {
    const milliseconds = this.backoff.next()
    logError(this.selection.plural + " " + what + "; next attempt in " + milliseconds.toString() + " ms")
    delay(milliseconds, this)
  }
}

/** One watch of the host. After a failure nothing more is heard of it. */
class Stream extends Listener {
  private hasHeard: bool = false
  private hasFailed: bool = false

  constructor(private readonly watch: Watch) {
    super()
  }

  onValue(value: string): void {
    if (this.hasFailed) return
    this.hasHeard = true
    this.hasFailed = !this.watch.onEvent(value)
  }

  onEnd(): void {
    if (!this.hasFailed) this.watch.onEnd(this.hasHeard)
  }
}
