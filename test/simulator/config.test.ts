import { expect, test } from 'vitest'
import { environmentOf, optionsIn } from '../../dev/simulate/options.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { readSimulatorConfig } from '../../src/simulator/config.ts'

const ENV = { GATEWAY_URLS: 'http://g:1, http://g:2', API_URL: 'http://a:1', API_TOKEN: 't', SENDERS_DIR: 'd' }
const read = (more: Record<string, string>) => readSimulatorConfig({ ...ENV, ...more })

test('shares are read by name', () => {
  const config = read({ PROVIDER_SHARES: 'alipay=0.5, stripe=1', STORY_SHARES: 'forged=0,second_payment=0.25' })
  expect(config.PROVIDER_SHARES).toEqual({ alipay: 0.5, stripe: 1 })
  expect(config.STORY_SHARES).toEqual({ forged: 0, second_payment: 0.25 })
  expect(read({ QUERY_FAULT_SHARES: 'slow=0.5,reset=0.5' }).QUERY_FAULT_SHARES).toEqual({ slow: 0.5, reset: 0.5 })
  expect(read({})).toMatchObject({ QUERY_FAULT_SHARES: {}, QUERY_SLOW_MS: 15_000 })
  expect(read({})).toMatchObject({ TIME_SCALE: 0.01, ORDERS: 1_000, GATEWAY_URLS: ['http://g:1', 'http://g:2'] })
})

test.for([
  ['PROVIDER_SHARES', 'paypal=0.5', 'wechatpay, wechatpay-v2, alipay, stripe, standard-webhooks'],
  ['PROVIDER_SHARES', 'alipay=2', 'name=0.1'],
  ['PROVIDER_SHARES', 'alipay', 'name=0.1'],
  ['PROVIDER_SHARES', 'alipay=0', 'more than 0'],
  ['STORY_SHARES', 'paid=0.5', 'created_late, unknown'],
  ['TIME_SCALE', '1.5', 'from 0 to 1'],
  ['QUERY_PORT', '70000', '65535'],
  ['QUERY_FAULT_SHARES', 'fast=0.5', 'slow, reset, truncated'],
  ['QUERY_FAULT_SHARES', 'slow=0.5,reset=0.6', 'not come to more than 1'],
] as const)('%s=%s is refused with what it may be', ([name, value, remedy]) => {
  const complaint = () => read({ [name]: value })
  expect(complaint).toThrow(BadConfiguration)
  expect(complaint).toThrow(name)
  expect(complaint).toThrow(remedy)
})

test('the flags of `run` become the variables of the process', () => {
  const options = optionsIn([
    ...['run', '--token', 'secret', '--orders', '7', '--time-scale', '0.001', '--providers', 'stripe=1'],
    ...['--gateway', 'http://g:1,http://g:2', '--query-port', '0'],
  ])
  if (options === undefined) throw new Error('refused')
  expect(readSimulatorConfig(environmentOf(options, 'senders'))).toMatchObject({
    ...{ API_TOKEN: 'secret', ORDERS: 7, TIME_SCALE: 0.001, PROVIDER_SHARES: { stripe: 1 }, QUERY_PORT: 0 },
    ...{ GATEWAY_URLS: ['http://g:1', 'http://g:2'], SENDERS_DIR: 'senders', API_URL: 'http://127.0.0.1:8081' },
  })
})

test('one callback by hand: what is not said is sensible, and nonsense is refused', () => {
  expect(optionsIn(['pay', 'A-1'])).toMatchObject({
    ...{ verb: 'pay', outTradeNo: 'A-1', provider: 'wechatpay', amountMinor: 990, refundMinor: 990, copies: 1 },
  })
  expect(optionsIn(['refund', 'A-1', '--refund-minor', '5'])).toMatchObject({ refundMinor: 5, refundedMinor: 5 })
  for (const args of [
    [],
    ['pay'],
    ['pay', 'A', '--provider', 'x'],
    ['pay', 'A', '--amount-minor', '1.5'],
    ['pay', 'A', '--copies', '0'],
  ])
    expect(optionsIn(args), args.join(' ')).toBeUndefined()
})
