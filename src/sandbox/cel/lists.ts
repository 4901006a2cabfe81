/** Methods of lists, sets and optional values, and macros with two variables. */

import { fail, step } from "./evaluation.ts"
import { type CheckedType, declaredName, type Macro, type MacroCall, type Node, type Scope } from "./node.ts"
import type { Extension } from "./program.ts"
import { areEqual, compared, isDuration, isOptional, isUnsigned, library, optionalOf, type Value } from "./values.ts"

type List = ReadonlyArray<Value>

const extreme = (name: string, items: List, sign: 1 | -1): Value => {
  step(items.length)
  if (items.length === 0) return fail(`${name} called on empty list`)
  return items.reduce((best, item) => (compared(item, best) * sign > 0 ? item : best))
}

const isSorted = (items: List): boolean =>
  items.every((item, index) => index === 0 || compared(items[index - 1] ?? null, item) <= 0)

const sum = (items: List): Value =>
  items.length === 0
    ? 0n
    : items.reduce((total, item) => {
        if (typeof total === "bigint" && typeof item === "bigint")
          return BigInt.asIntN(64, total + item) === total + item ? total + item : fail("integer overflow")
        if (typeof total === "number" && typeof item === "number") return total + item
        if (isUnsigned(total) && isUnsigned(item)) return new (library().UnsignedInt)(total.value + item.value)
        return isDuration(total) && isDuration(item) ? total.addDuration(item) : fail("no such overload")
      })

const includes = (items: List, item: Value): boolean => items.some((other) => areEqual(item, other))
const isSubset = (part: List, whole: List): boolean => part.every((item) => includes(whole, item))

/** Whether a value is the zero of its type. */
const isZero = (value: Value): boolean =>
  value === null ||
  value === false ||
  value === 0n ||
  value === 0 ||
  value === "" ||
  (Array.isArray(value) && value.length === 0) ||
  (value instanceof Map && value.size === 0)

export const lists: Extension = {
  functions: [
    ["list<A>.isSorted(): bool", isSorted],
    ["list<A>.max(): A", (items: List) => extreme("max", items, 1)],
    ["list<A>.min(): A", (items: List) => extreme("min", items, -1)],
    ["list<A>.sum(): A", sum],
    [
      "list<A>.indexOf(A): int",
      (items: List, item: Value) => BigInt(items.findIndex((other) => areEqual(item, other))),
    ],
    [
      "list<A>.lastIndexOf(A): int",
      (items: List, item: Value) => BigInt(items.findLastIndex((other) => areEqual(item, other))),
    ],
    ["Of.sets.contains(list<A>, list<A>): bool", (_: object, whole: List, part: List) => isSubset(part, whole)],
    [
      "Of.sets.equivalent(list<A>, list<A>): bool",
      (_: object, left: List, right: List) => isSubset(left, right) && isSubset(right, left),
    ],
    [
      "Of.sets.intersects(list<A>, list<A>): bool",
      (_: object, left: List, right: List) => left.some((item) => includes(right, item)),
    ],
    [
      "OptionalNamespace.ofNonZeroValue(A): optional<A>",
      (_: object, value: Value) => optionalOf(isZero(value) ? undefined : value),
    ],
  ],
}

const nameIn = (node: Node | undefined): string => declaredName(node) ?? fail("argument must be a simple name")

/** `range.NAME(variable, variable, filter?, body)`: what the outcomes of the body make, entry by entry. */
type Fold = (entries: Iterable<readonly [Value, () => Value]>) => Value

/** The first outcome that decides, or a failure that nothing has decided. */
const decided = (entries: Iterable<readonly [Value, () => Value]>, by: boolean): boolean => {
  let failure: unknown
  for (const [, outcome] of entries)
    try {
      if (outcome() === by) return by
    } catch (error) {
      failure ??= error
    }
  if (failure !== undefined) throw failure
  return !by
}

interface LoopKind {
  readonly fold: Fold
  readonly result: (key: CheckedType, body: CheckedType) => string
}

const bool = (): string => "bool"
const exactlyOne: LoopKind = {
  fold: (entries) => [...entries].filter(([, outcome]) => outcome() === true).length === 1,
  result: bool,
}

const loopKinds: Readonly<Record<string, LoopKind>> = {
  all: { fold: (entries) => decided(entries, false), result: bool },
  exists: { fold: (entries) => decided(entries, true), result: bool },
  exists_one: exactlyOne,
  existsOne: exactlyOne,
  transformList: {
    fold: (entries) => [...entries].map(([, outcome]) => outcome()),
    result: (_key, body) => `list<${body.name}>`,
  },
  transformMap: {
    fold: (entries) => new Map([...entries].map(([key, outcome]) => [key, outcome()])),
    result: (key, body) => `map<${key.name}, ${body.name}>`,
  },
  transformMapEntry: {
    fold: (entries) => new Map([...entries].flatMap(([, outcome]) => [...(outcome() as ReadonlyMap<Value, Value>)])),
    result: (_key, body) => body.name,
  },
}

const entriesOf = (range: Value): ReadonlyArray<readonly [Value, Value]> => {
  if (Array.isArray(range)) return range.map((item, index) => [BigInt(index), item])
  return range instanceof Map ? [...range] : fail("no such overload")
}

const loop =
  ({ fold, result }: LoopKind) =>
  ({ args, receiver }: MacroCall): Macro => {
    const [one, other] = [nameIn(args[0]), nameIn(args[1])]
    const body = args[args.length - 1] as Node
    const filter = args.length === 4 ? args[2] : undefined
    let scopes: Scope[] = []
    return {
      async: false,
      typeCheck: (checker, _self, scope) => {
        const range = checker.check(receiver, scope)
        const dyn = checker.getType("dyn")
        if (!["list", "map", "dyn"].includes(range.kind))
          throw checker.createError(
            "range",
            `expression of type '${range.name}' cannot be range of a comprehension (must be list, map, or dynamic)`,
            receiver,
          )
        const key = range.kind === "list" ? checker.getType("int") : range.kind === "map" ? range.keyType : dyn
        const outer = scope.forkWithVariable(one, key)
        const inner = outer.forkWithVariable(other, range.kind === "dyn" ? dyn : range.valueType)
        scopes = [outer, inner]
        const type = checker.check(body, inner)
        const filterType = filter && checker.check(filter, inner)
        for (const found of result === bool ? [type, filterType] : [filterType])
          if (found !== undefined && found.name !== "bool" && found.kind !== "dyn")
            throw checker.createError("predicate", `expected type 'bool' but found '${found.name}'`, body)
        return checker.getType(result(key, type))
      },
      evaluate: (evaluator, _self, scope) => {
        const within = ([key, value]: readonly [Value, Value]) =>
          scopes[1]
            ?.reuse(scopes[0]?.reuse(scope).setIterValue(key, evaluator) ?? scope)
            .setIterValue(value, evaluator) ?? scope
        const all = entriesOf(evaluator.run(receiver, scope))
        const kept = filter === undefined ? all : all.filter((entry) => evaluator.run(filter, within(entry)) === true)
        return fold(kept.map((entry) => [entry[0], () => evaluator.run(body, within(entry))] as const))
      },
    }
  }

/** `operand.optMap(variable, body)`, or `optFlatMap` with a body that is optional itself. */
const optionalMap =
  (isFlat: boolean) =>
  ({ args, receiver }: MacroCall): Macro => {
    const name = nameIn(args[0])
    const body = args[1] as Node
    let inner: Scope | undefined
    return {
      async: false,
      typeCheck: (checker, _self, scope) => {
        const operand = checker.check(receiver, scope)
        if (operand.kind !== "optional" && operand.kind !== "dyn")
          throw checker.createError("optional", `found no matching overload for '${operand.name}'`, receiver)
        inner = scope.forkWithVariable(name, operand.kind === "optional" ? operand.valueType : operand)
        const type = checker.check(body, inner)
        return isFlat ? type : checker.getType(`optional<${type.name}>`)
      },
      evaluate: (evaluator, _self, scope) => {
        const operand = evaluator.run(receiver, scope)
        if (!isOptional(operand)) return fail("no such overload")
        if (!operand.hasValue() || inner === undefined) return operand
        const value = evaluator.run(body, inner.reuse(scope).setIterValue(operand.value(), evaluator))
        return isFlat ? value : optionalOf(value)
      },
    }
  }

/** Macros. */
export const loops: Extension["functions"] = [
  ...Object.entries(loopKinds).flatMap(([name, kind]): Extension["functions"] => [
    [`list<dyn>.${name}(ast, ast, ast): dyn`, loop(kind)],
    ...(name.startsWith("transform") ? [[`list<dyn>.${name}(ast, ast, ast, ast): dyn`, loop(kind)] as const] : []),
  ]),
  ["optional<dyn>.optMap(ast, ast): dyn", optionalMap(false)],
  ["optional<dyn>.optFlatMap(ast, ast): dyn", optionalMap(true)],
]
