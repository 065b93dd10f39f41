import { parseArgs } from 'node:util'
import { PAYMENT_PROVIDERS, type PaymentProvider } from '../../src/simulator/stories.ts'

/** What was asked for on the command line. */
export interface Options {
  readonly verb: string
  readonly outTradeNo: string
  readonly provider: PaymentProvider
  readonly amountMinor: number
  readonly currency: string
  readonly refundMinor: number
  readonly refundedMinor: number
  readonly copies: number
  readonly forge: boolean
  readonly gateway: string
  /** As it was written; of `run` alone. */
  readonly plan: Readonly<Record<string, string | undefined>>
}

/** Names of the environment's variables by the flags of `run`. */
const PLAN = {
  token: 'API_TOKEN',
  orders: 'ORDERS',
  deliveries: 'DELIVERIES_PER_ORDER',
  'spread-ms': 'SPREAD_MS',
  'again-ms': 'AGAIN_MS',
  seed: 'SEED',
  'time-scale': 'TIME_SCALE',
  providers: 'PROVIDER_SHARES',
  stories: 'STORY_SHARES',
  'query-port': 'QUERY_PORT',
  log: 'SIMULATION_LOG',
  api: 'API_URL',
} as const

/** Undefined if it makes no sense. */
export function optionsIn(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      provider: { ...text, default: 'wechatpay' },
      'amount-minor': { ...text, default: '990' },
      currency: { ...text, default: 'CNY' },
      'refund-minor': text,
      'refunded-minor': text,
      copies: { ...text, default: '1' },
      forge: { type: 'boolean', default: false },
      gateway: { ...text, default: 'http://127.0.0.1:8080' },
      ...{ token: text, orders: text, deliveries: text, 'spread-ms': text, 'again-ms': text, seed: text },
      ...{ 'time-scale': text, providers: text, stories: text, 'query-port': text, log: text, api: text },
    },
  })
  const [verb, outTradeNo = ''] = positionals
  const provider = PAYMENT_PROVIDERS.find((name) => name === values.provider)
  const amountMinor = Number(values['amount-minor'])
  const refundMinor = Number(values['refund-minor'] ?? amountMinor)
  const numbers = { amountMinor, refundMinor, refundedMinor: Number(values['refunded-minor'] ?? refundMinor) }
  const copies = Number(values.copies)
  const isSound = Object.values(numbers).every((minor) => Number.isSafeInteger(minor) && minor > 0)
  if (verb === undefined || provider === undefined || !isSound || !(copies > 0 && copies <= 1_000)) return undefined
  if (verb !== 'run' && outTradeNo === '') return undefined
  const { currency, forge, gateway } = values
  const plan = Object.fromEntries(Object.keys(PLAN).map((name) => [name, values[name as keyof typeof PLAN]]))
  return { verb, outTradeNo, provider, ...numbers, currency, copies, forge, gateway, plan }
}

/** The simulator's environment, from the flags; what is not given is its default. */
export function environmentOf({ plan, gateway }: Options, sendersDir: string): NodeJS.ProcessEnv {
  const given = Object.entries(PLAN).flatMap(([flag, name]) =>
    plan[flag] === undefined ? [] : [[name, plan[flag]] as const],
  )
  const env = { API_URL: 'http://127.0.0.1:8081', SENDERS_DIR: sendersDir, GATEWAY_URLS: gateway, ...process.env }
  return { ...env, ...Object.fromEntries(given) }
}
