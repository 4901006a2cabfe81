/**
 * The lives of the objects of a trace, read in one pass: which of them exist, which event is of which object, and what time it is. Views draw
 * them with their {@link LifeSketch}es.
 *
 * Guaranteed: a sketch is begun once and ended once, between the start and the end of the trace. A trace without a window begins with its first
 * item. An object that exists at the end lives up to there. Every sketch gets its place.
 *
 * Memory: what is wanted of each object that is alive, as JSON, and what the sketches of those keep.
 */
import type { ObjectEvent } from "../../event.ts"
import { UnwritableTraceError } from "../../formats/format.ts"
import type { JsonObject } from "../../json/exact-json.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import type { TraceHeader, TraceItem } from "../../trace-item.ts"
import { type LifeSketch, type LifeSubject, labelOf, type OwnerName, type Root } from "./life-sketch.ts"
import { ObjectLife, subjectOf } from "./object-life.ts"
import { guarded, objectOf } from "./trace-object.ts"

/** What a view brings. */
interface LivesOptions<Sketch extends LifeSketch> {
  /** The name of the view, for errors. */
  readonly view: string
  /** A new sketch for an object that begins to live. */
  readonly sketch: (subject: LifeSubject) => Sketch
  /** Called once, before anything is drawn, with the beginning of the trace: µs since the Unix epoch, from 0 on. */
  readonly onStart?: (time: number) => void
}

/** Reads one trace. Every method throws only UnwritableTraceError. */
export class Lives<Sketch extends LifeSketch> {
  readonly #placement: Placement<Sketch>
  readonly #options: LivesOptions<Sketch>
  #header: TraceHeader | undefined
  /** µs since the Unix epoch: the start of the window, and the present. */
  #start: number | undefined
  #now = 0
  #count = 0
  readonly #byPlace = new Map<string, ObjectLife<Sketch>>()
  readonly #byUid = new Map<string, ObjectLife<Sketch>>()

  constructor(options: LivesOptions<Sketch>) {
    this.#options = options
    this.#placement = new Placement((owner, namespace) => this.#ownerOf(owner, namespace))
  }

  /** What the trace says of itself. Throws while it has not begun with it. */
  get header(): TraceHeader {
    if (this.#header === undefined)
      throw new UnwritableTraceError({
        format: this.#options.view,
        detail: "the trace does not begin with its header",
      })
    return this.#header
  }

  /** Takes an item: headers, batches and events of objects change lives, everything else at most the time. */
  add(item: TraceItem): void {
    if (item.type === "header") {
      this.#header = item
      // A window from 0 on selects a whole recording, which begins with its first item.
      if (item.window !== undefined && item.window.start > 0) this.#begin(item.window.start)
      return
    }
    // Whatever comes before the header is an error.
    const { header: _ } = this
    if (item.type === "batch") this.#advance(item.time)
    else if (item.type === "event") {
      if (item.event.type === "gap") this.#advance(item.event.time)
      else this.#object(item.event, item.isSnapshot)
    }
  }

  /** When the trace begins, in µs since the Unix epoch. A trace without anything still has a beginning. */
  beginning(): number {
    if (this.#start === undefined) this.#begin(0)
    return this.#start ?? 0
  }

  /** When it ends, as far as is known. */
  end(): number {
    return Math.max(this.#now, this.#header?.window?.end ?? 0)
  }

  /** The object that an object of that namespace names as its owner, if it is alive. */
  ownerOf(owner: OwnerName, namespace: string): Sketch | undefined {
    return this.#ownerOf(owner, namespace)?.sketch
  }

  /** The top of the chain of an owner that an object of that namespace names. */
  rootOf(owner: OwnerName, namespace: string): Root {
    return this.#placement.rootOf(owner, namespace)
  }

  /** Places what has no place yet, and ends what is alive, one at a time. */
  *finish(): Generator<void, void> {
    // Without a header there is no trace.
    const { header: _ } = this
    const end = this.end()
    this.beginning()
    this.#placement.expire(Number.POSITIVE_INFINITY)
    for (const life of this.#byPlace.values()) {
      life.end(end, "exists at the end of the trace")
      yield
    }
  }

  #object(event: ObjectEvent, isSnapshot: boolean): void {
    // What existed at the start has the time of its last change.
    if (!isSnapshot || this.#start === undefined) this.#advance(event.time)
    // The owners of the start come in any order.
    if (!isSnapshot) this.#placement.expire(this.#now)
    const { view } = this.#options
    const key = placeKey(event.gvk, event.namespace, event.name)
    const object = objectOf(event, view)
    guarded(event, view, () => {
      let life = this.#byPlace.get(key)
      const uid = life?.subject.uid ?? ""
      if (life !== undefined && uid !== event.uid && uid !== "" && event.uid !== "") {
        // A deletion of an object that is no longer there says nothing about the one that has its name now.
        if (event.action !== "applied") return
        this.#remove(key, life, "replaced by another object of its name")
        life = undefined
      }
      if (event.action === "applied") this.#applied(key, life, event, object, isSnapshot)
      else {
        const how = event.action === "deleted" ? "deleted" : "deleted at an unknown time: a list no longer had it"
        this.#remove(key, life ?? this.#added(key, event, object, isSnapshot), how, object)
      }
    })
  }

  #applied(
    key: string,
    life: ObjectLife<Sketch> | undefined,
    event: ObjectEvent,
    object: JsonObject | undefined,
    isSnapshot: boolean,
  ): void {
    if (life === undefined) this.#added(key, event, object, isSnapshot)
    else if (object !== undefined) life.observe(object, this.#now)
  }

  #added(key: string, event: ObjectEvent, object: JsonObject | undefined, existed: boolean): ObjectLife<Sketch> {
    const subject = subjectOf(event, object, { number: this.#count++, existed })
    const life = new ObjectLife(subject, this.#options.sketch(subject))
    this.#byPlace.set(key, life)
    if (subject.uid !== "") this.#byUid.set(subject.uid, life)
    this.#placement.add(life, this.#now)
    life.begin(object, this.#now)
    return life
  }

  #remove(key: string, life: ObjectLife<Sketch>, how: string, object?: JsonObject): void {
    life.end(this.#now, how, object)
    this.#byPlace.delete(key)
    if (this.#byUid.get(life.subject.uid) === life) this.#byUid.delete(life.subject.uid)
  }

  #ownerOf({ gvk, name, uid }: OwnerName, namespace: string): ObjectLife<Sketch> | undefined {
    const known = uid === "" ? undefined : this.#byUid.get(uid)
    if (known !== undefined) return known
    for (const place of [namespace, ""]) {
      const life = this.#byPlace.get(placeKey(gvk, place, name))
      // Two UIDs are two objects.
      if (life !== undefined && (uid === "" || life.subject.uid === "")) return life
    }
    return undefined
  }

  #begin(time: number): void {
    // Views have no times before 1970.
    this.#start = Math.max(0, time)
    this.#now = this.#start
    this.#options.onStart?.(this.#start)
  }

  /** Events are in the order of their times; one that is not counts as having happened at the time of the one before it. */
  #advance(time: number): void {
    if (this.#start === undefined) this.#begin(time)
    this.#now = Math.max(this.#now, time)
  }
}

/**
 * µs of the trace's time. Streams of one API server that are healthy differ by less than a second; those that are behind by more have
 * events with an estimated time, which is right to some seconds.
 */
const LONGEST_WAIT = 10_000_000

/** The object that an object of that namespace names as its owner, if it is alive. */
type FindOwner<Sketch extends LifeSketch> = (owner: OwnerName, namespace: string) => ObjectLife<Sketch> | undefined

/**
 * Finds the place of each object: below the object at the top of its owner chain.
 *
 * The trace is read once, and an owned object may come before its owner: kinds are watched on streams of their own, and the objects of the
 * start come kind by kind. So an object waits for its owner, for a limited time, and its sketch holds what it draws; then its owner's name
 * is all that is known of the chain. Once placed, it stays there. Memory: objects that are alive, or ended less than the limit ago.
 */
class Placement<Sketch extends LifeSketch> {
  readonly #findOwner: FindOwner<Sketch>
  /** Since when, in µs since the Unix epoch; in that order. */
  readonly #waiting = new Map<ObjectLife<Sketch>, number>()
  /** Who waits for an object of that kind and name, in any namespace. */
  readonly #awaited = new Map<string, Set<ObjectLife<Sketch>>>()

  constructor(findOwner: FindOwner<Sketch>) {
    this.#findOwner = findOwner
  }

  /** A new object, of which nothing has been drawn; {@link FindOwner} finds it. */
  add(life: ObjectLife<Sketch>, time: number): void {
    if (life.subject.owner === undefined)
      life.place({ root: topRoot(life.subject, life.subject.namespace), isTop: true, owner: undefined })
    else {
      this.#waiting.set(life, time)
      const key = nameKey(life.subject.owner)
      this.#awaited.set(key, (this.#awaited.get(key) ?? new Set()).add(life))
    }
    this.#settle(life)
  }

  /** Places what has waited for too long at `time`, in µs since the Unix epoch. */
  expire(time: number): void {
    for (const [life, since] of this.#waiting) {
      if (since + LONGEST_WAIT > time) return
      this.#placeByName(this.#topOf(life))
      // A circle of owners has no top.
      if (life.root === undefined) this.#placeByName(life)
    }
  }

  /** The top of the chain of an owner that an object of that namespace names. */
  rootOf(owner: OwnerName, namespace: string): Root {
    return this.#findOwner(owner, namespace)?.root ?? topRoot(owner, namespace)
  }

  #ownerOf(life: ObjectLife<Sketch>): ObjectLife<Sketch> | undefined {
    return life.subject.owner === undefined ? undefined : this.#findOwner(life.subject.owner, life.subject.namespace)
  }

  /** The last object above it that waits; it may be the object itself. */
  #topOf(life: ObjectLife<Sketch>): ObjectLife<Sketch> {
    const seen = new Set([life])
    let top = life
    for (let owner = this.#ownerOf(top); owner !== undefined && owner.root === undefined; owner = this.#ownerOf(top)) {
      if (seen.has(owner)) break
      seen.add(owner)
      top = owner
    }
    return top
  }

  /** Places what its owner's lane shows where to place, and then all that waited for that. */
  #settle(first: ObjectLife<Sketch>): void {
    const ahead = [first]
    for (let life = ahead.pop(); life !== undefined; life = ahead.pop()) {
      if (life.root === undefined) {
        const owner = this.#ownerOf(life)
        if (owner?.root === undefined) continue
        this.#place(life, owner.root, owner.sketch)
      }
      for (const waiting of this.#awaited.get(nameKey(life.subject)) ?? [])
        if (this.#ownerOf(waiting) === life) ahead.push(waiting)
    }
  }

  #placeByName(life: ObjectLife<Sketch>): void {
    if (life.subject.owner === undefined) return
    this.#place(life, topRoot(life.subject.owner, life.subject.namespace))
    this.#settle(life)
  }

  #place(life: ObjectLife<Sketch>, root: Root, owner?: Sketch): void {
    this.#waiting.delete(life)
    if (life.subject.owner !== undefined) {
      const key = nameKey(life.subject.owner)
      const others = this.#awaited.get(key)
      others?.delete(life)
      if (others?.size === 0) this.#awaited.delete(key)
    }
    life.place({ root, isTop: false, owner })
  }
}

/** An object that is itself at the top of a chain. */
const topRoot = ({ gvk, name, uid }: OwnerName, namespace: string): Root => ({
  identity: uid === "" ? placeKey(gvk, namespace, name) : `uid ${uid}`,
  ...{ label: labelOf({ gvk, name }), gvk, name, uid },
})

/** What an owner without a UID is looked up by, in its owned object's namespace or in none. */
const placeKey = (gvk: string, namespace: string, name: string): string => `${groupKindOf(gvk)} ${namespace}/${name}`

const nameKey = ({ gvk, name }: Pick<OwnerName, "gvk" | "name">): string => placeKey(gvk, "", name)
