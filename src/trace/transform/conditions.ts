/**
 * Conditions, made ready to be tried on many objects.
 *
 * A test of a path is met if anything that the path matches meets it; so `a != 1` is not met where there is no `a`, and `!(a == 1)` is. With a path on the
 * right, `==` means that its matches contain the value, `!=` that they do not, and an order that one of them is in it.
 *
 * Of a deletion little is known. What is not known meets no condition, and neither does it meet the negation of one.
 */
import { RE2JS } from "re2js"
import { isOrdered, isSame } from "./comparison.ts"
import { matchesOf, membersOf, type Scope, valuesOf } from "./expressions.ts"
import type { MomentOf } from "./language/moments.ts"
import { pathsIn } from "./language/paths-in.ts"
import type { Comparison, Condition, Path } from "./language/program.ts"
import { type Bindings, type Place, placesOf } from "./places.ts"

/** The bindings if the condition is met, with those that it makes; `undefined` if it is not. */
export type Trial = (scope: Scope) => Bindings | undefined

/** `momentOf` says when moments are. */
export const trialOf = (condition: Condition, momentOf: MomentOf): Trial => {
  switch (condition.type) {
    case "and": {
      const parts = condition.of.map((part) => trialOf(part, momentOf))
      return (scope) => {
        let bindings: Bindings | undefined = scope.bindings
        for (const part of parts) {
          bindings = part({ ...scope, bindings })
          if (bindings === undefined) return undefined
        }
        return bindings
      }
    }
    case "or": {
      const parts = condition.of.map((part) => trialOf(part, momentOf))
      // What one alternative binds means nothing outside of it.
      return (scope) =>
        metIf(
          parts.some((part) => part(scope) !== undefined),
          scope,
        )
    }
    case "not": {
      const part = trialOf(condition.of, momentOf)
      const isDecided = [...pathsIn(condition.of)].every(isIdentity)
      return (scope) => metIf((isDecided || !scope.isDeletion) && part(scope) === undefined, scope)
    }
    case "time": {
      const moment = momentOf(condition.moment)
      return (scope) => metIf(isRelated(scope.time, condition.operator, moment), scope)
    }
    case "bind": {
      const test = trialOf(condition.test, momentOf)
      const { variable, path } = condition
      return (scope) => {
        const alone = (place: Place): Bindings => new Map(scope.bindings).set(variable, [place])
        const bound = placesOf(scope.object, path, scope.bindings).filter(
          (place) => test({ ...scope, bindings: alone(place) }) !== undefined,
        )
        return bound.length === 0 ? undefined : new Map(scope.bindings).set(variable, bound)
      }
    }
    case "exists":
      return (scope) => metIf(placesOf(scope.object, condition.path, scope.bindings).length > 0, scope)
    case "matches": {
      const pattern = RE2JS.compile(condition.pattern)
      return (scope) =>
        metIf(
          matchesOf(condition.path, scope).some((value) => typeof value === "string" && pattern.matcher(value).find()),
          scope,
        )
    }
    case "in":
      return (scope) => {
        const members = membersOf(condition.value, scope)
        return metIf(
          matchesOf(condition.path, scope).some((value) => members.some((member) => isSame(value, member))),
          scope,
        )
      }
    case "compare":
      return (scope) => metIf(isMet(condition, scope), scope)
  }
}

/** Whether it is a field that every deletion has, in every format. */
const isIdentity = ({ variable, steps: [first, second, ...rest] }: Path): boolean => {
  if (variable !== null || rest.length > 0) return false
  return second === undefined
    ? first === "apiVersion" || first === "kind"
    : first === "metadata" && (second === "name" || second === "namespace")
}

const metIf = (isMetNow: boolean, { bindings }: Scope): Bindings | undefined => (isMetNow ? bindings : undefined)

const isMet = ({ path, operator, value }: Extract<Condition, { type: "compare" }>, scope: Scope): boolean => {
  const found = matchesOf(path, scope)
  if (found.length === 0) return false
  const others = valuesOf(value, scope)
  switch (operator) {
    case "==":
      return found.some((one) => others.some((other) => isSame(one, other)))
    case "!=":
      return found.some((one) => !others.some((other) => isSame(one, other)))
    default:
      return found.some((one) => others.some((other) => isOrdered(one, operator, other)))
  }
}

const isRelated = (time: number, operator: Comparison, moment: number): boolean => {
  switch (operator) {
    case "==":
      return time === moment
    case "!=":
      return time !== moment
    default:
      return isOrdered(time, operator, moment)
  }
}
