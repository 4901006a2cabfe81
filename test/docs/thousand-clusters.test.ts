/** The totals of docs/guides/thousand-clusters.md follow from its inputs, measured inputs are in the pages that it links or names, and tests that it names exist. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { root } from "./project.ts"

const page = "docs/guides/thousand-clusters.md"
const rows = readFileSync(join(root, page), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.slice(2, -2).split(" | "))

const numberIn = (text: string): number => Number(text.replaceAll(",", ""))

/** `+` between products; factors from left to right; `⌈…⌉` rounds up. */
const evaluated = (expression: string, known: ReadonlyMap<string, number>): number => {
  const [, inner] = /^⌈(.*)⌉$/.exec(expression) ?? []
  if (inner !== undefined) return Math.ceil(evaluated(inner, known))
  const numberOf = (word: string): number => known.get(word) ?? Number(word)
  return expression
    .split(" + ")
    .map((term) => {
      const [first = "", ...rest] = term.split(/ (?=[×÷] )/)
      return rest.reduce((value, part) => {
        const factor = numberOf(part.slice(2))
        return part.startsWith("×") ? value * factor : value / factor
      }, numberOf(first))
    })
    .reduce((sum, term) => sum + term, 0)
}

const inputs = rows.filter(([name = "", value = ""]) => /^`\w+`$/.test(name) && /^[\d.,]+$/.test(value))
const totals = rows.filter(([name = "", , value = ""]) => /^`\w+`$/.test(name) && /^[\d.,]+$/.test(value))

test("every total is what its inputs make, to three digits", () => {
  const known = new Map(inputs.map(([name = "", value = ""]) => [name.slice(1, -1), numberIn(value)]))
  for (const [name = "", how = "", value = ""] of totals) {
    const found = how.startsWith("given") ? numberIn(value) : evaluated(how, known)
    known.set(name.slice(1, -1), found)
    expect(numberIn(value) / found, `${name} = ${how} = ${found}`).toBeCloseTo(1, 2)
  }
  expect(totals.length).toBeGreaterThan(20)
})

test("measured inputs are in the pages that they are from", () => {
  const measured = inputs.flatMap(([, value = "", what = ""]) => {
    const [, linked] = /\]\(([^)]+)\)/.exec(what) ?? []
    // Studies are not in the package, so the page names them.
    const [, named] = /`(bench\/[^`]+)`/.exec(what) ?? []
    const path = linked === undefined ? named : join(dirname(page), linked)
    return path === undefined ? [] : [[value, path] as const]
  })
  expect(measured.length).toBeGreaterThan(4)
  for (const [value, path] of measured) {
    const text = readFileSync(join(root, path), "utf8").replaceAll(",", "")
    expect(text, `${value} in ${path}`).toContain(value)
  }
})

test("what checks each failure exists", () => {
  const named = rows.flatMap(([, , , checkedBy = ""]) => /`(test\/[^`]+)`/.exec(checkedBy)?.[1] ?? [])
  expect(named.length).toBeGreaterThan(10)
  for (const path of named) expect(existsSync(join(root, path)), path).toBe(true)
})
