/**
 * Lines of many answers, in the order of their times: in a temporary file of SQLite, which is gone with the process, since all of them may be more than
 * the memory, and as many recordings as there are clusters are too many to be open at once.
 */
import { DatabaseSync } from "node:sqlite"
import { messageOf } from "../../message-of.ts"
import { CommandFailed } from "../command-line/exit-codes.ts"

/** Takes lines, and then has them in order. All methods throw CommandFailed if the file cannot be written. */
export class SortedAnswers implements Disposable {
  // An empty name is that of a temporary file.
  readonly #database = new DatabaseSync("")
  readonly #insert

  constructor() {
    this.#database.exec(
      "PRAGMA journal_mode = OFF; CREATE TABLE answers (time INTEGER, source INTEGER, line TEXT); BEGIN",
    )
    this.#insert = this.#database.prepare("INSERT INTO answers VALUES (?, ?, ?)")
  }

  /** Lines of one source stay in the order in which they are added, if their times do not fall. */
  add(time: number, source: number, line: string): void {
    trying(() => this.#insert.run(time, source, line))
  }

  get isEmpty(): boolean {
    return this.#database.prepare("SELECT 1 FROM answers LIMIT 1").get() === undefined
  }

  /** In the order of times and then of sources, or the reverse of both. */
  *lines(by: "time" | "cluster"): Generator<string, void, void> {
    const order = by === "time" ? "time, source, rowid" : "source, rowid"
    const rows = trying(() => this.#database.prepare(`SELECT line FROM answers ORDER BY ${order}`).iterate())
    for (const { line } of rows) yield String(line)
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}

const trying = <Value>(work: () => Value): Value => {
  try {
    return work()
  } catch (cause) {
    throw new CommandFailed(
      `answers cannot be kept in a temporary file, in SQLITE_TMPDIR or TMPDIR: ${messageOf(cause)}`,
    )
  }
}
