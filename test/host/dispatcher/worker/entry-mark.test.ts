/** Entries into modules, watched over shared memory. */
import { afterEach, expect, test } from "vitest"
import {
  EntryMark,
  EntryWatch,
  entryMarkBytes,
  takeLastEntry,
} from "../../../../src/host/dispatcher/worker/entry-mark.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { turn, until } from "../../../runtime/until.ts"

class Post {
  readonly memory = new SharedArrayBuffer(entryMarkBytes)
  readonly clock = new ManualClock()
  readonly mark = new EntryMark(this.memory)
  readonly overruns: number[] = []
  readonly watch = new EntryWatch(this.memory, {
    clock: this.clock,
    deadlineMs: (slot) => (slot === 9 ? 2000 : 500),
    onOverrun: (slot) => this.overruns.push(slot),
  })

  /** Enters a module, and waits until the watch looks. */
  async enter(slot: number): Promise<void> {
    this.mark.begin(slot)
    await until(() => this.clock.pending > 0)
  }
}

let post: Post
afterEach(() => post.watch.stop())

test("an entry that takes longer than its module's deadline is told once", async () => {
  post = new Post()
  await post.enter(4)
  post.clock.advance(499)
  expect(post.overruns).toEqual([])
  post.clock.advance(126)
  expect(post.overruns).toEqual([4])
  post.clock.advance(10_000)
  expect(post.overruns).toEqual([4])
  post.mark.end()
  await post.enter(9)
  post.clock.advance(1800)
  expect(post.overruns).toEqual([4])
  post.clock.advance(500)
  expect(post.overruns).toEqual([4, 9])
})

test("many short entries in a row are not one long one", async () => {
  post = new Post()
  await post.enter(1)
  for (let entry = 0; entry < 50; entry++) {
    post.clock.advance(100)
    post.mark.end()
    post.mark.begin(1)
  }
  expect(post.overruns).toEqual([])
})

test("while the worker is idle the watch has no timer", async () => {
  post = new Post()
  expect(post.clock.pending).toBe(0)
  await post.enter(1)
  post.mark.end()
  post.clock.advance(250)
  await turn()
  expect(post.clock.pending).toBe(0)
  await post.enter(2)
  post.clock.advance(700)
  expect(post.overruns).toEqual([2])
})

test("the module in which a thread ended is known, once, and the next entry is not taken for that one", async () => {
  post = new Post()
  expect(takeLastEntry(post.memory)).toBeUndefined()
  await post.enter(4)
  post.clock.advance(700)
  expect(post.overruns).toEqual([4])
  expect(takeLastEntry(post.memory)).toBe(4)
  expect(takeLastEntry(post.memory)).toBeUndefined()
  post.mark.begin(4)
  post.clock.advance(400)
  expect(post.overruns).toEqual([4])
  post.clock.advance(400)
  expect(post.overruns).toEqual([4, 4])
})
