/**
 * Evaluates a checked expression. Every step is charged to a meter as the API server's interpreter charges it, so that an expression is
 * stopped here where it is stopped there. The numbers below are those of CEL's standard interpretation of macros as loops: a
 * loop of `all` reads its result twice and combines it once in each turn, and so on.
 */

import type { Meter } from "./meter.ts"
import { accepts, type Overload } from "./overload.ts"
import { EvaluationError, fail } from "./problems.ts"
import type { Expression, Fold } from "./syntax.ts"
import { List, Mapping, Optional, typeNameOf, type Value } from "./values.ts"

/** Overloads by name. */
type Functions = ReadonlyMap<string, ReadonlyArray<Overload>>

/** The variables of an evaluation. */
interface Bindings {
  readonly get: (name: string) => Value | undefined
}

/** Throws EvaluationError, CostLimitError. */
export const evaluate = (expression: Expression, bindings: Bindings, functions: Functions, meter: Meter): Value =>
  new Evaluation(functions, meter).value(expression, bindings)

type FoldNode = Fold & Expression

const listCost = 10
const mapCost = 30

class Evaluation {
  readonly #functions: Functions
  readonly #meter: Meter

  constructor(functions: Functions, meter: Meter) {
    this.#functions = functions
    this.#meter = meter
  }

  value(at: Expression, bindings: Bindings): Value {
    this.#meter.step()
    switch (at.op) {
      case "constant":
        return at.value
      case "identifier":
      case "select":
      case "index":
        return this.#read(at, bindings, true)
      case "has":
        return this.#has(at.operand, at.field, bindings)
      case "list": {
        const items = at.items.map((item) => this.value(item, bindings))
        this.#meter.spend(listCost)
        return new List(items)
      }
      case "map":
        return this.#literalMap(at.entries, bindings)
      case "conditional": {
        const condition = this.value(at.condition, bindings)
        if (typeof condition !== "boolean") return fail("no such overload")
        const branch = condition ? at.yes : at.no
        return isReading(branch) ? this.#read(branch, bindings, false) : this.value(branch, bindings)
      }
      case "and":
        return this.#logical(at.left, at.right, false, bindings)
      case "or":
        return this.#logical(at.left, at.right, true, bindings)
      case "call":
        return this.#call(at.name, at.isMethod, at.args, bindings)
      case "fold":
        return this.#fold(at, bindings)
      case "optional-map": {
        const operand = this.value(at.operand, bindings)
        if (!(operand instanceof Optional)) return fail("no such overload")
        if (operand.value === undefined) return operand
        const result = this.value(at.body, withVariable(bindings, at.variable, operand.value))
        return at.isFlat ? result : new Optional(result)
      }
    }
  }

  /** A variable, field or item. Where the interpreter reads one without looking at it (a branch of `?:`, a key), it is free. */
  #read(at: Expression, bindings: Bindings, isCharged: boolean): Value {
    if (at.op === "identifier") {
      if (isCharged) this.#meter.spend(1)
      return present(bindings.get(at.name), () => `no such attribute(s): ${at.name}`)
    }
    if (at.op !== "select" && at.op !== "index") {
      const base = this.value(at, bindings)
      if (isCharged) this.#meter.spend(1)
      return base
    }
    this.#meter.step()
    const operand = this.#read(at.operand, bindings, isCharged)
    const key = at.op === "select" ? at.field : this.#key(at.key, bindings)
    if (isCharged) this.#meter.spend(1)
    return at.isOptional || operand instanceof Optional ? optionalMember(operand, key) : member(operand, key)
  }

  #key(at: Expression, bindings: Bindings): Value {
    return isReading(at) ? this.#read(at, bindings, false) : this.value(at, bindings)
  }

  #has(at: Expression, field: string, bindings: Bindings): Value {
    const operand = this.#read(at, bindings, true)
    const holder = operand instanceof Optional ? operand.value : operand
    if (holder === undefined) return false
    return holder instanceof Mapping
      ? holder.get(field) !== undefined
      : fail(`unsupported selection of '${field}' in ${typeNameOf(holder)}`)
  }

  #literalMap(entries: ReadonlyArray<readonly [Expression, Expression]>, bindings: Bindings): Value {
    const made = new Map<Value, Value>()
    for (const [key, value] of entries) made.set(this.value(key, bindings), this.value(value, bindings))
    this.#meter.spend(mapCost)
    return Mapping.of(made)
  }

  /** `decisive` on either side decides, even if the other side has no value. */
  #logical(left: Expression, right: Expression, decisive: boolean, bindings: Bindings): boolean {
    const first = this.#attempt(left, bindings)
    if (first === decisive) return decisive
    const second = this.#attempt(right, bindings)
    if (second === decisive) return decisive
    for (const outcome of [first, second]) {
      if (outcome instanceof EvaluationError) throw outcome
      if (typeof outcome !== "boolean") fail("no such overload")
    }
    return !decisive
  }

  #attempt(at: Expression, bindings: Bindings): Value | EvaluationError {
    try {
      return this.value(at, bindings)
    } catch (error) {
      if (error instanceof EvaluationError) return error
      throw error
    }
  }

  #call(name: string, isMethod: boolean, operands: ReadonlyArray<Expression>, bindings: Bindings): Value {
    const args = operands.map((operand) => this.value(operand, bindings))
    const found = this.#functions.get(name)?.find((one) => one.isMethod === isMethod && accepts(one, args))
    if (found === undefined) return fail("no such overload")
    const result = found.run(args, this.#meter)
    this.#meter.spend(found.cost(args, result))
    return result
  }

  #fold(at: FoldNode, bindings: Bindings): Value {
    const range = this.value(at.range, bindings)
    if (!(range instanceof List || range instanceof Mapping)) return fail("no such overload")
    switch (at.macro) {
      case "all":
        return this.#quantified(at, range, bindings, false)
      case "exists":
        return this.#quantified(at, range, bindings, true)
      case "exists_one": {
        let found = 0
        for (const turn of turns(at, range, bindings)) {
          if (!this.#test(at.body, turn.bindings)) continue
          found++
          this.#meter.spend(2)
        }
        this.#meter.spend(2)
        return found === 1
      }
      case "filter":
      case "map":
      case "transformList":
        return this.#listed(at, range, bindings)
      case "transformMap":
      case "transformMapEntry":
        return this.#mapped(at, range, bindings)
    }
  }

  #quantified(at: FoldNode, range: List | Mapping, bindings: Bindings, decisive: boolean): boolean {
    let problem: EvaluationError | undefined
    let isDecided = false
    for (const turn of turns(at, range, bindings)) {
      this.#meter.spend(decisive ? 3 : 2)
      if (isDecided) break
      this.#meter.spend(1)
      const outcome = this.#attempt(at.body, turn.bindings)
      if (outcome === decisive) isDecided = true
      else if (outcome instanceof EvaluationError) problem ??= outcome
      else if (typeof outcome !== "boolean") problem ??= new EvaluationError({ problem: "no such overload" })
    }
    this.#meter.spend(1)
    if (isDecided) return decisive
    if (problem !== undefined) throw problem
    return !decisive
  }

  #listed(at: FoldNode, range: List | Mapping, bindings: Bindings): Value {
    const { macro, filter, body } = at
    const made: Value[] = []
    this.#meter.spend(listCost)
    for (const turn of turns(at, range, bindings)) {
      if (macro === "filter") {
        if (!this.#test(body, turn.bindings)) continue
        this.#meter.spend(listCost + 3)
        made.push(turn.first)
      } else {
        if (filter !== undefined && !this.#test(filter, turn.bindings)) continue
        this.#meter.spend(listCost + 2)
        made.push(this.value(body, turn.bindings))
      }
    }
    this.#meter.spend(1)
    return new List(made)
  }

  #mapped(at: FoldNode, range: List | Mapping, bindings: Bindings): Value {
    const { macro, filter, body } = at
    const made = new Map<Value, Value>()
    this.#meter.spend(mapCost)
    for (const turn of turns(at, range, bindings)) {
      if (filter !== undefined && !this.#test(filter, turn.bindings)) continue
      this.#meter.spend(2)
      const value = this.value(body, turn.bindings)
      if (macro === "transformMap") {
        this.#meter.spend(1)
        made.set(turn.first, value)
      } else if (value instanceof Mapping)
        for (const key of value.keys) {
          if (made.has(key)) fail(`insert failed: key ${String(key)} already exists`)
          made.set(key, value.get(key) ?? null)
        }
      else fail("no such overload")
    }
    this.#meter.spend(1)
    return Mapping.of(made)
  }

  #test(at: Expression, bindings: Bindings): boolean {
    const outcome = this.value(at, bindings)
    return typeof outcome === "boolean" ? outcome : fail("no such overload")
  }
}

const isReading = (at: Expression): boolean =>
  at.op === "identifier" || ((at.op === "select" || at.op === "index") && isReading(at.operand))

/** Null is a value. */
const present = (value: Value | undefined, problem: () => string): Value =>
  value === undefined ? fail(problem()) : value

const member = (holder: Value, key: Value): Value => {
  if (holder instanceof Mapping) return present(holder.get(key), () => `no such key: ${String(key)}`)
  if (!(holder instanceof List)) return fail("no such overload")
  return present(itemAt(holder, key), () => `index out of bounds: ${String(key)}`)
}

/** None for what is missing, and for every member of none. */
const optionalMember = (holder: Value, key: Value): Optional => {
  const inside = holder instanceof Optional ? holder.value : holder
  if (inside === undefined) return new Optional(undefined)
  if (inside instanceof Mapping) return new Optional(inside.get(key))
  return inside instanceof List ? new Optional(itemAt(inside, key)) : fail("no such overload")
}

const itemAt = (list: List, key: Value): Value | undefined => {
  if (typeof key !== "bigint" && !(typeof key === "number" && Number.isInteger(key)))
    return fail(`unsupported index: ${String(key)}`)
  const index = Number(key)
  return index < 0 ? undefined : list.items[index]
}

interface Turn {
  readonly bindings: Bindings
  /** The item, index or key. */
  readonly first: Value
}

function* turns({ variables: [one, other] }: Fold, range: List | Mapping, bindings: Bindings): Generator<Turn> {
  if (range instanceof List) {
    for (const [index, item] of range.items.entries()) {
      const first = other === undefined ? item : BigInt(index)
      const inner = withVariable(bindings, one, first)
      yield { first, bindings: other === undefined ? inner : withVariable(inner, other, item) }
    }
    return
  }
  for (const key of range.keys) {
    const inner = withVariable(bindings, one, key)
    yield { first: key, bindings: other === undefined ? inner : withVariable(inner, other, range.get(key) ?? null) }
  }
}

const withVariable = (outer: Bindings, variable: string, value: Value): Bindings => ({
  get: (name) => (name === variable ? value : outer.get(name)),
})
