/** Of which objects a module was told, and of which deletions, by its log over all its lives: lines that begin with the type and the UID. */
export class Told {
  readonly known = new Set<string>()
  readonly deleted = new Set<string>()
  /** Calls of the module's `run`. */
  lives = 0

  hear(line: string): void {
    const [type, uid = ""] = line.split(" ")
    if (type === "run") this.lives++
    if (type === "ADDED" || type === "MODIFIED") this.known.add(uid)
    if (type === "DELETED") this.deleted.add(uid)
  }

  /** What it knew and was never told to be gone, although it is not among `present`. */
  missed(present: ReadonlySet<string>): ReadonlyArray<string> {
    return [...this.known].filter((uid) => !present.has(uid) && !this.deleted.has(uid))
  }
}
