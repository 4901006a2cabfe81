/**
 * Patterns matched as the real server does: all ways through the pattern at once (Thompson's construction), so that a text
 * costs its length times the size of the pattern, whatever both are. JavaScript's own engine tries one way after the other,
 * which for `(a+)+$` and thirty characters takes longer than anybody waits, on the thread of every other request.
 */

import { readPattern } from "./read-pattern.ts"
import { type Assertion, type PatternNode, refusePart } from "./syntax.ts"

/** Steps of a pattern, repetitions written out. The real server takes some 30 times as many. */
const maximumSteps = 100_000

type Step =
  | { readonly type: "one"; readonly takes: (point: number) => boolean }
  | { readonly type: "assertion"; readonly assertion: Assertion }
  /** To the next step and to another one. */
  | { readonly type: "fork"; target: number }
  | { readonly type: "jump"; target: number }
  | { readonly type: "match" }

export class Pattern {
  readonly #steps: Step[] = []
  readonly #classes = new Map<string, (point: number) => boolean>()

  /** Throws PatternError with Go's words. */
  constructor(pattern: string) {
    const node = readPattern(pattern)
    if (sizeOf(node) > maximumSteps) refusePart("expression too large", pattern)
    this.#compile(node)
    this.#steps.push({ type: "match" })
  }

  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    let current = new Places(this.#steps.length)
    let next = new Places(this.#steps.length)
    let before: number | undefined
    for (let at = 0; ; ) {
      const point = text.codePointAt(at)
      // A match may begin anywhere.
      if (this.#enter(current, 0, before, point)) return true
      if (point === undefined) return false
      at += point > 0xffff ? 2 : 1
      const after = text.codePointAt(at)
      next.clear()
      for (let index = 0; index < current.size; index++) {
        const place = current.at(index)
        const step = this.#steps[place]
        if (step?.type === "one" && step.takes(point) && this.#enter(next, place + 1, point, after)) return true
      }
      ;[current, next] = [next, current]
      before = point
    }
  }

  /** Adds a step and all that can be reached from it without taking a character; whether the end is among them. */
  #enter(places: Places, start: number, before: number | undefined, after: number | undefined): boolean {
    const pending = [start]
    for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
      if (!places.add(place)) continue
      const step = this.#steps[place]
      if (step === undefined || step.type === "match") return true
      if (step.type === "jump") pending.push(step.target)
      else if (step.type === "fork") pending.push(step.target, place + 1)
      else if (step.type === "assertion" && holds(step.assertion, before, after)) pending.push(place + 1)
    }
    return false
  }

  #compile(node: PatternNode): void {
    switch (node.type) {
      case "one":
        this.#steps.push({ type: "one", takes: this.#classOf(node.source, node.ignoresCase) })
        return
      case "assertion":
        this.#steps.push(node)
        return
      case "sequence":
        for (const each of node.nodes) this.#compile(each)
        return
      case "choice":
        this.#compileChoice(node.nodes)
        return
      case "repeat":
        this.#compileRepeat(node)
    }
  }

  #compileChoice(nodes: ReadonlyArray<PatternNode>): void {
    const jumps = nodes.slice(0, -1).map((node) => {
      const fork = this.#fork()
      this.#compile(node)
      const jump = this.#jump(0)
      fork.target = this.#steps.length
      return jump
    })
    const last = nodes.at(-1)
    if (last !== undefined) this.#compile(last)
    for (const jump of jumps) jump.target = this.#steps.length
  }

  #compileRepeat({ node, least, most }: Extract<PatternNode, { type: "repeat" }>): void {
    for (let count = 0; count < least; count++) this.#compile(node)
    if (most === undefined) {
      const start = this.#steps.length
      const fork = this.#fork()
      this.#compile(node)
      this.#jump(start)
      fork.target = this.#steps.length
      return
    }
    const forks = Array.from({ length: most - least }, () => {
      const fork = this.#fork()
      this.#compile(node)
      return fork
    })
    for (const fork of forks) fork.target = this.#steps.length
  }

  #fork(): { target: number } {
    const step = { type: "fork" as const, target: 0 }
    this.#steps.push(step)
    return step
  }

  #jump(target: number): { target: number } {
    const step = { type: "jump" as const, target }
    this.#steps.push(step)
    return step
  }

  /** A class takes one character, so JavaScript's engine has no ways to try. */
  #classOf(source: string, ignoresCase: boolean): (point: number) => boolean {
    const key = `${source}${ignoresCase ? "i" : ""}`
    const known = this.#classes.get(key)
    if (known !== undefined) return known
    const expression = new RegExp(source, ignoresCase ? "iu" : "u")
    const ascii = Array.from({ length: 128 }, (_, point) => expression.test(String.fromCharCode(point)))
    const takes = (point: number): boolean => ascii[point] ?? expression.test(String.fromCodePoint(point))
    this.#classes.set(key, takes)
    return takes
  }
}

/** A set of steps in the order in which they were added, emptied at no cost. */
class Places {
  readonly #places: Int32Array
  /** Where each step stands in the list, if it does. */
  readonly #index: Int32Array
  size = 0

  constructor(steps: number) {
    this.#places = new Int32Array(steps)
    this.#index = new Int32Array(steps)
  }

  clear(): void {
    this.size = 0
  }

  at(index: number): number {
    return this.#places[index] ?? 0
  }

  /** Whether it was not there yet. */
  add(place: number): boolean {
    const index = this.#index[place] ?? 0
    if (index < this.size && this.#places[index] === place) return false
    this.#index[place] = this.size
    this.#places[this.size++] = place
    return true
  }
}

const lineFeed = 10

const isWord = (point: number | undefined): boolean => point !== undefined && /^\w$/.test(String.fromCodePoint(point))

const holds = (assertion: Assertion, before: number | undefined, after: number | undefined): boolean => {
  switch (assertion) {
    case "textStart":
      return before === undefined
    case "textEnd":
      return after === undefined
    case "lineStart":
      return before === undefined || before === lineFeed
    case "lineEnd":
      return after === undefined || after === lineFeed
    case "wordEdge":
      return isWord(before) !== isWord(after)
    case "noWordEdge":
      return isWord(before) === isWord(after)
  }
}

/** Steps at most. */
const sizeOf = (node: PatternNode): number => {
  switch (node.type) {
    case "one":
    case "assertion":
      return 1
    case "sequence":
    case "choice":
      return node.nodes.reduce((sum, each) => sum + sizeOf(each) + 2, 0)
    case "repeat":
      return (sizeOf(node.node) + 2) * Math.max(node.least + 1, node.most ?? 0)
  }
}
