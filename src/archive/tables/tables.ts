/**
 * The tables of a recording as SQL. schema.ts explains their content and keys.
 *
 * Each row has a checksum of its columns, which SQLite computes with a function of ours whenever it writes the row: no statement can forget
 * it. BLOBs are left out, because they have checksums of their own.
 */
import type { SQLInputValue } from "node:sqlite"
import { type Connection, prepare } from "./database.ts"

/** Name of the SQL function that computes a checksum. */
export const CHECKSUM_FUNCTION = "row_checksum"

/** Lifecycles of pods. */
const POD_TABLES = `
  -- Pods that were ever seen to run. is_gone: it exists no more.
  CREATE TABLE pod (
    number INTEGER PRIMARY KEY,
    uid TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    spec_hash INTEGER NOT NULL,
    first_sequence INTEGER NOT NULL,
    is_gone INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX pod_of_uid ON pod (uid);
  CREATE INDEX living_pod ON pod (number) WHERE is_gone = 0;

  -- One row per change of a pod's life, in the sequence of events. Seconds are those of the node's clock, time is when it happened
  -- and received when it was observed, µs since the Unix epoch. owner_references is null where it is as before.
  CREATE TABLE pod_life (
    sequence INTEGER PRIMARY KEY,
    pod INTEGER NOT NULL,
    start_seconds INTEGER NOT NULL,
    end_seconds INTEGER,
    is_gone INTEGER NOT NULL,
    time INTEGER NOT NULL,
    received INTEGER NOT NULL,
    owner_references TEXT
  ) STRICT;
  CREATE INDEX pod_life_of_pod ON pod_life (pod, sequence);
`

/**
 * Ownership. Objects refer to the text of their ownerReferences, because all pods of a ReplicaSet share it. UIDs are keys only where there
 * are few of them: with a row per object under its random UID, 100,000 listed Pods rewrote most pages of that tree in every commit, which
 * took 4 s of CPU, and everything else 3.
 */
const OWNER_TABLES = `
  -- owner_references: the JSON array as the server sent it.
  CREATE TABLE owner_set (
    id INTEGER PRIMARY KEY,
    owner_references TEXT NOT NULL
  ) STRICT;

  -- The owners that an object had until others replaced them, and until that was received, µs since the Unix epoch: few are ever adopted.
  CREATE TABLE former_owner_set (
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    until_time INTEGER NOT NULL,
    until_received INTEGER NOT NULL,
    owners INTEGER NOT NULL,
    PRIMARY KEY (kind, number, until_time)
  ) STRICT, WITHOUT ROWID;

  -- Owners that were named and whose kinds are not, or not wholly, recorded. state: open (nobody knows its owners yet), learnt (asked
  -- for), gone (asked for, and there was no such object any more), recorded (it is an object of the recording, after all).
  -- By kind as well: a reference may name an object under a kind that the server does not have, and says nothing about it then.
  CREATE TABLE owner (
    uid TEXT NOT NULL,
    gvk TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_references TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (uid, gvk)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX open_owner ON owner (uid, gvk) WHERE state = 'open';
`

/**
 * Who wrote, out of audit logs. Rows are not those of changes: either may arrive first, and which belongs to which is found when it is asked.
 */
const AUTHOR_TABLES = `
  -- id: 48 bits of a hash of the identity, so that a number that retention has freed is never that of another author.
  -- identity: user, groups, user agent, addresses, and what kind of request it was, as JSON. last_received: the latest
  -- write, or up to a day before, µs since the Unix epoch.
  CREATE TABLE author (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL,
    last_received INTEGER NOT NULL
  ) STRICT;

  -- version: which the write led to, negative if it is no number; 0 where it is not known, and effect with the object says which write it was.
  -- object: 48 bits of a hash of the UID, or of namespace and name. is_certain 0: the request may have changed nothing,
  -- and returned a version that another one wrote. Times are those of the API server, µs since the Unix epoch; took:
  -- until the response was complete. audit_id: a UUID as base64url, 22 letters; other texts after an equals sign.
  CREATE TABLE audited_write (
    kind INTEGER NOT NULL,
    version INTEGER NOT NULL,
    object INTEGER NOT NULL,
    effect INTEGER NOT NULL,
    author INTEGER NOT NULL,
    received INTEGER NOT NULL,
    took INTEGER NOT NULL,
    is_certain INTEGER NOT NULL,
    audit_id TEXT NOT NULL,
    PRIMARY KEY (kind, version, object, effect, received, author)
  ) STRICT, WITHOUT ROWID;
  -- A request that changed nothing has the version of an older write.
  CREATE INDEX timed_write ON audited_write (kind, received) WHERE (version <= 0 OR is_certain = 0);
`

/** Windows that are kept although retention removes what is around them. */
const PIN_TABLE = `
  -- Times are µs since the Unix epoch. labels: JSON. key: of what extends the window when it asks again; empty: nothing does. lost_through: some kinds lack what
  -- was received up to then; 0: nothing was removed. bytes: of its copy in pins/ID; 0: it has none. exported: when; 0: it was not.
  CREATE TABLE pin (
    id TEXT PRIMARY KEY,
    from_time INTEGER NOT NULL,
    until_time INTEGER NOT NULL,
    note TEXT NOT NULL,
    source TEXT NOT NULL,
    labels TEXT NOT NULL,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    lost_through INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    exported INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

const WITHOUT_CHECKSUMS = `
  CREATE TABLE metadata (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The state from which a kind's next watcher goes on; times are µs since the Unix epoch. recorded_since: when its first list was
  -- complete, 0 before.
  CREATE TABLE kind (
    id INTEGER PRIMARY KEY,
    gvk TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    complete_through TEXT NOT NULL,
    complete_through_time INTEGER NOT NULL,
    next_object_number INTEGER NOT NULL,
    last_event_time INTEGER NOT NULL,
    last_received_time INTEGER NOT NULL,
    cluster_uid TEXT NOT NULL,
    list_reason TEXT NOT NULL,
    selection TEXT NOT NULL,
    recorded_since INTEGER NOT NULL
  ) STRICT;

  -- How far each namespace of a kind is recorded that is watched namespace by namespace; complete_through of the kind is empty then.
  -- complete_time 0: that of the kind.
  CREATE TABLE kind_namespace (
    kind INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    complete_through TEXT NOT NULL,
    complete_time INTEGER NOT NULL,
    list_reason TEXT NOT NULL,
    recorded_since INTEGER NOT NULL,
    PRIMARY KEY (kind, namespace)
  ) STRICT, WITHOUT ROWID;

  -- incarnation and frame are the last ones stored; handed_out is the last incarnation given to a starting sender.
  CREATE TABLE sender (
    name TEXT PRIMARY KEY,
    handed_out INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    frame INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- owners: an owner_set, or 0 for none.
  CREATE TABLE object (
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    uid TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    first_sequence INTEGER NOT NULL,
    owners INTEGER NOT NULL,
    PRIMARY KEY (kind, number)
  ) STRICT, WITHOUT ROWID;

  -- sealed: 0 a part of the open block, 1 a block in the order of events, 2 one with its objects in pieces: it was merged, or retention left it.
  -- Sizes are those before compression, checksums CRC-32 of what is stored. carried: events that are only here because the state at the
  -- beginning needs them; they are changes of no kind any more.
  -- The two BLOBs stand last so that what is read without them needs no overflow page.
  CREATE TABLE block (
    last_sequence INTEGER PRIMARY KEY,
    first_sequence INTEGER NOT NULL,
    min_time INTEGER NOT NULL,
    max_time INTEGER NOT NULL,
    events INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    carried INTEGER NOT NULL,
    toc_size INTEGER NOT NULL,
    toc_checksum INTEGER NOT NULL,
    data_size INTEGER NOT NULL,
    data_checksum INTEGER NOT NULL,
    toc BLOB NOT NULL,
    data BLOB NOT NULL
  ) STRICT;

  -- Which blocks hold a kind. A kind's times never decrease, so these ranges are ordered and do not overlap. max_received: when the
  -- last of these events was received, max_time: when it happened.
  CREATE TABLE block_kind (
    kind INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    min_time INTEGER NOT NULL,
    max_time INTEGER NOT NULL,
    max_received INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (kind, last_sequence)
  ) STRICT, WITHOUT ROWID;

  -- States of one kind's objects: all alive ones (is_full 1), or those changed since the checkpoint before, which ends at after_sequence
  -- (0: there is none). So a row that is missing is noticed. is_full 2: those changed between after_sequence and through_sequence, whose
  -- events retention has removed.
  CREATE TABLE checkpoint (
    kind INTEGER NOT NULL,
    through_sequence INTEGER NOT NULL,
    last_time INTEGER NOT NULL,
    last_received INTEGER NOT NULL,
    is_full INTEGER NOT NULL,
    objects INTEGER NOT NULL,
    after_sequence INTEGER NOT NULL,
    states_size INTEGER NOT NULL,
    states_checksum INTEGER NOT NULL,
    states BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX checkpoint_of_kind ON checkpoint (kind, through_sequence, last_time, last_received, is_full);

  -- What retention has removed of a kind: its events up to through_sequence, all of which happened and were received up to removed_through, µs
  -- since the Unix epoch. Blocks up to swept_sequence have been freed of them.
  CREATE TABLE retained (
    kind INTEGER PRIMARY KEY,
    through_sequence INTEGER NOT NULL,
    removed_through INTEGER NOT NULL,
    swept_sequence INTEGER NOT NULL
  ) STRICT;

  -- namespace: the only one that it concerns; empty: all of them.
  CREATE TABLE gap (
    sequence INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    from_version TEXT NOT NULL,
    to_version TEXT NOT NULL,
    from_time INTEGER NOT NULL,
    to_time INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL
  ) STRICT;

  -- Changes that were received later than they happened (proto/observations.proto, LateRange). A row grows while more of them
  -- arrive; sequence: the position of the first.
  CREATE TABLE late_range (
    kind INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    not_before INTEGER NOT NULL,
    cause TEXT NOT NULL,
    not_after INTEGER NOT NULL,
    received_from INTEGER NOT NULL,
    received_to INTEGER NOT NULL,
    events INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (kind, namespace, not_before, cause)
  ) STRICT, WITHOUT ROWID;

  ${POD_TABLES}
  ${OWNER_TABLES}
  ${AUTHOR_TABLES}
  ${PIN_TABLE}
`

/** By table, the columns that the checksum of a row covers. */
const coveredColumns = new Map<string, ReadonlyArray<string>>()

/** Unit separator: names in Kubernetes contain no control characters. */
const checksumOf = (covered: ReadonlyArray<string>): string =>
  `${CHECKSUM_FUNCTION}(concat_ws(char(31), ${covered.join(", ")}))`

/** All of them. */
export const TABLES: string = WITHOUT_CHECKSUMS.replaceAll(
  /CREATE TABLE (\w+) \(\n((?: {4}\w+ (?:INTEGER|TEXT).*\n)+)([\s\S]*?) {2}\) STRICT/g,
  (_, name: string, body: string, rest: string) => {
    const covered = [...body.matchAll(/^ {4}(\w+)/gm)].map(([, column = ""]) => column)
    coveredColumns.set(name, covered)
    const checksum = `checksum INTEGER NOT NULL GENERATED ALWAYS AS (${checksumOf(covered)}) STORED`
    const all = [body.trimEnd().replace(/,$/, ""), `    ${checksum}`, ...(rest === "" ? [] : [rest.trimEnd()])]
    return `CREATE TABLE ${name} (\n${all.join(",\n")}\n  ) STRICT`
  },
)

/** The columns of a table, without its checksum and its BLOBs. */
export const columnsOf = (table: string): ReadonlyArray<string> => {
  const covered = coveredColumns.get(table)
  if (covered === undefined) throw new RangeError(`there is no table ${table}`)
  return covered
}

/** The name that this program gives a column: `lastSequence` for `last_sequence`. */
const fieldOf = (column: string): string => column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** Columns under the names that this program gives them, for a SELECT. Default: all but BLOBs and the checksum. */
export const fieldsOf = (table: string, columns = columnsOf(table)): string =>
  columns.map((column) => `${table}.${column} AS ${fieldOf(column)}`).join(", ")

interface RowWriting {
  /** What becomes of a row with the same key. Default: it is an error. */
  readonly or?: "REPLACE" | "IGNORE"
  /** Columns with BLOBs. */
  readonly blobs?: ReadonlyArray<string>
  /** The end of the statement, such as its ON CONFLICT. */
  readonly end?: string
}

/** Prepares a function that inserts a row, of which it takes the fields that the table has. @throws what SQLite throws */
export const rowWriter = (
  database: Connection,
  table: string,
  { or, blobs = [], end = "" }: RowWriting = {},
): ((row: Readonly<Record<string, unknown>>) => void) => {
  const columns = [...columnsOf(table), ...blobs]
  const verb = or === undefined ? "INSERT" : `INSERT OR ${or}`
  const values = columns.map(() => "?").join(", ")
  const insert = prepare(database, `${verb} INTO ${table} (${columns.join(", ")}) VALUES (${values}) ${end}`)
  const fields = columns.map(fieldOf)
  return (row) => insert.run(...fields.map((field) => row[field] as SQLInputValue))
}

/** SQL that is 1 for a row as it was written, else 0. */
export const isSoundRow = (table: string): string =>
  `${table}.checksum IS ${checksumOf(columnsOf(table).map((column) => `${table}.${column}`))}`
