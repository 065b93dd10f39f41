/**
 * Every dangerous moment between a sender's first byte and its answer, in the order in which a callback meets them. The
 * tests end the process at each of them, and look whether anything that was answered with success is not in Kafka.
 */
export const GATEWAY_CRASH_POINTS = [
  'request_begun', // its headers are here, its body is not read
  'body_read', // nothing is proven
  'verified',
  'encoded', // nothing has left
  'produce_called', // it may be on its way: nobody knows
  'acked', // it is on every in-sync replica, and the sender has not heard
  'answer_written', // it may have heard
] as const
export type GatewayCrashPoint = (typeof GATEWAY_CRASH_POINTS)[number]

/** Called at each point, on the hot path: so no promise is waited for. Does nothing in production. */
export type GatewayReach = (point: GatewayCrashPoint) => void

export const reachNothing: GatewayReach = () => undefined
