/**
 * The page: a time line of what happened in a cluster, and everything that can be asked about it. Its only inputs are the HTTP interface and the file that it
 * is in. It is bundled for browsers (scripts/build.ts) and imported by no other room.
 *
 * Guarantee: everything from a cluster is text content and cannot become markup; the page asks no other origin for anything.
 */

