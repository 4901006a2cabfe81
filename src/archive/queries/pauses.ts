/**
 * Answers that take their time over what they leave out: they yield `undefined` now and then, so that whoever takes them can let other work run, or give up. One
 * such step is some ms of work.
 */

/** Events or objects that are passed over between two pauses. */
export const passedOver = 64

/** The same answer without the pauses. */
export function* withoutPauses<Item, End>(steps: Generator<Item | undefined, End, void>): Generator<Item, End, void> {
  for (;;) {
    const next = steps.next()
    if (next.done === true) return next.value
    if (next.value !== undefined) yield next.value
  }
}
