import { InvalidArgumentError } from 'commander'
import { BRAKE_EVENT_TYPES, matchesNothing, type BrakeScope } from '../orders/brake.ts'
import { COMMON, KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { CliFailure, EXIT } from './failure.ts'

export interface ScopeOptions {
  readonly merchant?: string
  readonly order?: string
  readonly eventType?: NonNullable<BrakeScope['eventType']>
}

export const eventType = (text: string) => {
  const type = BRAKE_EVENT_TYPES.find((known) => known === text)
  if (type === undefined) throw new InvalidArgumentError(`It must be one of ${BRAKE_EVENT_TYPES.join(', ')}.`)
  return type
}

/** @throws CliFailure where the options name nothing, an order of nobody, or what can never be met. */
export function scopeOf({ merchant, order, eventType: type }: ScopeOptions): BrakeScope {
  if (order !== undefined && merchant === undefined)
    throw new CliFailure(EXIT.usage, '--order needs --merchant.', 'Order numbers are unique within a merchant only.')
  if (merchant === undefined && type === undefined)
    throw new CliFailure(EXIT.usage, 'A brake needs --merchant or --event-type.', 'Or both; --order with --merchant.')
  const scope = { merchant: merchant ?? null, outTradeNo: order ?? null, eventType: type ?? null }
  if (matchesNothing(scope))
    throw new CliFailure(EXIT.usage, 'The notice of a dead letter names no merchant.', 'Leave out --merchant.')
  return scope
}

/** What it keeps back, for people. */
export function describeScope({ merchant, outTradeNo, eventType: type }: BrakeScope): string {
  const what = type === null ? 'all events' : `${type} events`
  if (outTradeNo !== null) return `${what} of order ${outTradeNo} of ${merchant ?? ''}`
  return merchant === null ? `${what} of every merchant` : `${what} of ${merchant}`
}

export function installationOf(env: NodeJS.ProcessEnv) {
  const { APP_ID: appId, TOPIC_PREFIX } = readConfig(
    { APP_ID: COMMON.APP_ID, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX, ...POSTGRES },
    env,
  )
  return { appId, topicPrefix: TOPIC_PREFIX, topic: TOPIC_PREFIX + INPUT_TOPIC }
}
