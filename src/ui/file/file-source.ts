/**
 * What the page shows of a file that it is in: all events in columns, objects when they are looked at. Nothing is asked of any server.
 *
 * Memory: 35 bytes for each event, the names of objects, and some MB of objects that were looked at last.
 */

import { type Lack, partsOf, type TileRange, type Tone, tileOf, tones } from "../../timeline/index.ts"
import { type HistorySource, type LaneTile, type Overview, SourceError } from "../source/source.ts"
import { type InlinedData, inlinedData } from "./blocks.ts"
import { differencesBetween } from "./difference.ts"
import { type Facts, factsIn } from "./facts.ts"
import { FileLanes, isAsked, laneOfNumber, numberOfLane, withTrueUid } from "./file-lanes.ts"
import { managersBetween } from "./managers.ts"
import { aboutOf, eachChange, isEventKind } from "./object-changes.ts"
import { ObjectStates, type RecordedState } from "./object-states.ts"
import { eventTypes, RecordedEvents } from "./recorded-events.ts"
import { Turns } from "./turns.ts"

type Asked<Method extends keyof HistorySource> = HistorySource[Method] extends
  | ((asked: infer Question, ...rest: ReadonlyArray<never>) => unknown)
  | undefined
  ? Question
  : never

/** What the page's own document contains; `undefined`: it is not a file, and its page has a server. @throws SourceError: the file is damaged */
export const inlinedSource = (document: Document): HistorySource | undefined => {
  const data = inlinedData(document)
  return data && fileSource(data, document.title)
}

/** @param name for the title @throws SourceError: the file is damaged */
export const fileSource = (data: InlinedData, name: string): HistorySource => {
  try {
    return new FileSource(data, name)
  } catch (cause) {
    if (cause instanceof SourceError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new SourceError("failed", `this file is damaged: ${reason}`)
  }
}

class FileSource implements HistorySource {
  readonly #name: string
  readonly #facts: Facts
  readonly #events: RecordedEvents
  readonly #states: ObjectStates
  readonly #lanes: FileLanes

  constructor({ facts, blocks }: InlinedData, name: string) {
    this.#name = name
    this.#facts = factsIn(facts)
    this.#events = new RecordedEvents(blocks)
    this.#states = new ObjectStates(this.#events)
    this.#lanes = new FileLanes(this.#events)
  }

  async overview(): Promise<Overview> {
    const { from, to, lacks, kinds } = this.#facts
    const namespaced = new Set(this.#events.objects.flatMap(({ gvk, namespace }) => (namespace === "" ? [] : [gvk])))
    const isUnrecorded = (gvk: string): boolean =>
      lacks.some((lack) => lack.type === "unrecorded" && lack.gvk === gvk && lack.namespace === "")
    return {
      ...{ name: this.#name, span: { from, to }, isLive: false, lacks },
      kinds: kinds.map((gvk) => ({
        ...{ gvk, since: isUnrecorded(gvk) ? 0 : from, until: to, namespaced: namespaced.has(gvk) },
      })),
    }
  }

  async lanes({ parent, offset, limit, ...asked }: Asked<"lanes">) {
    const { total, lanes } = this.#lanes.treeOf(asked).page(parent, { offset, limit })
    const lacks = this.#facts.lacks.filter(({ from, to }) => from <= asked.to && to >= asked.from)
    return { total, lacks, lanes: lanes.map((lane) => ({ ...lane, object: withTrueUid(lane.object) })) }
  }

  async laneOf({ from, to, ...object }: Asked<"laneOf">) {
    const number = this.#lanes.find(object)
    const placed = number === undefined ? undefined : this.#lanes.treeOf({ from, to }).lane(laneOfNumber(number))
    return placed && { ...placed, lane: { ...placed.lane, object: withTrueUid(placed.lane.object) } }
  }

  async tiles(
    { from, to, width, lanes, parts }: Asked<"tiles">,
    each: (tile: LaneTile) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const turns = new Turns(signal)
    const window = { from, to, width }
    for (const lane of lanes) {
      const number = numberOfLane(lane)
      if (number === undefined || this.#events.objects[number] === undefined) continue
      const inSpan = this.#inSpan(number, from, to)
      const changes = inSpan.map((event) => ({
        ...{ time: this.#events.times[event] as number, tone: this.#events.toneAt(event) },
      }))
      const ranges = this.#rangesOf(number)
      const columns = tileOf(window, this.#lanes.toneBefore(number, from), changes, ranges)
      each({ lane, columns, changes: changes.length })
      if (parts) for (const tile of this.#partTiles(number, window, inSpan, ranges)) each({ lane, ...tile })
      await turns.rest()
    }
  }

  async histogram({ from, to, width, ...filter }: Asked<"histogram">, signal: AbortSignal): Promise<Float64Array> {
    signal.throwIfAborted()
    const { objects, times } = this.#events
    const counts = new Float64Array(width)
    const asked = Uint8Array.from(objects, (object) => (isAsked(filter)(object) ? 1 : 0))
    for (let event = 0; event < times.length; event++) {
      const time = times[event] as number
      if (time < from || time > to || this.#events.typeAt(event) === eventTypes.listed) continue
      if (asked[this.#events.objectAt(event)] !== 1) continue
      const column = Math.min(width - 1, Math.floor(((time - from) / (to - from + 1)) * width))
      counts[column] = (counts[column] as number) + 1
    }
    return counts
  }

  async findings(
    { from, to, ...filter }: Asked<"findings">,
    each: Parameters<HistorySource["findings"]>[1],
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    const matches = isAsked(filter)
    for (const finding of this.#facts.findings) {
      const number = this.#events.sameAs(numberOfLane(finding.lane) ?? -1)
      const object = this.#events.objects[number]
      if (object === undefined || !matches(object) || finding.from > to || (finding.to ?? to) < from) continue
      each({ ...finding, lane: laneOfNumber(number) })
    }
    each({ progress: 1 })
  }

  async changes(
    { object, owned, owners, ...asked }: Asked<"changes">,
    each: Parameters<HistorySource["changes"]>[1],
    signal: AbortSignal,
  ): Promise<{ readonly lacks: ReadonlyArray<Lack> }> {
    const number = this.#lanes.find(object)
    if (number === undefined) return { lacks: this.#facts.lacks.filter(({ gvk }) => gvk === object.gvk) }
    const about = [...(owned ? this.#lanes.ownedBy(number) : [number]), ...(owners ? this.#lanes.ownersOf(number) : [])]
    const said = owned || owners ? this.#eventsAbout(about) : []
    const recorded = { events: this.#events, states: this.#states }
    await eachChange(recorded, [...about, ...said], asked, { each, signal })
    const kinds = new Set(about.map((at) => this.#events.objects[at]?.gvk))
    const concerns = ({ gvk, namespace, from, to }: Lack): boolean =>
      kinds.has(gvk) && (namespace === "" || namespace === object.namespace) && from <= asked.to && to >= asked.from
    return { lacks: this.#facts.lacks.filter(concerns) }
  }

  async stateAt(object: Parameters<HistorySource["stateAt"]>[0], time: number, signal: AbortSignal) {
    signal.throwIfAborted()
    const number = this.#lanes.find(object)
    const found = number === undefined ? undefined : this.#stateAt(number, time)
    if (found?.object === undefined) return undefined
    return { state: found.object, time: this.#events.times[found.event] as number }
  }

  async differences(
    { from, to, ...filter }: Asked<"differences">,
    each: Parameters<HistorySource["differences"]>[1],
    signal: AbortSignal,
  ): Promise<void> {
    const turns = new Turns(signal)
    const matches = isAsked(filter)
    /** Several objects may have had one name, one after another. */
    const byName = new Map<string, number[]>()
    for (const [number, object] of this.#events.objects.entries()) {
      if (!matches(object) || !this.#inSpan(number, from, to).some((event) => this.#events.times[event] !== from))
        continue
      const key = JSON.stringify([object.gvk, object.namespace, object.name])
      byName.set(key, [...(byName.get(key) ?? []), number])
    }
    for (const numbers of byName.values()) {
      await turns.rest()
      const at = (time: number) => {
        for (const number of numbers) {
          const state = this.#stateAt(number, time)
          if (state !== undefined) return { number, state: state.object }
        }
        return undefined
      }
      const [before, after] = [at(from), at(to)]
      if (before === undefined && after === undefined) continue
      const isSame = before?.number === after?.number
      const type = before === undefined ? "created" : after === undefined ? "deleted" : isSame ? "changed" : "replaced"
      const compared = before && after ? differencesBetween(before.state, after.state).differences : []
      if (type === "changed" && compared.length === 0) continue
      const { gvk, namespace, name } = this.#events.objects[numbers[0] ?? -1] ?? { gvk: "", namespace: "", name: "" }
      const managers = after?.state ? managersBetween(isSame ? before?.state : undefined, after.state) : []
      each({ type, object: { gvk, namespace, name }, managers, differences: compared })
    }
  }

  /** Its events in a span, without the state at the start. */
  #inSpan(number: number, from: number, to: number): ReadonlyArray<number> {
    return [...this.#events.of(number)].filter((event) => {
      const time = this.#events.times[event] as number
      return time >= from && time <= to && this.#events.typeAt(event) !== eventTypes.listed
    })
  }

  /** `undefined`: it did not exist. */
  #stateAt(number: number, time: number): RecordedState | undefined {
    const isKnown = (event: number): boolean =>
      this.#events.typeAt(event) === eventTypes.listed || (this.#events.times[event] as number) <= time
    const last = this.#events.of(number).findLast(isKnown)
    if (last === undefined || this.#events.typeAt(last) >= eventTypes.deleted) return undefined
    return this.#states.at(number, last)
  }

  #rangesOf(number: number): ReadonlyArray<TileRange> {
    const object = this.#events.objects[number]
    return this.#facts.lacks.filter(
      ({ gvk, namespace }) => gvk === object?.gvk && (namespace === "" || namespace === object.namespace),
    )
  }

  /** The rows below an object: what its states say of its conditions and containers. */
  #partTiles(
    number: number,
    window: { readonly from: number; readonly to: number; readonly width: number },
    inSpan: ReadonlyArray<number>,
    ranges: ReadonlyArray<TileRange>,
  ): ReadonlyArray<Omit<LaneTile, "lane">> {
    const gvk = this.#events.objects[number]?.gvk ?? ""
    const before = partsOf(gvk, this.#stateAt(number, window.from - 1)?.object)
    const labels = new Map(before.map(({ part }) => [part.id, part]))
    const steps: Array<{ readonly time: number; readonly byPart: ReadonlyMap<string, Tone> }> = []
    const [first, last] = [inSpan[0], inSpan.at(-1)]
    if (first !== undefined && last !== undefined)
      for (const { event, object } of this.#states.of(number, last, first)) {
        const parts = partsOf(gvk, this.#events.typeAt(event) >= eventTypes.deleted ? undefined : object)
        for (const { part } of parts) labels.set(part.id, part)
        const byPart = new Map(parts.map(({ part, tone }) => [part.id, tone]))
        steps.push({ time: this.#events.times[event] as number, byPart })
      }
    return [...labels.values()].map((part) => {
      const start = before.find((each) => each.part.id === part.id)?.tone ?? tones.absent
      let tone: Tone = start
      const changes = steps.flatMap(({ time, byPart }) => {
        const next = byPart.get(part.id) ?? tones.absent
        if (next === tone) return []
        tone = next
        return [{ time, tone }]
      })
      return { part, columns: tileOf(window, start, changes, ranges), changes: changes.length }
    })
  }

  /** Kubernetes Events about any of the objects: their names begin with the name of the object. */
  #eventsAbout(numbers: ReadonlyArray<number>): ReadonlyArray<number> {
    const { objects } = this.#events
    const about = new Map(numbers.map((number) => [objects[number]?.name, objects[number]]))
    return objects.flatMap(({ gvk, name }, number) => {
      if (!isEventKind(gvk)) return []
      const object = about.get(name.slice(0, name.lastIndexOf(".")))
      const last = this.#events.of(number)[0]
      if (object === undefined || last === undefined) return []
      const { name: named, uid = "" } = aboutOf(this.#states.at(number, last)?.object ?? {})
      return named === object.name && (uid === "" || object.uid === "" || uid === object.uid) ? [number] : []
    })
  }
}
