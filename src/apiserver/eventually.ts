/**
 * A value, or a promise of one from a source that has to read a disk or ask an actor. With a value, the request is
 * answered in the turn in which it came; asking which of the two it is costs nothing that can be measured. Waiting for all
 * of them as for promises would put each answer behind the writes of its turn (see http/turn.ts).
 */
export type Eventually<Value> = Value | Promise<Value>
