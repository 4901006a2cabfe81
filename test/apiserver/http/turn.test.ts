/** The parts of a turn: writes before responses, each in order, even if one of them throws. */

import { setImmediate as turn } from "node:timers/promises"
import { expect, test } from "vitest"
import { atTurnEnd, laterInTurn } from "../../../src/apiserver/http/turn.ts"

test("writes run before anything is sent, whatever was added first, and so do the writes that they add", async () => {
  const order: string[] = []
  atTurnEnd(() => order.push("first answer"))
  laterInTurn(() => {
    order.push("first write")
    atTurnEnd(() => order.push("second answer"))
    laterInTurn(() => order.push("third write"))
  })
  laterInTurn(() => order.push("second write"))
  expect(order).toEqual([])
  await turn()
  expect(order).toEqual(["first write", "second write", "third write", "first answer", "second answer"])
})

test("a step that throws stops no other step", async () => {
  const order: string[] = []
  const caught: unknown[] = []
  const listeners = process.listeners("uncaughtException")
  process.removeAllListeners("uncaughtException")
  process.once("uncaughtException", (error) => caught.push(error))
  laterInTurn(() => {
    throw new Error("a defect")
  })
  laterInTurn(() => order.push("write"))
  atTurnEnd(() => order.push("answer"))
  await turn()
  await turn()
  for (const listener of listeners) process.on("uncaughtException", listener)
  expect(caught).toEqual([new Error("a defect")])
  expect(order).toEqual(["write", "answer"])
})
