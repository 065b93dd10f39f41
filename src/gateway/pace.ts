import type { ServerResponse } from 'node:http'

/** Answers something that anybody can cause: at once, or in a later turn. */
export type Pace = (response: ServerResponse, answer: () => void) => void

const TURN_MAX = 64
/** In each turn while others wait: 1 ms with the requests that follow. */
const CROWDED_TURN_MAX = 16

/**
 * Whoever has an answer sends the next request, and all that are there are read in one turn of the event loop, which
 * accepts one connection (libuv 1.52): with 4,200 connections that asked for an unknown path over and over, turns took
 * 150 ms, and no new connection was answered in 5 s. So as many as are answered in a turn ask again in the next.
 * @param waitingMax connections whose answer would be one too many end instead
 */
export function createPace(waitingMax: number): Pace {
  let answered = 0
  let scheduled = false
  const waiting: (() => void)[] = []
  const schedule = () => {
    if (scheduled) return
    scheduled = true
    setImmediate(turn)
  }
  const turn = () => {
    scheduled = false
    const due = waiting.splice(0, CROWDED_TURN_MAX)
    answered = due.length
    for (const answer of due) answer()
    if (answered > 0) schedule()
  }
  return (response, answer) => {
    if (waiting.length === 0 && answered < TURN_MAX) {
      answered += 1
      answer()
    } else if (waiting.length < waitingMax) waiting.push(answer)
    else response.req.socket.destroy()
    schedule()
  }
}
