import { join } from 'node:path'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startChild } from '../helpers/child.ts'
import { createMerchant } from '../helpers/merchant.ts'

test('SIGHUP loads the merchants at once, and ends nothing', async () => {
  const merchant = createMerchant()
  const child = startChild(join(import.meta.dirname, '../../src/gateway/main.ts'), {
    ...{ PATH: process.env['PATH'], KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' },
    ...{ MERCHANTS_DIR: merchant.dir, MERCHANTS_RELOAD_MS: '0', PORT: '0', METRICS_PORT: '0' },
  })
  try {
    await child.said('that it listens', ({ msg }) => msg === 'gateway listens')
    const { alipay } = JSON.parse(readFileSync(join(merchant.dir, 'shop1.json'), 'utf8')) as { alipay: object }
    writeFileSync(join(merchant.dir, 'shop2.json'), JSON.stringify({ alipay }))
    child.signal('SIGHUP')
    await child.said('that it has loaded', ({ msg }) => msg === 'merchants reloaded')
    expect(child.lines.find(({ msg }) => msg === 'merchants reloaded')).toMatchObject({
      added: ['shop2'],
      merchants: 2,
    })
    expect(child.exit()).toBeUndefined()
  } finally {
    await child.kill()
    merchant.remove()
  }
})
