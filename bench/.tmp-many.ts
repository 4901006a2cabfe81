import { mkdtempSync, rmSync } from "node:fs"
import { ArchiveWriter } from "../src/trace/archive/archive-writer.ts"
import { ArchiveReader } from "../src/trace/archive/archive-reader.ts"
import { ObservationsBuilder } from "../src/trace/observations.ts"
const dir = mkdtempSync("/tmp/ob/many-")
const w = ArchiveWriter.open(dir)
const slab = Buffer.from(new SharedArrayBuffer(65536))
const b = new ObservationsBuilder("v1.Pod")
const LIVE = 100_000
const obj = Buffer.from("{" + "\"abcdefgh\":\"ijklmnop\",".repeat(130) + "\"a\":1}")
let n = 0, longest: number[] = [], version = 1
const flush = () => { w.append("w", 1, ++n, slab.subarray(0, b.finish())); b.begin(slab, 0)
  if (w.pendingBytes >= 1 << 20) { const t = performance.now(); w.commit(); longest.push(performance.now() - t) } }
b.begin(slab, 0)
const put = (i: number, fresh: boolean) => { const go = () => (!fresh || b.addObject({ number: i, uid: `0b2f9c1e-8d2a-4c5e-9f7a-${i.toString(16).padStart(12, "0")}`, namespace: `team-${i % 50}`, name: `pod-${i}-abcde` })) && b.append(1, i, 1.76e15 + version, version++, Math.imul(i, version), version, obj, 0, obj.length); if (!go()) { flush(); go() } }
let t = performance.now(); let c = process.cpuUsage()
for (let i = 1; i <= LIVE; i++) put(i, true)
flush(); w.commit()
let u = process.cpuUsage(c); console.log("list of", LIVE, "wall ms", (performance.now() - t).toFixed(0), "cpu us/object", ((u.user + u.system) / LIVE).toFixed(2), "longest commit", Math.max(...longest).toFixed(0)); longest = []
t = performance.now(); c = process.cpuUsage()
const M = 600_000
for (let i = 0; i < M; i++) put(1 + ((i * 7919) % LIVE), false)
flush(); w.commit(); u = process.cpuUsage(c)
longest.sort((a, b) => b - a)
console.log("changes", M, "cpu us/event", ((u.user + u.system) / M).toFixed(2), "longest commits", longest.slice(0, 8).map((x) => x.toFixed(0)).join(" "), "median", longest[longest.length >> 1]!.toFixed(1))
t = performance.now(); let live = 0; for (const x of w.liveObjects("v1.Pod")) live += x.length
console.log("liveObjects", live, (performance.now() - t).toFixed(0), "ms", "rss", (process.memoryUsage.rss() / 1e6).toFixed(0))
const r = ArchiveReader.open(dir); t = performance.now(); let s = 0
for (const e of r.snapshotAt({ time: 1.76e15 + 400_000 })) s += 1
console.log("snapshotAt", s, (performance.now() - t).toFixed(0), "ms")
t = performance.now(); s = 0; for (const e of r.events({ fromTime: 1.76e15 + 300_000, untilTime: 1.76e15 + 400_000 })) s++
console.log("events", s, (performance.now() - t).toFixed(0), "ms", "rss", (process.memoryUsage.rss() / 1e6).toFixed(0))
w.close(); r.close(); rmSync(dir, { recursive: true })
