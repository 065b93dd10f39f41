#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { BadConfiguration, readConfig } from '../runtime/config.ts'
import { integer } from '../runtime/variables.ts'
import { createKeys } from './create-keys.ts'
import { rotationFrom } from './key-ring.ts'

const SHAPE = {
  /** The gateway's side. */
  MERCHANTS_DIR: z.string().min(1),
  /** The senders' side. */
  SENDERS_DIR: z.string().min(1),
  /** The side of the process that asks; `queries` in SENDERS_DIR unless it is said. */
  QUERY_KEYS_DIR: z.string().min(1).optional(),
  /** Where the simulated providers answer. */
  QUERY_URL: z.url().optional(),
  MERCHANT: z.string().min(1).default('shop'),
  /** Two of each key: the new one signs too after so many seconds, alone after twice as many, the old one ends after
   * three times as many. Nothing given: one of each, for good. */
  KEYS_CHANGE_SEC: integer(1, 86_400).optional(),
}

/** Makes one merchant's keys, unless they are there: so that a new installation can be played with. */
try {
  const {
    MERCHANTS_DIR: merchantsDir,
    SENDERS_DIR: sendersDir,
    QUERY_KEYS_DIR: queriesDir,
    QUERY_URL: queryUrl,
    MERCHANT: merchant,
    ...config
  } = readConfig(SHAPE, process.env)
  const now = new Date()
  const changeSec = config.KEYS_CHANGE_SEC
  const options = {
    ...(changeSec === undefined ? {} : { rotation: rotationFrom(now, changeSec) }),
    ...(queryUrl === undefined ? {} : { queryUrl }),
  }
  const where = { merchantsDir, sendersDir, ...(queriesDir === undefined ? {} : { queriesDir }) }
  if (!existsSync(join(merchantsDir, `${merchant}.json`))) await createKeys(where, [merchant], now, options)
} catch (error) {
  if (!(error instanceof BadConfiguration)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
