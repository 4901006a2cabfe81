/**
 * The past of a running recorder, asked for over its HTTP interface: what is served is what its access rules show to
 * the owner of the token. It reaches as far as what was recorded when it was opened, or last refreshed.
 *
 * Methods reject with an ExportError.
 */
import { parseResourceVersion } from "../../kube/offline.ts"
import {
  batchBytes,
  NothingToServe,
  type Past,
  type PastChange,
  type PastKind,
  statusRemark,
} from "../../serve/index.ts"
import {
  type Action,
  formatExactJson,
  type GapEvent,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type LateChanges,
} from "../../trace/index.ts"
import { ExportRefused } from "../export/connection/export-errors.ts"
import type { RecorderAddress } from "../export/connection/recorder-connection.ts"
import { askPast, type PastParameters } from "../past/past-client.ts"

interface RecorderPastOptions {
  /** Only what is in this namespace. Default: everything. */
  readonly namespace: string | undefined
  /** What an object of a kind may lack that is recorded with that detail, one sentence each without a full stop. */
  readonly remarksOn: (detect: string) => ReadonlyArray<string>
}

interface Extent {
  readonly begin: number
  readonly end: number
  readonly kinds: ReadonlyArray<PastKind>
}

/** The UID of no object: such a question is about a kind's gaps alone, and no block is read. */
const noObject = "-"

/** Kinds whose gaps are asked for at once. */
const atOnce = 4

type Asked = [
  path: Parameters<typeof askPast>[1],
  parameters: PastParameters,
  ended?: ((end: JsonObject) => void) | undefined,
]

export class RecorderPast implements Past {
  readonly name: string
  readonly #address: RecorderAddress
  readonly #options: RecorderPastOptions
  readonly #abort = new AbortController()
  #extent: Extent = { begin: 0, end: 0, kinds: [] }

  /** Rejects with NothingToServe, ExportError. */
  static async open(address: RecorderAddress, options: RecorderPastOptions): Promise<RecorderPast> {
    const past = new RecorderPast(address, options)
    await past.refresh()
    return past
  }

  private constructor(address: RecorderAddress, options: RecorderPastOptions) {
    this.name = address.recorder.name
    this.#address = address
    this.#options = options
  }

  get begin(): number {
    return this.#extent.begin
  }

  get end(): number {
    return this.#extent.end
  }

  get kinds(): ReadonlyArray<PastKind> {
    return this.#extent.kinds
  }

  async refresh(): Promise<void> {
    const { items, end } = await this.#whole("kinds", {})
    const listed = items.filter(({ since }) => Number(since) !== 0)
    const kinds = await this.#readable(listed)
    if (kinds.length === 0)
      throw new NothingToServe({ source: this.name, reason: "it records no kind that you may read" })
    const all = kinds.map(({ since }) => since)
    // As of a directory: kinds that were added later appear later.
    const first = new Set(listed.filter(({ isLater }) => isLater !== true).map(({ gvk }) => gvk))
    const begin = Math.max(Math.min(...all), ...kinds.filter(({ gvk }) => first.has(gvk)).map(({ since }) => since))
    this.#extent = { begin, end: Math.max(begin, Number(end.until)), kinds }
  }

  async *stateAt(gvk: string, time: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    yield* this.#batches(this.#ask("objects", { kind: gvk, at: time, order: "change", ...this.#place }))
  }

  async *changes(gvk: string, after: number, through: number): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    const stretch = { from: after + 1, to: through, objects: true }
    yield* this.#batches(this.#ask("changes", { kind: gvk, ...stretch, ...this.#place }))
  }

  async shortcomings(gvk: string, time: number) {
    const { gaps, late } = await this.#lacks(gvk, time, time)
    return { gaps, late }
  }

  close(): void {
    this.#abort.abort()
  }

  get #place(): PastParameters {
    const { namespace } = this.#options
    return namespace === undefined ? {} : { namespace }
  }

  #ask(...[path, parameters, ended]: Asked): ReturnType<typeof askPast> {
    return askPast(this.#address, path, parameters, this.#abort.signal, ended)
  }

  async #whole(...[path, parameters]: Asked): Promise<{ readonly items: JsonObject[]; readonly end: JsonObject }> {
    let end: JsonObject = {}
    const items: JsonObject[] = []
    const ended = (given: JsonObject): void => {
      end = given
    }
    for await (const item of this.#ask(path, parameters, ended)) items.push(item)
    return { items, end }
  }

  /** Those that the recorder shows, in the order given: what may not be read is not there. */
  async #readable(kinds: ReadonlyArray<JsonObject>): Promise<ReadonlyArray<PastKind>> {
    const readable: Array<PastKind | undefined> = []
    for (let start = 0; start < kinds.length; start += atOnce)
      readable.push(...(await Promise.all(kinds.slice(start, start + atOnce).map((kind) => this.#kind(kind)))))
    return readable.filter((kind) => kind !== undefined)
  }

  async #kind({ gvk: name, since, selection, detect, discovered }: JsonObject): Promise<PastKind | undefined> {
    const gvk = String(name)
    const lacks = await this.#lacks(gvk, 0, Number.MAX_SAFE_INTEGER).catch((cause: unknown) => {
      if (cause instanceof ExportRefused && cause.status === 403) return undefined
      throw cause
    })
    if (lacks === undefined) return undefined
    const restarts = lacks.gaps.filter(({ reason }) => reason === "cluster-restored")
    const part = lacks.selected.map((each) => `only a part was recorded: ${each.selection}`)
    return {
      ...{ gvk, since: Number(since) },
      restarts: restarts.map(({ fromTime, toTime }) => ({ from: fromTime, to: toTime })),
      remarks: [...(String(selection) === "" ? [] : part), ...this.#options.remarksOn(String(detect))],
      statusRemark,
      names: namesIn(discovered),
    }
  }

  async #lacks(gvk: string, from: number, to: number) {
    const { end } = await this.#whole("changes", { kind: gvk, uid: noObject, from, to, ...this.#place })
    return {
      gaps: plain(end.gaps) as ReadonlyArray<GapEvent>,
      late: plain(end.late) as ReadonlyArray<LateChanges>,
      selected: plain(end.selected) as ReadonlyArray<{ readonly selection: string }>,
    }
  }

  async *#batches(items: ReturnType<typeof askPast>): AsyncGenerator<ReadonlyArray<PastChange>, void> {
    let batch: PastChange[] = []
    let bytes = 0
    for await (const item of items) {
      const change = changeOf(item)
      batch.push(change)
      bytes += change.object.length
      if (bytes < batchBytes) continue
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    if (batch.length > 0) yield batch
  }
}

/** What the recorder writes about its recording has no number that is not one of JavaScript's. */
const plain = (value: JsonValue | undefined): ReadonlyArray<unknown> =>
  JSON.parse(formatExactJson(value ?? [])) as ReadonlyArray<unknown>

const actions: Readonly<Record<string, Action>> = { deleted: "deleted", vanished: "vanished" }

const changeOf = (item: JsonObject): PastChange => {
  const { type, time, uid, namespace, name, resourceVersion, sequence, isStatusUnknown, object } = item
  const version = parseResourceVersion(String(resourceVersion))
  return {
    ...{ time: Number(time), uid: String(uid), namespace: String(namespace), name: String(name) },
    action: actions[String(type)] ?? "applied",
    version: BigInt(version ?? Number(sequence)),
    isNumbered: version === undefined,
    isStatusUnknown: isStatusUnknown === true,
    object: Buffer.from(object === undefined ? "" : formatExactJson(object)),
  }
}

const namesIn = (discovered: JsonValue | undefined): PastKind["names"] => {
  if (!isJsonObject(discovered)) return undefined
  const { plural, singular, shortNames, categories, namespaced } = discovered
  const texts = (value: JsonValue | undefined): ReadonlyArray<string> => (Array.isArray(value) ? value.map(String) : [])
  return {
    ...{ plural: String(plural), singular: String(singular ?? ""), namespaced: namespaced === true },
    ...{ shortNames: texts(shortNames), categories: texts(categories) },
  }
}
