import { listBrakesRoute, releaseBrakeRoute, setBrakeRoute, type BrakeDeps } from './brake-routes.ts'
import { claimAnomalyRoute, releaseAnomalyRoute, type ClaimDeps } from './claim-anomaly-route.ts'
import { closeOrderRoute } from './close-order-route.ts'
import { createOrdersRoute, type CreateDeps } from './create-orders-route.ts'
import {
  discardDeadLetterRoute,
  listDeadLettersRoute,
  readDeadLetterRoute,
  type DeadLetterDeps,
} from './dead-letter-routes.ts'
import { listHeldRoute, type HeldDeps } from './held-route.ts'
import { openapiRoute } from './openapi-route.ts'
import { listAnomaliesRoute, readAnomalyRoute, type AnomalyDeps } from './read-anomalies-route.ts'
import { readCommandRoute, type ReadCommandDeps } from './read-command-route.ts'
import { readOrderRoute, readTimelineRoute, type ReadDeps } from './read-order-route.ts'
import type { RefreshOrder } from './refresh-order.ts'
import { listReplaysRoute, readReplayRoute, resumeReplayRoute, type ReplayDeps } from './replay-routes.ts'
import { requestReplayRoute, type RequestReplayDeps } from './request-replay-route.ts'
import { resolveAnomalyRoute } from './resolve-anomaly-route.ts'
import type { AnyRoute } from './route.ts'
import type { CommandDeps } from './run-command.ts'

/** What the routes need, by what they are about. */
export interface RouteDeps {
  readonly creating: CreateDeps
  readonly reading: ReadDeps & ReadCommandDeps & { readonly refreshOrder: RefreshOrder }
  readonly commands: CommandDeps
  readonly held: HeldDeps
  readonly anomalies: AnomalyDeps & ClaimDeps
  readonly brakes: BrakeDeps
  readonly deadLetters: DeadLetterDeps
  readonly replays: RequestReplayDeps & ReplayDeps
}

/** Every route of the api, and the document that describes them. */
export function createRoutes(deps: RouteDeps): AnyRoute[] {
  const { creating, reading, commands, held, anomalies, brakes, deadLetters, replays } = deps
  const routes = [
    createOrdersRoute(creating),
    readOrderRoute(reading),
    readTimelineRoute(reading),
    closeOrderRoute(commands),
    listHeldRoute(held),
    listAnomaliesRoute(anomalies),
    readAnomalyRoute(anomalies),
    claimAnomalyRoute(anomalies),
    releaseAnomalyRoute(anomalies),
    resolveAnomalyRoute({ ...commands, findAnomaly: anomalies.findAnomaly }),
    listDeadLettersRoute(deadLetters),
    readDeadLetterRoute(deadLetters),
    discardDeadLetterRoute(deadLetters),
    requestReplayRoute(replays),
    listReplaysRoute(replays),
    readReplayRoute(replays),
    resumeReplayRoute(replays),
    readCommandRoute(reading),
    listBrakesRoute(brakes),
    setBrakeRoute(brakes),
    releaseBrakeRoute(brakes),
  ]
  return [...routes, openapiRoute(routes)]
}
