// `npm run simulate -- pay OUT_TRADE_NO`: a signed callback to the gateway of `npm start`, as a provider would send it.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/runtime/clock.ts'
import { loadKeys, type SenderKeys } from '../src/simulator/keys.ts'
import type { PaymentProvider } from '../src/simulator/plan.ts'
import { ANSWER_MS_MAX, createSender } from '../src/simulator/send.ts'
import { signPayment } from '../src/simulator/sign-payment.ts'
import { signShipmentReport } from '../src/simulator/sign-report.ts'
import { say } from './parts/progress.ts'
import { LOCAL_DIR } from './parts/state.ts'

const USAGE = `usage: npm run -s simulate -- pay|ship OUT_TRADE_NO [--provider wechatpay|alipay] [--amount-minor N] [--copies N]
                              [--forge] [--gateway URL]

  pay     a payment's callback, --copies of it at the same instant (default 1); --forge signs it wrongly
  ship    a worker's report that the parcel has left

The keys are those that npm start made.`

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      provider: { type: 'string', default: 'wechatpay' },
      'amount-minor': { type: 'string', default: '990' },
      copies: { type: 'string', default: '1' },
      forge: { type: 'boolean', default: false },
      gateway: { type: 'string', default: 'http://127.0.0.1:8080' },
    },
  })
  const [verb, outTradeNo] = positionals
  const [amountMinor, copies] = [Number(values['amount-minor']), Number(values.copies)]
  const known = ['wechatpay', 'alipay'].includes(values.provider) && ['pay', 'ship'].includes(verb ?? '')
  if (!known || outTradeNo === undefined || !(amountMinor > 0) || !(copies > 0 && copies <= 1_000)) {
    say(USAGE)
    return 2
  }
  const keys = keysOfStart()
  const now = systemClock.now()
  const payment = { provider: values.provider as PaymentProvider, outTradeNo, amountMinor, paidAt: now }
  const transactionId = `4200${outTradeNo}`
  const signed =
    verb === 'ship'
      ? signShipmentReport(outTradeNo, `wechatpay:${transactionId}`, keys, now)
      : signPayment(
          { ...payment, transactionId, messageId: `n${now.getTime()}` },
          keys,
          values.forge ? 'wrong_signature' : 'none',
          now,
        )
  const gateways = [values.gateway]
  const sender = createSender({ gateways, inFlightMax: copies, answerMsMax: ANSWER_MS_MAX, clock: systemClock })
  const answers = await sender.burst(verb === 'ship' ? 'worker' : values.provider, signed, copies)
  sender.close()
  for (const { status, heard, latencyMs } of answers) say(`${status ?? '---'} ${heard} in ${latencyMs.toFixed(1)} ms`)
  return answers.every(({ heard }) => heard === 'success') ? 0 : 1
}

function keysOfStart(): SenderKeys {
  try {
    const [keys] = loadKeys(join(LOCAL_DIR, 'start', 'senders'))
    if (keys !== undefined) return keys
  } catch {
    // said below
  }
  throw new Error('there are no keys yet: run `npm start` first')
}

try {
  process.exitCode = await main()
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
