/**
 * Loaded before a process's own code (`node --import`): its clock is the machine's plus what the file CLOCK_FILE says, in
 * milliseconds. What is stepped is JavaScript's `Date`, which is all that the product and its libraries read the time of
 * day from; timers and durations run on, as they do where an administrator sets the clock. What its `Date` then says is
 * written beside the file.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

const POLL_MS = 100
const file = process.env['CLOCK_FILE'] ?? ''
const RealDate = Date
let offsetMs = 0
const now = () => RealDate.now() + offsetMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    (args.length === 0 ? new RealDate(now()) : Reflect.construct(target, args, newTarget)) as Date,
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})

function look() {
  let next = 0
  try {
    next = Number(readFileSync(file, 'utf8'))
  } catch {
    // No file, no step.
  }
  if (next === offsetMs) return
  offsetMs = next
  writeFileSync(`${file}.seen`, String(Date.now()))
}
if (file !== '') setInterval(look, POLL_MS).unref()

const TICK_MS = 50
const STALL_MS = 50
let last = performance.now()

/** Moments in which the process got no turn (a stop, or a crowded machine) are written beside it too, by real time. */
function tick() {
  const lateMs = performance.now() - last - TICK_MS
  last = performance.now()
  const untilMs = RealDate.now()
  if (lateMs >= STALL_MS) appendFileSync(`${file}.stalls`, `${JSON.stringify({ fromMs: untilMs - lateMs, untilMs })}\n`)
}
if (file !== '') setInterval(tick, TICK_MS).unref()
