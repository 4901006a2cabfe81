/**
 * Which lives a page draws: those in which something went wrong, and then those in which something happened last, as the list of changes has the
 * newest. What only existed comes last.
 *
 * Memory: lives that have not ended, and {@link MOST_OBJECTS} that have.
 */
import type { LifeStory } from "./life-story.ts"

/** Objects with a row. */
const MOST_OBJECTS = 1000

/** The lives of one trace. */
export class DrawnStories {
  readonly #alive = new Set<LifeStory>()
  /** In the order in which they ended. */
  readonly #endedCalm = new Set<LifeStory>()
  readonly #endedBad = new Set<LifeStory>()
  #total = 0

  /** How many there were. */
  get total(): number {
    return this.#total
  }

  begin(story: LifeStory): void {
    this.#total++
    this.#alive.add(story)
  }

  end(story: LifeStory): void {
    this.#alive.delete(story)
    const ended = story.isBad ? this.#endedBad : this.#endedCalm
    ended.add(story)
    if (this.#endedCalm.size + this.#endedBad.size <= MOST_OBJECTS) return
    const leaving = this.#endedCalm.size > 0 ? this.#endedCalm : this.#endedBad
    for (const oldest of leaving) {
      leaving.delete(oldest)
      return
    }
  }

  /** Those that are drawn, the most important first. */
  chosen(): ReadonlyArray<LifeStory> {
    return [...this.#endedBad, ...this.#endedCalm, ...this.#alive]
      .sort((one, other) => Number(other.isBad) - Number(one.isBad) || other.lastActivity - one.lastActivity)
      .slice(0, MOST_OBJECTS)
  }
}
