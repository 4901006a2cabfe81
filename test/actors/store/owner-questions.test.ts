/** Which owners the store sends to the resolver, and what it does if the resolver does not keep up. */
import { expect, test } from "vitest"
import { OwnerQuestions } from "../../../src/actors/store/store-writer.ts"
import type { NamedOwner } from "../../../src/archive/index.ts"
import { decodeOwnerQuestions } from "../../../src/wire/index.ts"

const owner = (uid: string): NamedOwner => ({ uid, gvk: "apps/v1.ReplicaSet", namespace: "shop", name: `rs-${uid}` })

const asked = () => {
  const frames: Array<ReturnType<typeof decodeOwnerQuestions>> = []
  let writable: (() => void) | undefined
  const outbox = {
    isWritable: true,
    send: (payload: Uint8Array) => frames.push(decodeOwnerQuestions(payload)),
    onWritable: (listener: () => void) => {
      writable = listener
    },
  }
  const questions = new OwnerQuestions(outbox)
  // What a previous life of the store may have left out.
  expect(frames.splice(0)).toEqual([{ questions: [], rescan: true }])
  return { frames, outbox, questions, becomeWritable: () => writable?.() }
}

test("the owners that a commit names are sent, and a commit that names none sends nothing", () => {
  const { frames, questions } = asked()
  questions.ask([owner("x"), owner("y")])
  expect(frames).toEqual([
    {
      questions: [
        { uid: "x", gvk: "apps/v1.ReplicaSet", namespace: "shop", name: "rs-x" },
        { uid: "y", gvk: "apps/v1.ReplicaSet", namespace: "shop", name: "rs-y" },
      ],
      rescan: false,
    },
  ])
  questions.ask([])
  expect(frames).toHaveLength(1)
})

test("many are sent in several frames", () => {
  const { frames, questions } = asked()
  questions.ask(Array.from({ length: 2500 }, (_, index) => owner(`${index}`)))
  expect(frames.map((frame) => frame.questions.length)).toEqual([1000, 1000, 500])
})

test("questions without room are dropped, and once there is room the database is to be read", () => {
  const { frames, outbox, questions, becomeWritable } = asked()
  outbox.isWritable = false
  questions.ask([owner("x")])
  questions.ask([owner("y")])
  expect(frames).toEqual([])
  outbox.isWritable = true
  becomeWritable()
  questions.ask([owner("z")])
  becomeWritable()
  expect(frames).toMatchObject([
    { questions: [], rescan: true },
    { questions: [{ uid: "z" }], rescan: false },
  ])
})
