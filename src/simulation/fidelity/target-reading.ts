/**
 * Compares the states that a replay applied to each object with those that the recording of the target has.
 *
 * The response to a write names the resourceVersion that the object got, and the recording has an event for every resourceVersion: so each
 * write is found exactly, whatever controllers write in between. What is then compared is the content ({@link appliedDifferences}). A write
 * that changed nothing has the version of an earlier event. If the recording of a kind began late, the state in its first list is compared
 * with the last write before that list.
 *
 * A deletion is matched with the next one of the replay. One that comes before the replay sent it is the replay's own doing only if the garbage
 * collector acted for it: the replay had deleted the namespace or an owner. Otherwise something else deleted the object early.
 *
 * Pods, nodes and the presence of objects are read in the same pass. Memory: one number per object and write; states are read from disk.
 */

import { exactJsonIn, isJsonObject, type JsonValue, type ObjectEvent, podKind } from "../../trace/index.ts"
import { listIn } from "../objects/pod-templates.ts"
import { metadataOf, rememberedIdentity } from "../pods/pod-identity.ts"
import { keyOf } from "../replay/changes-to-writes.ts"
import type { FieldDifference, WriteResult } from "../report/fidelity-report.ts"
import { absentReason, existsReason } from "../target/target-cluster.ts"
import { appliedDifferences } from "./applied-fields.ts"
import { PodTimes, podPhase } from "./pod-times.ts"
import { nodeKind } from "./target-recording.ts"
import { Presence, presenceIn } from "./timeline.ts"
import { ownerIn, type TracePods } from "./trace-pods.ts"
import type { JournalObject, JournalWrite, WriteJournal } from "./write-journal.ts"

/** A write, and the state of the recording that belongs to it. */
export interface ComparedWrite {
  readonly write: JournalWrite
  readonly result: WriteResult
  /** ms after the first moment; `undefined` if it was not observed. */
  readonly observed: number | undefined
  /** False: it was observed after a later state of its object. */
  readonly isInOrder: boolean
  readonly differences: ReadonlyArray<FieldDifference>
}

/** A state that the replay did not cause, and that is not what it had applied. */
interface ExtraState {
  /** ms after the first moment. */
  readonly at: number
  readonly reason: string
  readonly differences: ReadonlyArray<FieldDifference>
}

/** An object with all that was written to it, in the order of submission. */
export interface ComparedObject {
  readonly object: JournalObject
  readonly writes: ReadonlyArray<ComparedWrite>
  /** At most {@link mostExtra} of them; `extraStates` counts all. */
  readonly extra: ReadonlyArray<ExtraState>
  readonly extraStates: number
  /** Every state was observed as applied, in order, and nothing else changed what was applied. */
  readonly isEqual: boolean
  /** False: the recording lacks something of its kind, so that it cannot be called equal. */
  readonly isMeasured: boolean
}

const mostExtra = 5

/** An object of the replay, and what has been found of it. */
interface Track {
  readonly object: JournalObject
  /** Accepted applies by the version that the response named. */
  readonly versions: ReadonlyMap<string, ReadonlyArray<number>>
  readonly found: Array<Omit<ComparedWrite, "write"> | undefined>
  readonly extra: ExtraState[]
  extraStates: number
  /** Index of the latest write that was observed; -1: none. */
  last: number
  /** In what the object differs from what was applied last, since something else changed it; the empty string: in nothing. */
  changed: string
  /** It is being deleted: has a `deletionTimestamp`. */
  isEnding: boolean
}

/** The namespaces of the replay, in the target. */
export const replayedNamespaces = (journal: WriteJournal): ReadonlySet<string> => {
  const places = [...journal.objects.values()].map(({ place }) => place)
  return new Set(places.map(({ gvk, namespace, name }) => (gvk === "v1.Namespace" ? name : namespace)))
}

/** Reads the recording of the target in one pass: first all events with `read`, then `results`, once. */
export class TargetReading {
  readonly pods = new PodTimes()
  /** Pods that no webhook has marked. */
  unasked = 0
  readonly nodes = new Presence()
  /** Those of the replay, by kind. */
  readonly objects = new Map<string, Presence>()
  readonly #journal: WriteJournal
  readonly #startMicros: number
  readonly #namespaces: ReadonlySet<string>
  readonly #tracePods: Pick<TracePods, "met"> | undefined
  readonly #tracks: ReadonlyMap<string, Track>

  /** `startMicros`: µs since the Unix epoch at which the first moment was due. `tracePods`: meets each pod in one of the `namespaces`. */
  constructor(
    journal: WriteJournal,
    startMicros: number,
    namespaces: ReadonlySet<string>,
    tracePods: Pick<TracePods, "met"> | undefined,
  ) {
    this.#journal = journal
    this.#startMicros = startMicros
    this.#namespaces = namespaces
    this.#tracePods = tracePods
    this.#tracks = new Map(Array.from(journal.objects, ([key, object]) => [key, trackOf(object)]))
  }

  /** Takes the events of the recording in order. */
  read(event: ObjectEvent): void {
    const { gvk, namespace, name, action } = event
    const at = (event.time - this.#startMicros) / 1000
    const exists = action === "applied"
    const key = keyOf(event)
    if (gvk === nodeKind) this.nodes.note(key, exists, at)
    const track = this.#tracks.get(key)
    const isPod = gvk === podKind && this.#namespaces.has(namespace)
    if (track === undefined && !isPod) return
    const state = exists ? exactJsonIn(event.object) : undefined
    if (track !== undefined) {
      presenceIn(this.objects, gvk).note(key, exists, at)
      if (exists) this.#applied(track, event.resourceVersion, state, at)
      else this.#deleted(track, at)
    }
    if (isPod) this.#readPod(namespace, name, at, exists, state)
  }

  /** `measuredFrom`: ms after the first moment from which on the recording has all of a kind; Infinity: it lacks something. */
  results(measuredFrom: (gvk: string) => number): ReadonlyArray<ComparedObject> {
    return Array.from(this.#tracks.values(), ({ object, found: observed, extra, extraStates }) => {
      const from = measuredFrom(object.place.gvk)
      const isMeasured = from < Number.POSITIVE_INFINITY
      const writes = object.writes.map((write, index): ComparedWrite => {
        const found = observed[index]
        if (found !== undefined) return { write, ...found }
        return { write, result: unobserved(write, from), observed: undefined, isInOrder: true, differences: [] }
      })
      const isEqual =
        isMeasured && extraStates === 0 && writes.every(({ result, isInOrder }) => isInOrder && asIntended.has(result))
      return { object, writes, extra, extraStates, isEqual, isMeasured }
    })
  }

  #readPod(namespace: string, name: string, at: number, exists: boolean, pod: JsonValue | undefined): void {
    const phase = exists ? podPhase(pod) : undefined
    const owner = ownerIn(this.#journal, namespace, name, pod)
    const life = this.pods.observe(`${namespace}/${name}`, Math.max(0, at), at < 0, owner, phase)
    if (life === undefined) return
    this.#tracePods?.met(life, namespace, pod)
    if (rememberedIdentity(pod) === undefined) this.unasked++
  }

  #applied(track: Track, version: string, observed: JsonValue | undefined, at: number): void {
    const exact = track.versions.get(version)
    const indexes = exact ?? supersededBy(version, track)
    this.#ending(track, observed, at)
    if (indexes.length === 0) return this.#changed(track, observed, at)
    for (const index of indexes) this.#matched(track, index, observed, at, exact !== undefined)
  }

  #matched(track: Track, index: number, observed: JsonValue | undefined, at: number, isExact: boolean): void {
    const write = track.object.writes[index]
    if (track.found[index] !== undefined) return addExtra(track, at, "the same state again")
    const differences = this.#differences(track.object, index, observed)
    // A listed state that is not the last one applied says nothing about that one: something else has changed it since.
    if (!isExact && differences.length > 0) return
    // One that changed nothing was there before it was sent.
    const since = write?.sent !== undefined && at < write.sent ? write.settled : at
    const result = differences.length === 0 ? "equal" : "different"
    track.found[index] = { result, observed: since, isInOrder: index >= track.last, differences }
    track.last = Math.max(track.last, index)
    track.changed = ""
  }

  /** A state that is not the replay's: of interest if the replay had not written the object yet, or if it is no longer as applied. */
  #changed(track: Track, observed: JsonValue | undefined, at: number): void {
    const { object, last } = track
    if (object.writes[last]?.verb !== "apply") return this.#created(track, at)
    // It was different from the beginning.
    if (track.found[last]?.result === "different") return
    const differences = this.#differences(object, last, observed)
    const changed = differences.length === 0 ? "" : JSON.stringify(differences)
    // Later states with other statuses have the same change.
    const isNew = changed !== "" && changed !== track.changed
    track.changed = changed
    if (isNew) addExtra(track, at, "something else in the cluster changed it", differences)
  }

  /** It exists although the replay has not created it, or has deleted it. */
  #created(track: Track, at: number): void {
    const next = track.object.writes
      .slice(track.last + 1)
      .find(({ verb, sent }) => verb === "apply" && sent !== undefined)
    // The response to a first attempt was lost, and a controller wrote before the second.
    if ((next?.sent ?? Number.POSITIVE_INFINITY) <= at + clockErrorMs || track.changed === creation || track.isEnding)
      return
    track.changed = creation
    addExtra(track, at, `something else in the cluster created it${beforeDue(next, at)}`)
  }

  /** A deletion that others have begun: the object may stay for its grace period, or for a finalizer. */
  #ending(track: Track, observed: JsonValue | undefined, at: number): void {
    const isEnding = metadataOf(observed).deletionTimestamp !== undefined
    const hasBegun = isEnding && !track.isEnding
    track.isEnding = isEnding
    if (!hasBegun || this.#isOurDeletion(track.object, at)) return
    const next = nextDeletion(track, at)
    addExtra(track, at, `something else in the cluster began to delete it${beforeDue(next?.write, at)}`)
  }

  #deleted(track: Track, at: number): void {
    const { isEnding } = track
    track.isEnding = false
    track.changed = ""
    const next = nextDeletion(track, at)
    const isOurs = this.#isOurDeletion(track.object, at)
    if (next !== undefined && (isOurs || isAbsent(next.write))) {
      track.found[next.index] = { result: isOurs ? "equal" : "early", observed: at, isInOrder: true, differences: [] }
      track.last = next.index
    }
    // One that was begun by others has been counted then.
    if (isOurs || isEnding) return
    addExtra(track, at, `something else in the cluster deleted it${beforeDue(next?.write, at)}`)
  }

  /** Whether the replay had sent a deletion of the object by then, of its namespace, or of one of its owners. */
  #isOurDeletion({ place, writes }: JournalObject, at: number, depth = 0): boolean {
    const before = writes.filter(({ sent = Number.POSITIVE_INFINITY }) => sent <= at + clockErrorMs)
    // What was applied at that very moment may have been applied after it.
    const latest = before.findLast(({ verb, sent = 0 }) => verb === "delete" || sent < at - clockErrorMs)
    if (latest?.verb === "delete" && (latest.outcome === "accepted" || isAbsent(latest))) return true
    if (depth > deepestChain) return false
    const { namespace } = place
    const body = this.#bodyOf(before.findLast(({ body }) => body !== undefined))
    const owners = listIn(metadataOf(body).ownerReferences)
      .filter(isJsonObject)
      .flatMap(({ apiVersion, kind, name }) => {
        const owner = { gvk: `${String(apiVersion)}.${String(kind)}`, name: String(name) }
        return [namespace, ""].map((each) => ({ ...owner, namespace: each }))
      })
    return [{ gvk: "v1.Namespace", namespace: "", name: namespace }, ...owners].some((above) => {
      const object = this.#journal.objects.get(keyOf(above))
      return object !== undefined && object.place !== place && this.#isOurDeletion(object, at, depth + 1)
    })
  }

  #differences(object: JournalObject, index: number, observed: JsonValue | undefined): ReadonlyArray<FieldDifference> {
    const applied = this.#bodyOf(object.writes[index])
    if (applied === undefined || observed === undefined) return []
    return appliedDifferences(applied, observed, this.#bodyBefore(object, index), object.place.gvk === "v1.Secret")
  }

  #bodyBefore(object: JournalObject, index: number): JsonValue | undefined {
    const before = object.writes.findLast(
      ({ verb, outcome }, at) => at < index && (verb === "delete" || outcome === "accepted"),
    )
    return before?.verb === "delete" ? undefined : this.#bodyOf(before)
  }

  #bodyOf(write: JournalWrite | undefined): JsonValue | undefined {
    return write?.body === undefined ? undefined : exactJsonIn(this.#journal.read(write.body))
  }
}

/** ms by which the wall clock of a watcher's thread and the monotonic clock of the replay may disagree. */
const clockErrorMs = 5

/** Owners above an object; a longer chain is a circle. */
const deepestChain = 8
/** What has changed in an object that something else created. */
const creation = "created"

const trackOf = (object: JournalObject): Track => {
  const versions = new Map<string, number[]>()
  for (const [index, { verb, outcome, version }] of object.writes.entries()) {
    if (verb !== "apply" || outcome !== "accepted" || version === "") continue
    const same = versions.get(version)
    if (same === undefined) versions.set(version, [index])
    else same.push(index)
  }
  return { object, versions, found: [], extra: [], extraStates: 0, last: -1, changed: "", isEnding: false }
}

/** The deletion that one at this moment can be: nothing that was applied since lies between. */
const nextDeletion = (
  { object: { writes }, last }: Track,
  at: number,
): { readonly index: number; readonly write: JournalWrite } | undefined => {
  for (const [index, write] of writes.entries()) {
    if (index <= last) continue
    if (write.verb === "delete") return { index, write }
    if (write.outcome === "accepted" && (write.sent ?? 0) > at + clockErrorMs) return undefined
  }
  return undefined
}

/** `, 25.0 s before it was due`, if it was. */
const beforeDue = (write: JournalWrite | undefined, at: number): string => {
  const ms = (write?.due ?? Number.NaN) - at
  return ms > 0 ? `, ${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s before it was due` : ""
}

/** The write that a state in the first list is compared with: the last one that is older and was not observed. At most one. */
const supersededBy = (version: string, { object, found, last }: Track): ReadonlyArray<number> => {
  const index = object.writes.findLastIndex(
    (write) => write.verb === "apply" && write.outcome === "accepted" && isNewer(version, write.version),
  )
  return index > last && found[index] === undefined ? [index] : []
}

/** Versions of built-in storage are integers (Kubernetes 1.35 guarantees that they can be compared). */
const isNewer = (left: string, right: string): boolean =>
  /^\d+$/.test(left) && /^\d+$/.test(right) && BigInt(left) > BigInt(right)

const isAbsent = ({ outcome }: JournalWrite): boolean => outcome !== "accepted" && outcome.reason === absentReason

/** The result of a write that was not observed. */
const unobserved = (write: JournalWrite, measuredFrom: number): WriteResult => {
  const { outcome, settled = 0 } = write
  if (outcome === "accepted")
    // Of what was before the first list, only the last state is known.
    return settled >= measuredFrom ? "missing" : "unmeasured"
  if (outcome.tag === "refused") return "refused"
  return isAbsent(write) || outcome.reason === existsReason ? "skipped" : "unwritten"
}

/** What says nothing against an object. */
const asIntended: ReadonlySet<WriteResult> = new Set<WriteResult>(["equal", "skipped", "unmeasured"])

const addExtra = (track: Track, at: number, reason: string, differences: ExtraState["differences"] = []): void => {
  track.extraStates++
  if (track.extra.length < mostExtra) track.extra.push({ at, reason, differences })
}
