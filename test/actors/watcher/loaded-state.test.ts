/** How a watcher gathers its stored state from a mailbox that may contain frames for its earlier lives. */
import { expect, test } from "vitest"
import { type LoadedState, receiveStoredState } from "../../../src/actors/watcher/objects/loaded-state.ts"
import type { Inbox, InboxHandler } from "../../../src/runtime/index.ts"
import { encodeStoredState, type StoredObject, type StoredState } from "../../../src/wire/stored-state.ts"

const stored = (number: number): StoredObject => ({
  number,
  uid: `uid-${number}`,
  namespace: "shop",
  name: `object-${number}`,
  version: number,
  fingerprintLow: number,
  fingerprintHigh: -number,
})
const state = (incarnation: number, last: boolean, ...numbers: ReadonlyArray<number>): StoredState => ({
  resumeVersion: "100",
  namespaces: [],
  epoch: 2,
  nextObjectNumber: 9,
  lastTime: 7,
  completeTime: 8,
  clusterUid: "uid",
  listReason: "",
  selection: "",
  objects: numbers.map(stored),
  lives: { resumeVersion: "99", namespaces: [], epoch: 2, completeTime: 6 },
  nextPodNumber: 5,
  pods: numbers.map((number) => ({
    number,
    uid: `uid-${number}`,
    namespace: "shop",
    start: number,
    end: undefined,
    owned: true,
  })),
  last,
  incarnation,
})

/** A watcher in its third life, and a store that sends it frames. */
const watcher = () => {
  const loaded: LoadedState[] = []
  const acknowledged: number[] = []
  let handler: InboxHandler | undefined
  let number = 0
  const inbox = (_mailbox: string, given: InboxHandler): Inbox => {
    handler = given
    return { acknowledge: (_sender: string, _incarnation: number, done: number) => acknowledged.push(done) } as never
  }
  receiveStoredState({ incarnation: 3, inbox }, "stored-state", (given) => loaded.push(given))
  return {
    loaded,
    acknowledged,
    attach: (life: number) => handler?.attached("store", life),
    send: (given: StoredState) =>
      handler?.frame("store", { incarnation: 1, number: ++number, payload: Buffer.from(encodeStoredState(given)) }),
  }
}

test("a state is passed on once, when its last frame has arrived", () => {
  const { loaded, acknowledged, send } = watcher()
  send(state(3, false, 1, 2))
  send(state(3, false, 3))
  expect(loaded).toEqual([])
  send(state(3, true))
  const { objects, last, incarnation, lives, nextPodNumber, pods, ...resume } = state(3, true, 1, 2, 3)
  expect([last, incarnation]).toEqual([true, 3])
  expect(loaded).toEqual([{ resume, objects, pods: { lives, nextPodNumber, pods } }])
  expect(acknowledged).toEqual([1, 2, 3])
})

test("frames for an earlier life are acknowledged and ignored", () => {
  const { loaded, acknowledged, send } = watcher()
  send(state(2, false, 1))
  send(state(2, true, 2))
  send(state(3, true, 5))
  expect(loaded.map(({ objects }) => objects.map(({ number }) => number))).toEqual([[5]])
  expect(acknowledged).toEqual([1, 2, 3])
})

test("a state that a dying store sent only in part is gathered again", () => {
  const { loaded, attach, send } = watcher()
  attach(1)
  send(state(3, false, 1, 2))
  expect(attach(2)).toBeUndefined()
  send(state(3, false, 1))
  send(state(3, true, 2))
  expect(loaded.map(({ objects }) => objects.map(({ number }) => number))).toEqual([[1, 2]])
})

test("a state continues where it was when the same store is linked again", () => {
  const { loaded, attach, send } = watcher()
  attach(1)
  send(state(3, false, 1, 2))
  attach(1)
  send(state(3, true, 3))
  expect(loaded.map(({ objects }) => objects.map(({ number }) => number))).toEqual([[1, 2, 3]])
})

test("a second state, after a restart of the store, changes nothing", () => {
  const { loaded, acknowledged, attach, send } = watcher()
  send(state(3, true, 1))
  attach(2)
  send(state(3, true, 1, 2))
  expect(loaded).toHaveLength(1)
  expect(acknowledged).toEqual([1, 2])
})
