import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configFiles } from '../../src/providers/config-files.ts'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { withGatewayAlone } from '../helpers/gateway-alone.ts'
import { post } from '../helpers/http.ts'
import { createMerchant, type TestMerchant } from '../helpers/merchant.ts'

let merchant: TestMerchant
beforeAll(() => {
  merchant = createMerchant()
})
afterAll(() => merchant.remove())

const names = [...PROVIDERS.keys()]

test.each(names)('%s: a section without keys binds nothing', (name) => {
  const shape = PROVIDERS.get(name)?.section(configFiles(merchant.dir))
  for (const section of [{}, [], null, true, 'x', { keys: [] }]) expect(shape?.safeParse(section).success).toBe(false)
})

test.each(names)('%s: what is bound refuses what nobody signed', (name) => {
  const bound = loadMerchants(merchant.dir).find(name, merchant.name)
  for (const body of ['', '{}', 'a=b', '<xml><a>b</a></xml>', 'success']) {
    const verdict = bound?.verify({ headers: {}, repeatedHeaders: [], rawBody: Buffer.from(body) }, new Date())
    // A merchant of the tests may lack a section; then there is no route either.
    expect(verdict?.kind ?? 'refused').toBe('refused')
  }
})

test('a route answers only where its merchant has keys for it: 404 for all else, and nothing is published', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'routes-'))
  const worker = createMerchant('other')
  writeFileSync(join(dir, 'w'), `whsec_${Buffer.alloc(32, 1).toString('base64')}`)
  writeFileSync(join(dir, 'shop1.json'), JSON.stringify({ worker: { secretFiles: ['w'] } }))
  try {
    await withGatewayAlone(
      async ({ gateway, published }) => {
        for (const name of names) {
          const { status } = await post(gateway.port, { ...worker.worker('T1'), path: `/callbacks/${name}/shop1` })
          expect([name, status]).toEqual([name, name === 'worker' ? 401 : 404])
        }
        expect(published).toEqual([])
      },
      { merchantsDir: dir, env: { MERCHANTS_RELOAD_MS: '0' } },
    )
  } finally {
    worker.remove()
    rmSync(dir, { recursive: true })
  }
})
