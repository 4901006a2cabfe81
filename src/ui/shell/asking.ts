/**
 * Asks the source for what the state needs. What is needed is worked out anew after each change of the state: questions that are no longer wanted are given up,
 * and of each sort one is under way at a time. While the window follows the present, only new columns of tiles are asked for.
 */

import type { HistorySource, Span } from "../source/source.ts"
import { SourceError } from "../source/source.ts"
import { type Row, rowsFrom } from "../state/rows.ts"
import { type DrawnTile, lanesOfPage, type PageState, sameSpan } from "../state/state.ts"
import type { Input } from "../state/updates.ts"

/** Time and the page's visibility, so that tests need neither. */
interface AskingSurroundings {
  readonly send: (input: Input) => void
  /** Runs something after some ms, unless it is cancelled. */
  readonly later: (milliseconds: number, run: () => void) => () => void
  /** Whether the page is hidden, such as in another tab; nothing new is asked then. */
  readonly isHidden: () => boolean
}

interface Question {
  /** Questions with the same key have the same answer. */
  readonly key: string
  /** What it asks for: a question under way is not replaced by one for a part of the same. */
  readonly items?: ReadonlySet<string>
  readonly run: (signal: AbortSignal) => Promise<void>
}

interface Slot {
  readonly key: string
  readonly items: ReadonlySet<string> | undefined
  /** Present while it is under way. */
  controller: AbortController | undefined
}

/** ms after the last movement of the window until it is asked about. */
const settleMs = 120

const pollMs = 1000

/** ms until a question that failed is asked again. */
const againMs = 2000

/** Refusals of a busy server in a row after which the page says so: with several pages open it is busy for moments. */
const mostBusy = 3

/** µs by which an answer may be older than the present while the page follows it. */
const lanesAge = 1_000_000
const histogramAge = 2_000_000
const findingsAge = 15_000_000
const pinsAge = 15_000_000
/** The same while they are looked at: "nothing" is to be true. */
const shownFindingsAge = 3_000_000

/** Rows beyond those in sight that are asked for. */
const margin = 8

export class Asking {
  readonly #source: HistorySource
  readonly #surroundings: AskingSurroundings
  readonly #slots = new Map<string, Slot>()
  /** By the name of a slot: how often in a row the server was busy. */
  readonly #busy = new Map<string, number>()
  #state: PageState | undefined
  #settling: (() => void) | undefined
  #settlingFor: Span | undefined
  #polling: (() => void) | undefined
  #again: (() => void) | undefined
  /** What was live once is asked about again, however late it is: a recorder whose store is stalled comes back. */
  #wasLive = false

  constructor(source: HistorySource, surroundings: AskingSurroundings) {
    this.#source = source
    this.#surroundings = surroundings
  }

  /** To be called with each new state. */
  follow(state: PageState): void {
    this.#state = state
    this.#settle(state)
    if (state.overview === undefined) return this.#ask("overview", this.#overview())
    this.#poll(state)
    if (!sameSpan(state.window, state.settled)) return
    const rows = rowsFrom(state, Math.max(0, state.top - margin), state.rows + 2 * margin)
    this.#lanes(state, rows)
    if (state.isMeasured) {
      this.#tiles(state, rows)
      this.#ask("histogram", this.#histogram(state))
    }
    // It takes long, and a place; the first rows go first.
    if (this.#slots.has("findings") || !this.#isDrawing) this.#ask("findings", this.#findings(state))
    this.#ask("pins", this.#pins(state))
    if (state.reveals !== undefined && state.reveals.above === undefined) this.#ask("reveal", this.#reveal(state))
  }

  /** Asks again for everything that failed, such as with another token. */
  retry(): void {
    const idle = [...this.#slots].filter(([, { controller }]) => controller === undefined)
    for (const [name] of idle) this.#forget(name)
    if (this.#state !== undefined) this.follow(this.#state)
  }

  close(): void {
    for (const { controller } of this.#slots.values()) controller?.abort()
    this.#slots.clear()
    for (const cancel of [this.#settling, this.#polling, this.#again]) cancel?.()
  }

  /** The last answer may change nothing that is shown, so no state follows it. */
  #drawn(): void {
    if (this.#state !== undefined && !this.#slots.has("findings")) this.follow(this.#state)
  }

  get #isDrawing(): boolean {
    const drawn = /^(?:lanes .*|tiles|histogram)$/
    return [...this.#slots].some(([name, { controller }]) => controller !== undefined && drawn.test(name))
  }

  /** A question that is not asked any more has not failed. */
  #forget(name: string): void {
    this.#slots.get(name)?.controller?.abort()
    this.#slots.delete(name)
    if (this.#state?.failures.has(name) === true)
      this.#surroundings.send({ type: "failed", about: name, failure: undefined })
  }

  #ask(name: string, question: Question | undefined): void {
    const slot = this.#slots.get(name)
    if (question === undefined || slot?.key === question.key) return
    const { items } = question
    const known = slot?.controller === undefined ? undefined : slot.items
    if (items !== undefined && known !== undefined && [...items].every((item) => known.has(item))) return
    slot?.controller?.abort()
    const controller = new AbortController()
    const asked: Slot = { key: question.key, items, controller }
    this.#slots.set(name, asked)
    const { send } = this.#surroundings
    question.run(controller.signal).then(
      () => {
        asked.controller = undefined
        this.#busy.delete(name)
        if (controller.signal.aborted) return
        send({ type: "failed", about: name, failure: undefined })
        this.#drawn()
      },
      (error: unknown) => {
        asked.controller = undefined
        if (controller.signal.aborted) return
        const { code, message } = error instanceof SourceError ? error : new SourceError("failed", String(error))
        const times = code === "busy" ? (this.#busy.get(name) ?? 0) + 1 : mostBusy
        this.#busy.set(name, times)
        if (times >= mostBusy) send({ type: "failed", about: name, failure: { code, message } })
        if (code === "failed" || code === "busy") this.#askAgain()
        this.#drawn()
      },
    )
  }

  #askAgain(): void {
    this.#again ??= this.#surroundings.later(againMs, () => {
      this.#again = undefined
      this.retry()
    })
  }

  #settle({ window, settled, isFollowing }: PageState): void {
    if (sameSpan(window, settled) || isFollowing) return
    if (this.#settlingFor !== undefined && sameSpan(this.#settlingFor, window)) return
    this.#settling?.()
    this.#settlingFor = window
    this.#settling = this.#surroundings.later(settleMs, () => {
      this.#settlingFor = undefined
      this.#surroundings.send({ type: "settled" })
    })
  }

  #poll({ overview }: PageState): void {
    if (overview?.isLive === true) this.#wasLive = true
    if (!this.#wasLive || this.#polling !== undefined) return
    this.#polling = this.#surroundings.later(pollMs, () => {
      this.#polling = undefined
      const slot = this.#slots.get("overview")
      if (!this.#surroundings.isHidden() && slot?.controller === undefined) {
        this.#slots.delete("overview")
        this.#ask("overview", this.#overview())
      } else if (this.#state !== undefined) this.#poll(this.#state)
    })
  }

  #overview(): Question {
    return {
      key: "overview",
      run: async (signal) =>
        this.#surroundings.send({ type: "overview", overview: await this.#source.overview(signal) }),
    }
  }

  #lanes(state: PageState, rows: ReadonlyArray<Row>): void {
    const wanted = new Map<string, { readonly parent: string; readonly page: number }>()
    const want = (parent: string, page: number): void => {
      wanted.set(`lanes ${parent} ${page}`, { parent, page })
    }
    if (!state.lists.has("")) want("", 0)
    const inSight = new Set(["lanes  0"])
    const sought = pageToReveal(state)
    if (sought !== undefined) {
      want(sought.parent, sought.page)
      inSight.add(`lanes ${sought.parent} ${sought.page}`)
    }
    for (const { parent, place, lane, part } of rows) {
      if (part === undefined) inSight.add(`lanes ${parent} ${Math.floor(place / lanesOfPage)}`)
      const list = state.lists.get(parent)
      const span = keptSpan(state, list?.span, lanesAge)
      const of = list?.spans.get(Math.floor(place / lanesOfPage))
      if (part === undefined && (lane === undefined || of === undefined || !sameSpan(of, span)))
        want(parent, Math.floor(place / lanesOfPage))
    }
    const outOfSight = [...this.#slots.keys()].filter((name) => name.startsWith("lanes ") && !inSight.has(name))
    for (const name of outOfSight) this.#forget(name)
    for (const [name, { parent, page }] of wanted) {
      const span = keptSpan(state, state.lists.get(parent)?.span, lanesAge)
      const { filter } = state
      const key = JSON.stringify([span, filter])
      this.#ask(name, {
        key,
        items: sameWhileFollowing(state, span, filter),
        run: async (signal) => {
          const offset = page * lanesOfPage
          const asked = { ...span, ...filter, ...(parent !== "" && { parent }), offset, limit: lanesOfPage }
          const answer = await this.#source.lanes(asked, signal)
          if (!signal.aborted) this.#surroundings.send({ type: "lanes", parent, span, offset, page: answer })
        },
      })
    }
  }

  #tiles(state: PageState, rows: ReadonlyArray<Row>): void {
    const groups = tileGroups(state, rows)
    const { namespace } = state.filter
    const named = namespace === undefined ? {} : { namespace }
    const key = JSON.stringify([groups, namespace])
    if (groups.length === 0) return
    const items = groups.flatMap(({ lanes, parts, span, width }) => {
      // While the window follows the present, rows under way are not asked for again for being a second old.
      const scale = state.isFollowing ? Math.round((span.to - span.from) / width) : `${span.from} ${span.to} ${width}`
      return lanes.map((lane) => `${lane} ${parts} ${scale}`)
    })
    this.#ask("tiles", {
      key,
      items: new Set(items),
      run: async (signal) => {
        for (const { span, width, lanes, parts, isMore } of groups)
          await this.#source.tiles(
            { ...span, ...named, width, lanes, parts },
            (tile) => {
              if (!signal.aborted) this.#surroundings.send({ type: "tile", span, tile, isMore })
            },
            signal,
          )
      },
    })
  }

  #histogram(state: PageState): Question {
    const span = keptSpan(state, state.histogram?.span, histogramAge)
    const width = Math.max(1, Math.floor(state.width / 4))
    const { filter } = state
    return {
      key: JSON.stringify([span, width, filter]),
      items: sameWhileFollowing(state, span, [width, filter]),
      run: async (signal) => {
        const counts = await this.#source.histogram({ ...span, ...filter, width }, signal)
        if (!signal.aborted) this.#surroundings.send({ type: "histogram", span, counts })
      },
    }
  }

  #findings(state: PageState): Question {
    const age = state.pane === "findings" ? shownFindingsAge : findingsAge
    const span = keptSpan(state, (state.found.next ?? state.found).span, age)
    const { filter } = state
    return {
      key: JSON.stringify([span, filter]),
      items: sameWhileFollowing(state, span, filter),
      run: (signal) => {
        this.#surroundings.send({ type: "examined", span })
        return this.#source.findings(
          { ...span, ...filter },
          (found) => {
            if (!signal.aborted) this.#surroundings.send({ type: "finding", span, found })
          },
          signal,
        )
      },
    }
  }

  #pins({ overview }: PageState): Question | undefined {
    const { pins } = this.#source
    if (pins === undefined || overview === undefined) return undefined
    return {
      // Alerts and other people pin as well.
      key: overview.isLive ? `${Math.floor(overview.span.to / pinsAge)}` : "",
      run: async (signal) => {
        const listed = await pins.list(signal)
        if (!signal.aborted) this.#surroundings.send({ type: "pins", pins: listed })
      },
    }
  }

  #reveal(state: PageState): Question | undefined {
    const { reveals, settled } = state
    if (reveals === undefined) return undefined
    return {
      key: JSON.stringify([reveals, settled]),
      items: sameWhileFollowing(state, settled, reveals),
      run: async (signal) => {
        const found = await this.#source.laneOf({ ...settled, ...reveals }, signal)
        if (!signal.aborted) this.#surroundings.send({ type: "placed", lane: found?.lane, above: found?.above ?? [] })
      },
    }
  }
}

/** While the window follows the present, an answer under way is not asked for again for being a second old: it would never come. */
const sameWhileFollowing = ({ isFollowing }: PageState, span: Span, about: unknown): ReadonlySet<string> =>
  new Set([JSON.stringify([isFollowing ? span.to - span.from : span, about])])

/** What has to be read next of the lists above what is to be brought into sight; `undefined`: nothing. */
const pageToReveal = ({
  reveals,
  lists,
  row,
}: PageState): { readonly parent: string; readonly page: number } | undefined => {
  if (reveals?.above === undefined) return undefined
  const path = [...reveals.above, row]
  for (const [index, id] of path.entries()) {
    const parent = path[index - 1] ?? ""
    const list = lists.get(parent)
    if (list?.places.has(id) === true) continue
    for (let page = 0; page * lanesOfPage < (list?.total ?? 1); page++)
      if (list?.lanes.has(page * lanesOfPage) !== true) return { parent, page }
    return undefined
  }
  return undefined
}

/** The span of an answer that is still good enough, else the window. */
const keptSpan = ({ settled, isFollowing }: PageState, known: Span | undefined, age: number): Span => {
  if (!isFollowing || known === undefined) return settled
  const isSameLength = known.to - known.from === settled.to - settled.from
  return isSameLength && settled.to - known.to <= age && settled.to >= known.to ? known : settled
}

interface TileGroup {
  readonly span: Span
  readonly width: number
  readonly lanes: ReadonlyArray<string>
  readonly parts: boolean
  readonly isMore: boolean
}

/** Rows of tiles that are missing, by what is asked of them. */
const tileGroups = (state: PageState, rows: ReadonlyArray<Row>): ReadonlyArray<TileGroup> => {
  const { settled: span, width } = state
  const groups = new Map<string, TileGroup & { readonly lanes: string[] }>()
  for (const { lane, part, isOpen } of rows) {
    if (lane?.type !== "object" || part !== undefined) continue
    const tile = state.tiles.get(lane.id)
    const hasParts = !isOpen || state.parts.has(lane.id)
    const rest = tile === undefined || !hasParts ? undefined : columnsAfter(tile, state)
    if (rest === "none") continue
    const asked = rest ?? { span, width }
    const key = `${isOpen} ${asked.span.from} ${asked.span.to} ${asked.width}`
    const group = groups.get(key) ?? { ...asked, lanes: [], parts: isOpen, isMore: rest !== undefined }
    group.lanes.push(lane.id)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** What a tile lacks of the window at its end; `none`: nothing; `undefined`: it is of another scale, or of another stretch. */
const columnsAfter = (
  { from, micros, columns }: DrawnTile,
  { settled, width, isFollowing }: PageState,
): { readonly span: Span; readonly width: number } | "none" | undefined => {
  const wanted = (settled.to - settled.from) / width
  if (Math.abs(wanted / micros - 1) > 1e-6) return undefined
  const end = from + columns.length * micros
  if (!isFollowing) return Math.abs(from - settled.from) < 1 && columns.length === width ? "none" : undefined
  if (from > settled.from + micros || end < settled.from) return undefined
  const more = Math.floor((settled.to - end) / micros)
  if (more <= 0) return "none"
  return { span: { from: end, to: end + more * micros }, width: more }
}
